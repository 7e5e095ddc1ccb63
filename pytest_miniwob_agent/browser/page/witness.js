// A page that is handed over to a program. What the program does is seen by listeners; the first
// verdict of the page counts, and after it, or once the actions are used up, input is refused.

import {
  Arrays, Documents, Elements, Error, Events, Lists, Math, Nodes, Object, Set, Targets, methods,
  navigation,
} from "./saved.js";
import { listen, options } from "./listeners.js";
import { goesOn, handOn, inCore, leaving, outer, own, trial } from "./trial.js";
import { beginning, decide, decision, isReplaced, judge, keepJudge } from "./judgement.js";

// What a program does, and what it must not do (`foul`); null if no program has had the page. `known` are
// the digests of the scripts that are not the program's.
let state = goesOn("witness", null, () => state && { ...state, known: null });

const squeeze = (text) => text.replace(/\s+/g, " ").trim();

const LONGEST = 60; // letters of an element's text
const DRAG = 5; // pixels between the press and the release of the mouse

// The name of an element of this page or of a frame, empty for anything else.
const nameOf = (target) => {
  try {
    return Elements.localName(target);
  } catch {
    return "";
  }
};

// An element as people see it, such as `<button> "ONE"`.
const described = (target) => {
  if (!nameOf(target)) return "the page";
  /** @type {any} */
  const element = nameOf(target) !== "form" ? target // names of fields hide its own
    : { localName: "form", id: Elements.id(target), textContent: Nodes.textContent(target) };
  const button = /^(button|submit|reset)$/.test(element.type);
  const silent = /^(input|textarea|select|body|html)$/.test(element.localName);
  const texts = [element.labels?.[0]?.textContent, element.ariaLabel, element.placeholder,
    button ? element.value : "", silent ? "" : element.textContent];
  const text = texts.map((one) => squeeze(one ?? "")).find(Boolean) ?? "";
  if (!text) return `<${element.localName}${element.id && ` #${element.id}`}>`;
  return `<${element.localName}> "${text.slice(0, LONGEST)}${text.length > LONGEST ? "..." : ""}"`;
};

// The stack as V8 has it, with the digests of its scripts: names and texts of stacks can be forged,
// by a `sourceURL` for one. It lacks scripts that come by the browser's protocol.
let asked = false;
let shown; // what the page has set
Object.defineProperty(Error, "prepareStackTrace", {
  __proto__: null,
  get: () => (asked ? (_, frames) => frames : shown),
  set: (show) => { shown = show; },
});
const stack = () => {
  asked = true;
  const frames = new Error().stack;
  asked = false;
  return typeof frames === "object" ? frames : []; // with `Error.stackTraceLimit` set to 0
};
const { getScriptHash } = methods(Object.getPrototypeOf(stack()[0]), "getScriptHash");

// True if one of so many frames of the stack is a script that the page has of its own: all of
// those, or with `judging` those that may end an episode. The first frame is the caller of the
// function that asks.
const byPage = (count, judging = false) => {
  const { known } = state;
  const frames = stack();
  for (let place = 3; place < 3 + count && place < frames.length; place++) {
    const digest = getScriptHash(frames[place]);
    if (digest && (!known || known[judging ? "judging" : "all"].has(digest))) return true;
  }
  return false;
};

const decided = () => {
  judge();
  state.decided ||= decision.reward !== null;
  return state.decided;
};

// Begin an action, or go on with the last one if that is alike; null if it is refused. A
// click is always an action of its own.
let last = null;
let touched = null; // the element of the last action
const begin = (kind, element, more = {}) => {
  if (decided()) return null;
  const alike = touched === element && last?.kind === kind && last.key === more.key;
  if (alike && kind !== "click" && Arrays.includes(state.acts, last)) {
    last.times++;
    return last;
  }
  if (state.left === 0) {
    state.over = true;
    return null;
  }
  state.left--;
  touched = element;
  last = { kind, where: described(element), times: 1, ...more };
  Arrays.push(state.acts, last);
  return last;
};

const TYPES = new Set(["checkbox", "radio", "button", "submit", "reset", "image", "file"]);
const takesText = (element) => nameOf(element) === "textarea"
  || (nameOf(element) === "input" && !TYPES.has(element.type))
  || element?.isContentEditable;

let press = null; // of the mouse: where it was, and its action
let down = false; // while the mouse is pressed: what will come of it is not known yet
let key = true; // false while a key is down whose action was refused
let hovered = null;
let over = {}; // where the browser drags something, as it was when that came there

