// One step: the action and its effect, the calls before it, and the reflection on it.
"use strict";

const Step = (() => {
  const { h, plain, count, counted } = Elements;
  const { ENDINGS, link } = Items;

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

  return { outcome, block, callOf, reflectionOf, earlierCall, otherOf };
})();
