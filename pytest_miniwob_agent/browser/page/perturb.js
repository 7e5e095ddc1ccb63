// A perturbation makes the page harder: a script (perturbations/) that gets the object `page`. Random
// numbers are its own, so that those of the task stay the same, and time is that of the page's clock.

import {
  Arrays, Documents, Events, Math, Object, Patterns, Promise, Response, Set, Strings,
} from "./saved.js";
import { Fault, declared, goesOn, own, shownError, trial } from "./trial.js";
import { add, following, scrambled } from "./clock.js";

const Observer = MutationObserver;
const Sheet = CSSStyleSheet;

// `random` is the state of its generator, `own` what the script keeps.
const kept = goesOn("perturbation", { random: null, applied: false, own: {} }, () => kept);
let [name, data, needed, fault] = ["", null, false, null];
const hooks = { __proto__: null, setUp: [], begin: [], shown: [], click: [], request: [] };
let begun = false;

const failed = (error) => new Fault(error instanceof Fault ? error.message
  : `the perturbation ${name} threw ${shownError(error)}`);

// Call the functions that the script has given for an event, once.
export const perturb = (event, ...values) => {
  if (needed && dataOf() === undefined) {
    throw new Fault(`it declares nothing for the perturbation ${name}: set window.task.perturb = {${name}: ...}`);
  }
  try {
    while (hooks[event].length) hooks[event].shift()(...values);
    if (event === "begin") begun = true;
  } catch (error) {
    throw failed(error);
  }
};
const dataOf = () => data ?? declared()?.perturb?.[name];

// Whether the perturbation has changed anything in this trial.
export const effect = () => name ? { applied: kept.applied } : {};

// SplitMix32 (clock.js), from the seed and the name on.
const random = () => {
  if (kept.random === null) {
    kept.random = trial.seed;
    for (let at = 0; at < name.length; at++) kept.random = Math.imul(kept.random ^ name.charCodeAt(at), 16777619);
  }
  kept.random = following(kept.random);
  return scrambled(kept.random) / 2 ** 32;
};

const later = (ms, run) => add(run, ms, false, []);
const wait = (ms) => new Promise((resolve) => { later(ms, resolve); });

// Call a function once the trial has begun, or now if it has.
const begin = (run) => {
  if (begun) run();
  else Arrays.push(hooks.begin, run);
};

// Call a function when the trial has begun, and after each change of the document.
const always = (run) => begin(() => {
  run();
  const options = { subtree: true, childList: true, characterData: true, attributes: true };
  new Observer(run).observe(document, options);
});
const each = (selector, run) => {
  const seen = new Set();
  always(() => Documents.querySelectorAll(document, selector).forEach((element) => {
    if (!seen.has(element)) run(element);
    seen.add(element);
  }));
};

// Replace strings that show, whole ones: `{}` in a string stands for any part of it, and in the other for
// the same.
const SHOWN = ["placeholder", "title", "alt", "aria-label"];
const pattern = (text) => new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", "(.*)")}$`, "s");
const translate = (words) => {
  const pairs = Object.entries(words).map(([from, to]) => [pattern(from), to]);
  const done = new Set(Object.values(words)); // a string is not translated twice
  const translated = (text) => {
    const known = Strings.trim(text);
    if (!known || done.has(known)) return text;
    for (const [from, to] of pairs) {
      const found = Patterns.exec(from, known);
      if (!found) continue;
      let at = 0;
      const said = to.replaceAll("{}", () => found[++at]);
      done.add(said);
      kept.applied = true;
      return text.replace(known, () => said);
    }
    return text;
  };
  always(() => {
    const kinds = NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT;
    const walker = document.createTreeWalker(document.documentElement, kinds);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node instanceof Text) {
        const said = node.parentElement?.matches("script, style, textarea") ? node.data : translated(node.data);
        if (said === node.data) continue;
        const option = node.parentElement?.closest("option");
        option?.setAttribute("value", option.value); // which is its text, if it has no such attribute
        node.data = said;
        continue;
      }
      const element = /** @type {any} */ (node);
      const shown = element.matches("[type=button], [type=submit], [type=reset]") ? ["value", ...SHOWN] : SHOWN;
      Arrays.forEach(shown, (attribute) => {
        const value = element.getAttribute(attribute);
        if (value && translated(value) !== value) element.setAttribute(attribute, translated(value));
      });
    }
  });
};

// Hide what matches a selector, until the function that this returns is called.
const hide = (selector) => {
  const sheet = new Sheet();
  sheet.replaceSync(`${selector} { display: none !important; }`);
  document.adoptedStyleSheets.push(sheet);
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  };
};

// The events of a press of the mouse; the first one decides about all. Who watches a program hears of them
// before, at the window (witness.js).
const PRESS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
let swallows = false;
const onClick = (run) => {
  if (!hooks.click.length) PRESS.forEach((type) => document.addEventListener(type, (event) => {
    const keyed = type === "click" && !event.detail; // such as ENTER on a button
    if (!event.isTrusted || trial.seed === null || keyed) return;
    if (type === "pointerdown") swallows = hooks.click.some((hook) => hook(event) === true);
    if (!swallows) return;
    Events.preventDefault(event);
    Events.stopImmediatePropagation(event);
  }, { capture: true, passive: false }));
  Arrays.push(hooks.click, run);
};

// What answers a request in place of the task or the app, if anything does. It may take its time.
export const interrupts = () => hooks.request.length > 0 && trial.seed !== null;
export const interrupted = async (request) => {
  try {
    for (let at = 0; at < hooks.request.length; at++) {
      const answer = await hooks.request[at](request);
      if (answer) return answer;
    }
  } catch (error) {
    trial.fault ??= failed(error).message;
  }
  return null;
};

// The object `page` of a script.
const page = {
  get seed() { return trial.seed; },
  get data() { return dataOf(); },
  get kept() { return kept.own; },
  get root() { return Documents.querySelector(document, "#area") ?? document.body; },
  random,
  pick: (list) => list[Math.floor(random() * list.length)],
  shuffled: (list) => list.map((one) => [random(), one]).sort(([a], [b]) => a - b).map(([, one]) => one),
  later, wait, begin, each, always, translate, hide, onClick, Response,
  setUp: (run) => void Arrays.push(hooks.setUp, run),
  shown: (run) => void Arrays.push(hooks.shown, run),
  onRequest: (run) => void Arrays.push(hooks.request, run),
  applied: () => { kept.applied = true; },
};

// Run the script of a perturbation; Python adds the call (page/__init__.py).
export const play = (called, given, needs, script) => {
  if (name || window !== top || !(own || location.protocol === "http:")) return;
  [name, data, needed] = [called, given, needs];
  try {
    script(page);
  } catch (error) {
    fault = failed(error);
  }
};
// Check that it has run.
export const check = (expected) => {
  if (fault) throw fault;
  if (expected !== name) throw new Fault(`the script of the perturbation ${expected} can't be read: it has an error`);
};
