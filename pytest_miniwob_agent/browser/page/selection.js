// What is selected: by drags of the mouse, with keys in a field, and what is copied of it; and what
// scrolls by that, or by the wheel.

import { plain, trial } from "./world.js";
import { listen } from "./listeners.js";
import { agentOf, agents, moved } from "./frames.js";
import { frames } from "./settle.js";
import { NEW, focusedElement, hitAt, owner, parentOf, recorded, visible, within } from "./sight.js";
import { byId } from "./leaves.js";
import { aim, caret, quote } from "./aim.js";

// A clipboard for the page alone: the machine's is shared with other browsers and programs, and
// outlasts the trial. As in any browser, a password can't be copied, nor read-only text cut.
export const marked = () => {
  const inner = agentOf(document.activeElement);
  if (inner) return inner.marked();
  const { selectionStart, selectionEnd, value, type } = /** @type {any} */ (document.activeElement) ?? {};
  if (type === "password") return "";
  return (typeof selectionStart === "number" && value.slice(selectionStart, selectionEnd))
    || getSelection().toString();
};
// Scripts of the page hear of a use of it with what is in it, and may do all of it themselves.
const clipboard = (type, done) => listen(type, (event) => {
  if (!event.isTrusted) return;
  event.preventDefault();
  if (recorded || !NEW) return done();
  event.stopImmediatePropagation();
  const clipboardData = new DataTransfer();
  if (type === "paste") Object.entries(trial.clipboard).forEach((entry) => clipboardData.setData(...entry));
  const own = new ClipboardEvent(type, { clipboardData, bubbles: true, cancelable: true, composed: true });
  if (event.composedPath()[0].dispatchEvent(own)) return done();
  if (type === "paste") return;
  trial.clipboard = Object.fromEntries(clipboardData.types.map((kind) => [kind, clipboardData.getData(kind)]));
});
const keep = (text) => { if (text) trial.clipboard = { "text/plain": text }; };
clipboard("copy", () => keep(marked()));
clipboard("cut", () => {
  const cut = marked();
  if (cut && document.execCommand("delete")) keep(cut);
});
clipboard("paste", () => { document.execCommand("insertText", false, trial.clipboard["text/plain"] ?? ""); });

// True if the browser has begun to drag something itself, here or in a frame, since this was asked before.
let begun = null;
listen("dragstart", (event) => { begun = event; });
export const dragged = () => {
  const found = [begun && !begun.defaultPrevented, ...agents().map((agent) => agent.dragged())];
  begun = null;
  return found.some(Boolean);
};

const selecting = () => Boolean(document.activeElement?.matches("input, textarea, select"))
  || getSelection().type === "Range";

// The mouse selects text or options at the edge of the box that holds them: the browser scrolls
// this box, by frames in real time. A list of options, and every box of an own page (it may go on
// without an end), stays as it was when the mouse was pressed.
let pressed = null;
const held = new Map();
listen("mousedown", (event) => {
  begun = null;
  pressed = event;
  held.clear();
  for (const box of event.composedPath()) {
    const stays = recorded ? box instanceof HTMLSelectElement : box instanceof Element;
    if (stays) held.set(box, [box.scrollLeft, box.scrollTop]);
  }
});
const stay = (box) => {
  const [left, top] = held.get(box);
  box.scrollTo({ left, top, behavior: "instant" });
};
const scrolling = () => pressed && !pressed.defaultPrevented && selecting();
listen("mouseup", () => {
  if (scrolling()) [...held.keys()].forEach(stay);
  pressed = null;
});
listen("scroll", (event) => {
  const box = event.target === document ? document.scrollingElement : event.target;
  if (!held.has(box)) return;
  if (scrolling()) stay(box);
  const [left, top] = held.get(box);
  if (box.scrollLeft === left && box.scrollTop === top) event.stopImmediatePropagation();
});

const scrolled = () => [...document.querySelectorAll("*")]
  .map(({ scrollTop, scrollLeft }) => [scrollTop, scrollLeft]).join();

// Wait until the browser scrolls no more while the mouse selects: it does so as far as it can.
export const selected = async () => {
  if (!selecting()) return;
  let [before, now] = [null, scrolled()];
  for (let count = 0; count < 100 && before !== now; count++) {
    await frames(2);
    [before, now] = [now, scrolled()];
  }
};

