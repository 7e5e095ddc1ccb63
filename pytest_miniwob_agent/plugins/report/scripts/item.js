// The page of an item: its film, and the steps through it.
"use strict";

const ItemPage = (() => {
  const { h, some, plain, $, count, counted, say } = Elements;
  const { ENDINGS, link, badge, grouped, twins, viewHash } = Items;
  const { shownItems } = Overview;

  // The film of an item: pictures of its steps, with marks where actions point.

  const frameName = (frame) => (frame.action ? plain(frame.action.text)
    : frame.end ? frame.end.ending : frame.trial ? "stopped here" : "before the first trial");

  const WINDOW = [160, 210]; // of a frame in the strip, which shows a part of a larger page
  const LABEL = 40; // the height up to which an element is little more than its label

  // Each mark is drawn twice, with a light edge, so that it shows on any page.
  const twice = (tag, attributes) => ["under", "over"].map((layer) => h(tag, { ...attributes, class: layer }));

  // An arrow outside of a box that points at its edge, at a side where the picture has room for it. The
  // label stays legible, which a mark at the point itself would cover.
  const arrowAt = ([x, y], [left, top, width, height], [right, bottom], sides) => {
    const shapes = {
      right: [left + width + 8 <= right, [[left + width + 2, y], [left + width + 8, y - 4], [left + width + 8, y + 4]]],
      left: [left >= 8, [[left - 2, y], [left - 8, y - 4], [left - 8, y + 4]]],
      below: [top + height + 8 <= bottom, [[x, top + height + 2], [x - 4, top + height + 8], [x + 4, top + height + 8]]],
      above: [top >= 8, [[x, top - 2], [x - 4, top - 8], [x + 4, top - 8]]],
    };
    const side = sides.find((name) => shapes[name][0]);
    return side ? twice("polygon", { points: shapes[side][1].map((corner) => corner.join(",")).join(" ") }) : null;
  };

  // A ring at the point itself, where it covers no label: in a large element, or in one without text.
  const pointMark = (point, box, size, { typed, labelled } = {}) => {
    const [x, y] = point;
    const ring = twice("circle", { cx: x, cy: y, r: 4 });
    if (!box || !labelled || box[3] > LABEL) return ring;
    const middle = Math.abs(x - box[0] - box[2] / 2) <= 2;
    // What is typed is shown below the box. Beside the middle, a second arrow shows how far.
    return [arrowAt(point, box, size, typed ? ["right", "left", "above"] : ["right", "left", "below", "above"]) ?? ring,
      middle ? null : arrowAt(point, box, size, typed ? ["above"] : ["below", "above"])];
  };

  const marks = ({ size, points, boxes }, action) => {
    const around = (point) => boxes.find(([x, y, width, height]) =>
      point[0] >= x && point[0] <= x + width && point[1] >= y && point[1] <= y + height);
    return h("svg", { viewBox: `0 0 ${size.join(" ")}`, class: "marks", "aria-hidden": "true", focusable: "false" },
      boxes.map(([x, y, width, height]) => twice("rect", { x: x - 1, y: y - 1, width: width + 2, height: height + 2, rx: 2 })),
      points.length > 1
        ? [twice("polyline", { points: points.map((point) => point.join(",")).join(" ") }),
          twice("circle", { cx: points[0][0], cy: points[0][1], r: 3 }),
          h("circle", { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 2.5, class: "dot" })]
        : points.map((point) => pointMark(point, around(point), size, action)));
  };

  // A page's picture: at its own size or in whole multiples, so that its pixels stay sharp. A small one
  // shows the part of the page where the action points.
  const picture = (item, frame, small) => {
    if (!frame.picture) return null;
    const { name, size: [width, height], points, boxes } = frame.picture;
    if (!/^[0-9a-f]{16}\.png$/.test(name)) return null;
    const image = h("img", { src: `pictures/${name}`, width, height, loading: small && "lazy", decoding: "async",
      alt: small ? "" : `The page of ${item.task} ${frame.action ? `before ${plain(frame.action.text)}` : "at the end of the trial"}` });
    const typed = !small && frame.action?.typed && (boxes.length || points.length) ? frame.action.typed : "";
    const sheet = h("div", { class: "sheet" }, image, marks(frame.picture, frame.action));
    const box = h("div", { class: small ? "picture small" : "picture" }, sheet);
    const shown = small ? [Math.min(width, WINDOW[0]), Math.min(height, WINDOW[1])] : [width, height];
    box.style.setProperty("--width", shown[0]);
    box.style.setProperty("--height", shown[1]);
    const [x, y, w, hh] = boxes[0] ?? [...(points[0] ?? [0, 0]), 0, 4];
    if (small) {
      // The middle of what the action points at is in the middle; the beginning, if it is larger than that.
      const offset = (from, length, most, size) =>
        Math.round(Math.min(Math.max(0, length > size ? from - 8 : from + length / 2 - size / 2), most - size));
      sheet.style.width = `${width}px`;
      sheet.style.marginLeft = `${-offset(x, w, width, shown[0])}px`;
      sheet.style.marginTop = `${-offset(y, hh, height, shown[1])}px`;
    }
    if (typed) {
      const left = Math.min(60, (100 * Math.max(0, x)) / width);
      const label = h("span", { class: "typed" }, plain(typed));
      label.style.left = `${left}%`;
      label.style.maxWidth = `${100 - left}%`;
      label.style.top = `${(100 * (y + hh + 3)) / height}%`;
      sheet.append(label);
    }
    return box;
  };

  // The trials as a list, to jump to their beginnings and ends.
  const trialList = (one, trials) => (trials.length < 2 ? null : h("nav", { class: "jumps", "aria-label": "Trials" }, h("ul", {},
    trials.map(([trial, members]) => {
      const actions = members.filter((frame) => frame.action).length;
      const last = members.at(-1);
      return h("li", { "data-trial": trial }, h("a", { href: link(one.id, trial) }, trial ? `Trial ${trial}` : "Before"), " ",
        h("span", { class: "hint" }, counted(actions, "action")), " ",
        last.end ? h("a", { class: `ending ${last.end.ending === "correct" ? "good" : ""}`, href: link(one.id, trial, last.step),
          title: "to the end of this trial" }, last.end.ending) : null);
    }))));

  const strip = (one, trials, thumbs) => h("div", { class: "strip" }, trials.map(([trial, members]) => {
    const end = members.find((frame) => frame.end)?.end;
    return h("section", { class: "trial", "aria-label": `Trial ${trial}` },
      h("h3", {}, trial ? `Trial ${trial}` : "Before", " ",
        end ? h("span", { class: `ending ${end.ending === "correct" ? "good" : ""}` }, end.ending) : null),
      h("ol", {}, members.map((frame) => h("li", {}, thumbs.get(frame)))));
  }));

  const thumb = (one, frame) => h("a", { class: frame.picture || frame.action ? "frame" : "frame last", href: link(one.id, frame.trial, frame.step) },
    picture(one, frame, true) ?? h("span", { class: "blank", "aria-hidden": "true" },
      frame.action ? frame.step : frame.end?.ending === "correct" ? "✓" : "×"),
    h("span", { class: "caption" }, frame.action ? h("b", {}, `${frame.step} `) : null, frameName(frame)));

  // How to get pictures of an item that has none.
  const withoutPictures = (one, { frames, note }) => {
    if (note || !frames.some((frame) => frame.trial) || frames.some((frame) => frame.picture)) return null;
    const name = `${one.task}/${one.seed.replace(/~\d+$/, "")}`;
    return h("p", { class: "hint without" }, "No pictures were taken of this item. Run it with ",
      h("code", {}, `-k "${name}" --miniwob-report=DIR --miniwob-trace=on`), " to have them.");
  };

  // One step: the action and its effect, the calls before it, and the reflection on it.

  const SECTIONS = { text: "Completion", calls: "Tool calls", reasoning: "Reasoning", refusal: "Refusal" };

  const outcome = (frame) => {
    const { action, end } = frame;
    const lines = [];
    if (action) {
      if (action.error) lines.push(["bad", `Not possible: ${plain(action.error)}`]);
      else if (action.done) lines.push([action.reward >= 1 ? "good" : "bad", `The page judged: reward ${String(action.reward).replace("-", "−")}`]);
      else lines.push(["", action.changed ? "The screen changed." : "The screen stayed as it was."]);
    }
    if (end) lines.push([end.ending === "correct" ? "good" : "bad", `${end.ending}: ${ENDINGS[end.ending] ?? ""} ${plain(end.detail)}`.trim()]);
    return lines.map(([kind, text]) => h("p", { class: `result ${kind}` }, text));
  };

  const passage = (label, text, kind, sent = []) =>
    h("pre", { class: kind, tabindex: "0", role: "group", "aria-label": label, dir: "ltr" }, withPictures(text, sent));

  // A text with the pictures in their places that were sent with it and that the report has.
  const withPictures = (text, sent) => plain(text).split(/(\[picture pictures\/[0-9a-f]{16}\.png\])/).map((part) => {
    const [name] = part.startsWith("[picture pictures/") ? part.match(/[0-9a-f]{16}\.png/) : [];
    return sent.includes(name)
      ? h("img", { src: `pictures/${name}`, class: "sent", alt: part, loading: "lazy", decoding: "async" }) : part;
  });

  const block = (label, text, kind, sent) =>
    h("div", { class: "block" }, h("p", { class: "label" }, label), passage(label, text, kind, sent));

  let promptsOpen = false; // as the reader left them

  const callOf = (call, index, all, sent) => {
    const { text, prompt_tokens: asked, completion_tokens: answered } = call.completion;
    const sections = call.sections ?? [["text", text]];
    const end = sections.find(([name]) => name === "finish reason");
    const facts = [`call${all.length > 1 ? ` ${index + 1} of ${all.length}` : ""}`,
      asked === null ? "" : `${count(asked)} + ${count(answered)} tokens`, end ? `finish reason: ${plain(end[1])}` : ""];
    return h("section", { class: "call" },
      h("h3", {}, h("span", { class: "purpose" }, plain(call.purpose)),
        h("span", { class: "hint" }, facts.filter(Boolean).join(" · "))),
      sections.filter((section) => section !== end).map(([name, said]) => block(SECTIONS[name] ?? plain(name).replace(/^c/, "C"), said, "said", sent)),
      promptOf(call, sent));
  };

  // What was asked, closed until a reader opens it.
  const promptOf = (call, sent) => {
    const size = call.messages ? [call.messages.length ? counted(call.messages.length, "new message") : "no new message",
      call.earlier ? `after ${counted(call.earlier, "earlier message")}` : ""]
      : [counted(call.prompt.length, "character")];
    // Not by its event `toggle`, which may come after the next key.
    const details = h("details", { class: "prompt", open: promptsOpen },
      h("summary", { onclick: () => { promptsOpen = !details.open; } }, "Prompt ", h("span", { class: "hint" }, size.filter(Boolean).join(", "))),
      call.messages ? messagesOf(call, sent) : passage("Prompt", call.prompt, "asked", sent));
    return details;
  };

  // The part of a conversation that is new in a call.
  const messagesOf = (call, sent) => {
    const facts = [call.tools ? `Tools offered: ${plain(call.tools.join(", ")) || "none"}` : "",
      call.messages.length ? "" : "The same messages as in the call before"];
    return [facts.filter(Boolean).map((fact) => h("p", { class: "hint" }, fact)),
      call.messages.map((message) => block(`Message: ${plain(message.role)}`, message.text, "asked", sent))];
  };

  const reflectionOf = ({ reflection, calls, end }) => {
    const suggested = [...calls].reverse().find((call) => call.purpose === "reflect");
    const enforced = reflection.step === null ? "nothing: the reply could not be read"
      : `${plain(reflection.action)}, as action ${reflection.step} of ${end ? "the next" : "this"} trial`;
    return h("section", { class: "reflection" }, h("h3", {}, "Reflection"), h("dl", {},
      suggested ? [h("dt", {}, "Suggested"), h("dd", {}, plain(suggested.completion.text))] : null,
      h("dt", {}, "Enforced"), h("dd", { class: "mono" }, enforced),
      h("dt", {}, "Disabled"), h("dd", { class: "mono" }, reflection.disabled.length
        ? `clicks on id=${reflection.disabled.join(", id=")}` : "no id")));
  };

  // Several actions may come of one call.
  const earlierCall = (one, frames, index) => {
    if (!frames[index].action) return null;
    const from = frames.slice(0, index).reverse().find((frame) => frame.trial === frames[index].trial && frame.calls.length);
    return h("p", { class: "hint" }, from
      ? ["No call was made for this action; the last one before it was ", h("a", { href: link(one.id, from.trial, from.step) }, `at action ${from.step}`), "."]
      : "No call was made for this action, nor before it in this trial.");
  };

  // A remark, which an agent may add for its own purposes.
  const otherOf = (event) => h("section", { class: "reflection" }, h("h3", {}, plain(event.kind)), h("dl", {},
    Object.entries(event).filter(([name]) => !["kind", "trial"].includes(name)).map(([name, value]) => [
      h("dt", {}, plain(name)), h("dd", {}, plain(typeof value === "string" ? value : JSON.stringify(value)))])));

  // The page of an item, and the steps through it.

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
      data.reason ? h("section", { class: "reason" }, h("h2", {}, WHY[one.status] ?? "Why there is no result"), reasonOf(data.reason), changedPictures(data.changed ?? [])) : null,
      data.grades.length ? h("section", { class: "grades" }, h("h2", {}, "Graders"), h("dl", {}, data.grades.map(gradeOf))) : null,
      data.note ? h("p", { class: "note" }, plain(data.note)) : null,
      withoutPictures(one, data),
      frames.length ? [h("h2", {}, "Film"), jumps, strip(one, trials, new Map(frames.map((frame, index) => [frame, thumbs[index]]))), stage] : null,
      h("details", { class: "about" }, h("summary", {}, "Agent, model and prompts"), h("dl", {},
        data.about.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: "mono" }, plain(value))])))]));
    open = { id: one.id, one, data, at: -1, thumbs, stage, nav, head, jumps };
  };

  const gradeOf = (grade) => [
    h("dt", {}, h("span", { class: `badge ${grade.status}` }, plain(grade.verdict))),
    h("dd", {}, plain(grade.grader), grade.said.map((text) => h("p", { class: "hint" }, plain(text))))];

  // The pictures of a call that drifted: as recorded, as they are now, and where they differ.
  const changedPictures = (changed) => changed.map((picture) => h("figure", { class: "changed" },
    h("figcaption", {}, plain(picture.what)),
    h("div", { class: "three" }, ["recorded", "present", "difference"].filter((kind) => picture[kind]).map((kind) =>
      h("div", {}, h("p", { class: "label" }, kind),
        h("img", { src: `pictures/${picture[kind]}`, class: "sent", alt: `${picture.what}, ${kind}`, loading: "lazy", decoding: "async" }))))));

  const WHY = { drifted: "Why it drifted", unsolved: "Why it is unsolved" };

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
      ...twins(open.id).map((one) => h("a", { href: link(one.id), title: one.id, class: "twin" }, one.task)),
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