// What native input begins or goes on with; false if it is refused.
const native = {
  pointermove: ({ target }) => { hovered = target; },
  pointerdown: ({ target, clientX, clientY }) => {
    const point = [Math.round(clientX), Math.round(clientY)];
    press = { point, act: begin("click", target, { point }) };
    down = true;
    return press.act !== null;
  },
  pointerup: ({ target, clientX, clientY }) => {
    down = false;
    const [x, y] = press?.point ?? [clientX, clientY];
    if (press?.act && Math.hypot(clientX - x, clientY - y) > DRAG) {
      Object.assign(press.act, { kind: "drag", to: described(target) });
    }
  },
  dragover: ({ target }) => {
    if (target !== over.target) over = { target, to: described(target) };
  },
  dragend: () => {
    down = false;
    if (press?.act) Object.assign(press.act, { kind: "drag", to: over.to ?? "the page" });
  },
  dblclick: () => {
    const { acts } = state;
    const first = acts[acts.length - 2];
    if (first?.kind !== "click" || acts[acts.length - 1] !== press?.act) return;
    first.kind = "double click";
    acts.length--;
    last = first;
    state.left++;
  },
  keydown: ({ target, key: name, ctrlKey, altKey, metaKey }) => {
    key = true;
    if (/^(Shift|Control|Alt|Meta|Dead|Unidentified|Process)$/.test(name)) return;
    const edits = name.length === 1 || name === "Backspace" || name === "Delete";
    if (takesText(target) && edits) return; // what it does to the field is seen then
    const held = [ctrlKey && "CTRL+", altKey && "ALT+", metaKey && "META+"].filter(Boolean).join("");
    key = begin("press", target, { key: held + (name === " " ? "SPACE" : name.toUpperCase()) });
  },
  beforeinput: ({ target }) => !takesText(target) || begin("enter", target) !== null,
  wheel: ({ target }) => begin("scroll", target) !== null,
};
for (const name of ["mousedown", "mouseup", "click"]) native[name] = () => !press || press.act !== null;
for (const name of ["keypress", "keyup"]) native[name] = () => key !== null;

const textOf = (element) => element.selectedOptions?.[0]?.text ?? element.value ?? element.textContent;

// The same for the events that a script of the program makes; one may follow what was entered.
const change = ({ target }) => {
  const chooses = nameOf(target) === "select";
  if (touched === target && last.text === textOf(target)) return true;
  return (!chooses && !takesText(target)) || begin(chooses ? "choose" : "enter", target) !== null;
};
const scripted = {
  click: ({ target }) => (touched?.closest?.("label")?.control === target && touched !== target)
    || begin("click", target) !== null,
  input: change,
  change,
};

let heard = 0; // events of this window
const onEvent = (event) => {
  if (Events.currentTarget(event) === window) heard++;
  if (!trial.watched) return;
  const { isTrusted } = event;
  const type = Events.type(event);
  const target = Events.target(event);
  if (!isTrusted && byPage(9)) return;
  const wasDecided = decided();
  const allowed = (isTrusted ? native : scripted)[type]?.(event) !== false && !wasDecided;
  if (!allowed) {
    Events.stopImmediatePropagation(event);
    Events.preventDefault(event);
  } else if (touched === target && /^(enter|choose)$/.test(last.kind)) {
    last.text = textOf(target);
  }
};

// From here on the rewards count that the page gives, and the first of them.
let latched = false; // a page may be handed over again
const latch = () => {
  if (latched) return;
  latched = true;
  keepJudge();
  if (!inCore()) return;
  const { endEpisode } = core;
  const judge = (raw, ...values) => {
    if (state.foul || decided()) return;
    endEpisode(raw, ...values);
    if (WOB_DONE_GLOBAL) decide(raw);
  };
  const doubt = (raw, ...values) => {
    if (typeof raw !== "number" || raw > 0) state.foul ??= "it gave itself a reward";
    judge(raw, ...values);
  };
  // A script of the page may be made to call what another has given it, but not to read it here.
  const get = () => (byPage(1, true) ? judge : doubt);
  Object.defineProperty(core, "endEpisode", { __proto__: null, get, configurable: false });
  Object.defineProperty(window, "core", { __proto__: null, writable: false });
  for (const [owner, name] of [[core, "startEpisodeReal"], [window, "genProblem"]]) {
    const original = owner[name];
    owner[name] = (...values) => {
      if (beginning.now || byPage(1)) return original.apply(owner, values);
      state.foul ??= "it began another episode";
    };
  }
};