// The box that a turn of the wheel is to scroll, and where it stood before.
let turn = null;
const scrollsBy = (element, pixels) => {
  const { body, documentElement, scrollingElement } = element.ownerDocument;
  const flow = (one) => one ? getComputedStyle(one).overflowY : "";
  const { scrollTop, scrollHeight, clientHeight } = plain(element);
  const boxed = element === scrollingElement ? ![flow(body), flow(documentElement)].includes("hidden")
    : element !== body && (element instanceof HTMLSelectElement || /auto|scroll/.test(flow(element)));
  return boxed && (pixels < 0 ? scrollTop > 0 : pixels > 0 && scrollTop + clientHeight + 1 < scrollHeight);
};
listen("wheel", (event) => {
  let [box] = event.composedPath();
  while (box && !scrollsBy(box, event.deltaY)) box = parentOf(box) ?? box.ownerDocument.defaultView.frameElement;
  turn = { event, box, before: box && plain(box).scrollTop };
});
// Wait until the browser has scrolled by the wheel, which another process of it does: for three
// frames, and for two seconds at most if something is to scroll.
export const turned = async () => {
  if (!turn) return;
  const { event, box, before } = turn;
  turn = null;
  await frames();
  const until = performance.now() + 2000; // no count of frames, as a machine under load draws many before it scrolls
  const stays = () => plain(box).scrollTop === before && performance.now() < until;
  while (box && !event.defaultPrevented && stays()) await frames(1);
};

// Fields that hold text.
const TEXTLESS = new Set(["button", "checkbox", "color", "file", "hidden", "image", "radio",
  "range", "reset", "submit"]);
const isField = (element) => element instanceof HTMLTextAreaElement
  || (element instanceof HTMLInputElement && !TEXTLESS.has(element.type));

// The visible letters of an element, without blanks, each with its position in its node.
const letters = (root) => {
  const found = [];
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let node = root instanceof Text ? root : nodes.nextNode();
  for (; node; node = nodes.nextNode()) {
    if (!visible(owner(node))) continue;
    [...node.data].reduce((offset, letter) => {
      if (letter.trim()) found.push({ node, offset, letter });
      return offset + letter.length;
    }, 0);
  }
  return found;
};

const edges = ({ node, offset, letter }) => {
  const range = document.createRange();
  range.setStart(node, offset);
  range.setEnd(node, offset + letter.length);
  const { left, right, top, height } =
    moved(range.getClientRects()[0] ?? range.getBoundingClientRect());
  const y = Math.floor(top + height / 2);
  return { start: [Math.ceil(left), y], end: [Math.floor(right), y] };
};

// A selection would be dragged, so there is none as the mouse is pressed. In an editor that has the focus
// the caret is at the letter then: without one the browser puts it anywhere, and tells scripts in a task
// that the mouse may overtake.
const deselect = async ({ node, offset }) => {
  const focus = focusedElement();
  const edited = focus && plain(focus).contains(node);
  if (!edited && !getSelection().rangeCount) return;
  const heard = new Promise((resolve) => {
    document.addEventListener("selectionchange", resolve, { once: true });
  });
  if (edited) getSelection().collapse(node, offset);
  else getSelection().removeAllRanges();
  await Promise.race([heard, frames()]); // the caret may have been there, or scripts stop the event
};

// The input that selects a string, or all of the element's text if `wanted` is null: the points
// where the mouse starts and ends; in a field the point to click, the letters to skip and the
// letters to take. An error is a string.
export const range = async (id, wanted) => {
  const aimed = await aim([[id, null]]);
  if (typeof aimed === "string") return aimed;
  const element = owner(byId.get(id));
  const text = wanted === null ? "text" : `text ${quote(wanted)}`;
  const missing = `the element with id=${id} has no ${text} that can be selected`;
  if (plain(element).disabled) return missing;
  if (isField(element)) {
    const point = caret(id, aimed[0]);
    if (wanted === null) return { point };
    const before = element.value.indexOf(wanted);
    if (!wanted || before < 0 || element.selectionStart === null) return missing;
    const count = (part) => [...new Intl.Segmenter().segment(part)].length;
    return { point, skip: count(element.value.slice(0, before)), take: count(wanted) };
  }
  const found = letters(byId.get(id));
  const part = (wanted ?? found.map(({ letter }) => letter).join("")).replace(/\s+/g, "");
  const sought = [...part];
  const first = found.findIndex((_, index) =>
    sought.every((letter, at) => found[index + at]?.letter === letter));
  const pressable = plain(element).closest("a, button, summary"); // the mouse would use or drag it
  if (!part || first < 0 || pressable || getComputedStyle(element).userSelect === "none") {
    return missing;
  }
  const { start } = edges(found[first]);
  const { end } = edges(found[first + sought.length - 1]);
  for (const [x, y] of [start, [end[0] - 1, end[1]]]) {
    if (!within(element, hitAt(x, y))) {
      return `the text to be selected in the element with id=${id} is not all in sight`;
    }
  }
  await deselect(found[first]);
  return { start, end };
};
