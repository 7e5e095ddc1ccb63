// The page of an item, and the steps through it.
"use strict";

const ItemPage = (() => {
  const { h, some, plain, $, counted, say } = Elements;
  const { link, badge, grouped } = Items;
  const { viewHash } = View;
  const { shownItems } = Overview;
  const { frameName, picture, trialList, strip, thumb, withoutPictures } = Film;
  const { outcome, block, callOf, reflectionOf, earlierCall, otherOf } = Step;

  let open = null; // id, data, position in its frames, elements that a step changes

  const drawItem = (one, data) => {
    const frames = data.frames;
    const trials = [...grouped(frames, "trial")];
    const thumbs = frames.map((frame) => thumb(one, frame));
    const jumps = trialList(one, trials);
    const facts = [counted(one.trials, "trial"), counted(one.steps, "action"), counted(one.calls, "call"),
      one.tokens === null ? null : counted(one.tokens, "token"),
      data.reward === null || one.status === "solved" ? null : `best reward ${String(data.reward).replace("-", "−")}`].filter(Boolean);
    const nav = h("nav", { class: "path", "aria-label": "Items" });
    const stage = h("section", { class: "stage", "aria-label": "Step" });
    const head = h("h1", { tabindex: "-1" }, one.task, " ", h("span", { class: "seed" }, one.seed));
    $("item").replaceChildren(...some([nav,
      h("header", { class: "title" }, head, h("p", { class: "state" }, badge(one), h("span", { class: "hint" }, one.category),
        one.before ? h("span", { class: "hint" }, `in the baseline: ${plain(one.before.text)}`) : null)),
      one.goal ? h("p", { class: "goal" }, plain(one.goal)) : null,
      h("p", { class: "hint" }, facts.join(" · ")),
      data.reason ? h("section", { class: "reason" }, h("h2", {}, one.status === "drifted" ? "Why it drifted" : "Why there is no result"), reasonOf(data.reason), changedPictures(data.changed ?? [])) : null,
      data.note ? h("p", { class: "note" }, plain(data.note)) : null,
      withoutPictures(one, data),
      frames.length ? [h("h2", {}, "Film"), jumps, strip(one, trials, new Map(frames.map((frame, index) => [frame, thumbs[index]]))), stage] : null,
      h("details", { class: "about" }, h("summary", {}, "Agent, model and prompts"), h("dl", {},
        data.about.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: "mono" }, plain(value))])))]));
    open = { id: one.id, one, data, at: -1, thumbs, stage, nav, head, jumps };
  };

  // The pictures of a call that drifted: as recorded, as they are now, and where they differ.
  const changedPictures = (changed) => changed.map((picture) => h("figure", { class: "changed" },
    h("figcaption", {}, plain(picture.what)),
    h("div", { class: "three" }, ["recorded", "present", "difference"].filter((kind) => picture[kind]).map((kind) =>
      h("div", {}, h("p", { class: "label" }, kind),
        h("img", { src: `pictures/${picture[kind]}`, class: "sent", alt: `${picture.what}, ${kind}`, loading: "lazy", decoding: "async" }))))));

  // A drift's report is a diff in parts.
  const reasonOf = (text) => h("pre", { tabindex: "0", role: "group", "aria-label": "Reason", dir: "ltr" },
    plain(text).split("\n").map((line) => h("span", {
      class: line.startsWith("+ ") ? "line plus" : line.startsWith("- ") ? "line minus" : "line" }, `${line}\n`)));

  const drawNav = () => {
    const items = shownItems();
    const at = items.findIndex((one) => one.id === open.id);
    const other = (offset, label) => {
      const one = at < 0 ? undefined : items[at + offset];
      return one ? h("a", { href: link(one.id), rel: offset < 0 ? "prev" : "next", title: one.id }, label)
        : h("span", { class: "off" }, label);
    };
    open.nav.replaceChildren(h("a", { href: viewHash() }, "← All items"),
      h("span", { class: "turn" }, other(-1, "previous"), h("span", { class: "hint" }, at < 0 ? "" : `${at + 1} of ${items.length}`), other(1, "next")));
  };

  const drawFrame = (index) => {
    const { one, data, thumbs, stage } = open;
    const frame = data.frames[index];
    if (!frame) return;
    const near = Math.abs(index - open.at) <= 1;
    open.at = index;
    thumbs.forEach((thumb, other) => {
      if (other === index) thumb.setAttribute("aria-current", "step");
      else thumb.removeAttribute("aria-current");
    });
    for (const jump of open.jumps?.querySelectorAll("li") ?? []) {
      jump.classList.toggle("current", jump.dataset.trial === String(frame.trial));
    }
    // What a jump leads to is followed by the rest of its trial, unless it is in sight.
    const [{ left, right }, sight] = [thumbs[index], thumbs[index].closest(".strip")].map((node) => node.getBoundingClientRect());
    const seen = left >= sight.left && right <= sight.right;
    thumbs[index].scrollIntoView?.({ block: "nearest", inline: near || seen ? "nearest" : "start" });
    const name = !frame.trial ? "Before the first trial"
      : frame.action ? `Trial ${frame.trial}, action ${frame.step}` : `Trial ${frame.trial}, end`;
    const turn = (to, label, keys, sign) => h("button", { type: "button", class: "plain", "aria-label": label, title: `${label} (${keys})`,
      disabled: !data.frames[to], onclick: () => go(to, label) }, sign);
    const several = open.jumps !== null;
    stage.replaceChildren(
      h("header", { class: "steps" }, h("h2", {}, name),
        h("div", { class: "turn" },
          several ? turn(trialFrom(index, -1), "Previous trial", "Shift ←", "⇤") : null,
          turn(index - 1, "Previous step", "←", "←"), h("span", { class: "hint" }, `${index + 1} of ${data.frames.length}`),
          turn(index + 1, "Next step", "→", "→"),
          several ? turn(trialFrom(index, 1), "Next trial", "Shift →", "⇥") : null)),
      h("div", { class: frame.picture ? "pair" : "pair bare" },
        h("div", { class: "left" }, frame.picture ? h("figure", {}, picture(one, frame, false)) : null),
        h("div", { class: "right" },
          frame.action ? h("p", { class: "action" }, plain(frame.action.text)) : null,
          outcome(frame),
          frame.reflection ? reflectionOf(frame) : null, frame.other.map(otherOf),
          data.screens[frame.screen] === undefined ? null : block("Screen, as compact text", data.screens[frame.screen] || "(nothing on it)", "screen"),
          frame.calls.length ? frame.calls.map((call, at, all) => callOf(call, at, all, data.sent)) : earlierCall(one, data.frames, index))));
    document.title = `${one.task} ${one.seed}, ${name.toLowerCase()}: MiniWoB++ report`;
  };

  // The first frame of the next trial; or of this one, and from there of the one before.
  const trialFrom = (index, offset) => {
    const { frames } = open.data;
    const { trial } = frames[index];
    if (offset > 0) return frames.findIndex((frame, at) => at > index && frame.trial !== trial);
    const first = frames.findIndex((frame) => frame.trial === trial);
    return first < index ? first : frames.findIndex((frame) => frame.trial === frames[index - 1]?.trial);
  };

  // Go to another frame. It is drawn at once, as the next key may come before the browser's event of
  // the new address; focus stays on the button that was used.
  const go = (to, label) => {
    const frame = open.data.frames[to];
    if (!frame) return;
    drawFrame(to);
    location.replace(link(open.id, frame.trial, frame.step));
    say(`${frame.trial ? `Trial ${frame.trial}, ` : ""}${frameName(frame)}`);
    if (label) open.stage.querySelector(`[aria-label="${label}"]:enabled`)?.focus();
  };

  // The item that is open, null before the first one.
  const opened = () => open;

  return { drawItem, drawNav, drawFrame, trialFrom, go, opened };
})();