export const EVENTS = [...Object.keys(native), "input", "change", "submit", "contextmenu"];
const hear = () => Arrays.forEach(EVENTS, (name) => listen(name, onEvent));

// Hear the frames of a window too, and those in them; `visit` gets each of their documents.
const hearFrames = (/** @type {any} */ around = window, visit = null) => {
  for (let place = 0; place < around.length; place++) {
    const frame = around[place];
    try {
      visit?.(frame.document);
      Arrays.forEach(EVENTS, (name) => Targets.addEventListener(frame, name, onEvent, options));
    } catch {
      continue; // it is of another origin
    }
    hearFrames(frame, visit);
  }
};

// Watch a program that has so many actions left; null ends that, though what it has left in the
// page may still cheat.
export const watch = (left) => {
  const begun = { left, acts: [], over: false, decided: false, told: false };
  trial.watched = left !== null;
  state ??= { foul: null, known: null };
  if (trial.watched) Object.assign(state, begun);
  trial.asked = left === null; // a program may not hear of dialogs
  compile(document);
  hear();
  hearFrames(window, compile);
  latch();
  return !state.known;
};

// Have what attributes such as `onclick` hold be scripts, as they are now, in place of at an event.
const compile = (page) => {
  const elements = Documents.querySelectorAll(page, "*");
  for (let place = 0; place < Lists.length(elements); place++) {
    Arrays.forEach(Elements.getAttributeNames(elements[place]), (name) => void elements[place][name]);
  }
};

// Take the digests of the scripts that are in the page before those of a program.
export const recognize = (all, judging) => {
  state.known = { all: new Set(all), judging: new Set(judging) };
};
if (state) { // the page before was handed over, too
  hear();
  window.addEventListener("load", latch, { once: true });
}

// Go so many entries on in the history: to those that the page has pushed, and to earlier pages
// of your own in the same trial. False if there is no entry.
export const traverse = async (steps) => {
  const entry = navigation.entries()[navigation.currentEntry.index + steps];
  if (!entry || !(entry.sameDocument || own)) return false;
  const kind = steps < 0 ? "go back" : "go forward";
  if (steps && begin(kind, null, { key: entry.key })) await navigation.traverseTo(entry.key).finished;
  return true;
};

// Take note that a program goes to another page of an app; false if it may do nothing more.
export const go = (what) => {
  if (!begin("go", null, { what, key: {} })) return false;
  leaving.now = true;
  handOn();
  return true;
};

// Take note of the answer to a dialog, and of the text that a prompt got.
export const answered = outer?.answered ?? ((message, answer) => {
  const what = `${answer === false || answer === null ? "dismiss" : "accept"} "${squeeze(message)}"`;
  const text = typeof answer === "string" ? answer : null;
  if (trial.watched && state) begin("answer", null, { what: text === null ? what : `${what} with "${text}"`, text, key: {} });
});

const written = ({ kind, where, to, key: name, times, what, text = "", point = null }) => {
  const whats = { answer: what, go: what, "go back": kind, "go forward": kind, drag: `drag ${where} to ${to}`, enter: `enter "${text}" to ${where}`,
    choose: `choose "${text}" in ${where}`, press: `press ${name}${times > 1 ? ` x ${times}` : ""}`,
  };
  return { what: whats[kind] ?? `${kind} ${where}`, text: /^(enter|answer)$/.test(kind) ? text : null, point };
};

// True if the program has done something since the last reading.
export const stirred = () => {
  const { acts, over, foul, told } = state;
  return acts.length > (down ? 1 : 0) || over || foul !== null || decided() !== told;
};

// What the program has done since then; a verdict that follows no action follows the pointer. `all` is the
// number of events that our own world has heard, whose listeners no script can take away.
export const taken = (all) => {
  if (!state) return {};
  if (all > heard) state.foul ??= "it took the listeners away that watch it";
  if (isReplaced()) state.foul ??= "it changed the page's verdict";
  if (!trial.watched) return { foul: state.foul };
  hearFrames();
  if (!state.known) compile(document);
  const pending = down && !decided() ? 1 : 0;
  const acts = Arrays.map(Arrays.splice(state.acts, 0, state.acts.length - pending), written);
  if (decided() && !state.told && !acts.length) {
    Arrays.push(acts, { what: hovered ? `hover ${described(hovered)}` : "wait", text: null, point: null });
  }
  state.told = state.decided;
  return { acts, over: state.over, foul: state.foul, strange: !state.known };
};
