// The visible leaves of the page, with the ids by which actions name them.

import { inCore, outer, own, plain, trial } from "./world.js";
import { agentOf } from "./frames.js";
import { listen } from "./listeners.js";
import {
  NEW, body, childrenOf, closedList, extent, focusedElement, folding, parentOf, passed, place, reachable,
  recorded, skipped, target, thin, visible,
} from "./sight.js";

// What core.js adds to a page, and its goal, which is read elsewhere.
const IGNORED_IDS = new Set(["reward-display", "sync-task-cover", "click-canvas", "query"]);
export const IGNORED_TAGS = new Set(["script", "style", "br", "hr", "template", "defs", "title", "wbr"]);
export const ids = new WeakMap(); // element -> id
export const byId = new Map(); // id -> element
export const counter = outer?.counter ?? { next: own ? trial.nextId : 1 };

export const idOf = (element) => {
  if (!ids.has(element)) {
    ids.set(element, counter.next);
    byId.set(counter.next++, element);
  }
  return ids.get(element);
};

export const ignored = (element) =>
  (IGNORED_IDS.has(plain(element).id) && inCore())
  || IGNORED_TAGS.has(plain(element).tagName.toLowerCase());

export const squeeze = (text) => text.replace(/\s+/g, " ").trim();

// The text of what an SVG element shows a copy of; empty for any other element.
export const copied = (element) => {
  if (!(element instanceof SVGUseElement)) return "";
  /** @type {Set<any>} */
  const found = new Set([element]);
  for (const one of found) {
    const sources = !(one instanceof SVGUseElement) ? one.querySelectorAll("text, use")
      : [one.getRootNode().getElementById?.(one.href.baseVal.slice(1)) ?? one];
    for (const source of sources) found.add(source);
  }
  return squeeze([...found].filter((one) => one.matches("text"))
    .map(({ textContent }) => textContent).join(" "));
};

export const text = (node, parent) => {
  const rect = extent(node);
  if (!visible(parent) || !reachable(rect, node) || skipped(node)) return [];
  const [x, y] = place(rect, parent);
  return [{ id: null, tag: "text", text: squeeze(node.data), x, y, point: null }];
};

// True or False for what is drawn in place of a check box or radio button that does not show.
const tick = (element) => {
  const control = recorded ? null : plain(element).closest("label")?.control;
  return ["checkbox", "radio"].includes(control?.type) && !visible(control) ? control.checked : null;
};

// The field for which another element shows, by its id, or the element with that id.
const fields = new WeakMap();
export const fieldOf = (id) => fields.get(byId.get(id)) ?? byId.get(id);

// What was typed into fields for passwords, which agents see; of any other value they see dots, as a
// person does.
const typed = new WeakMap(); // field -> its value
let typing = null; // a field all of whose value will be typed
listen("beforeinput", (event) => {
  const [field] = event.composedPath();
  const { value, selectionStart, selectionEnd } = plain(field);
  const all = value === typed.get(field) || (selectionStart === 0 && selectionEnd === value?.length);
  typing = event.isTrusted && all ? field : null;
});
listen("input", (event) => {
  const [field] = event.composedPath();
  if (event.isTrusted && field === typing) typed.set(field, field.value);
});
// The value of a field, as it is shown.
export const shownValue = (field) => !NEW || field.type !== "password" || typed.get(field) === field.value
  ? field.value : field.value.replace(/./gsu, "•");

// An element, with the id and the place of what shows for it.
export const described = (element, content, shown = element) => {
  const id = idOf(shown);
  if (shown !== element) fields.set(shown, element);
  const known = plain(element);
  let tag = known.tagName.toLowerCase();
  let value = null;
  if (element instanceof HTMLInputElement) {
    tag = `input_${element.type}`;
    value = ["checkbox", "radio"].includes(element.type) ? element.checked : shownValue(element);
  } else if (element instanceof HTMLTextAreaElement) {
    value = element.value;
  } else if (element instanceof HTMLSelectElement) {
    value = squeeze(element.selectedOptions[0]?.text ?? "");
  } else if (element instanceof HTMLOptionElement) {
    value = element.selected;
  } else {
    value = tick(element);
  }
  const [x, y] = place(extent(shown), parentOf(shown));
  return {
    id, tag, text: content, value, x, y, point: target(shown),
    classes: squeeze(known.getAttribute("class") ?? ""),
    dom_id: known.id,
    placeholder: known.placeholder ?? "",
  };
};

// True for an element with others in it, which is no leaf itself. The title of a shape is none.
export const parted = (element) =>
  [...plain(element).children].some((one) => !(NEW && one.matches("svg :is(title, desc)")));

const leaf = (element, content) => visible(element) && !thin(element) ? [described(element, content)] : [];

// The visible leaves below an element, or the element itself if no element below it shows. A box
// with hidden elements only is not a leaf, unless it can be used.
export const leaves = folding(function* (element) {
  if (!element || ignored(element)) return [];
  const inner = agentOf(element);
  if (inner) return visible(element) ? inner.leaves() : [];
  if (element instanceof HTMLTextAreaElement || closedList(element)) return leaf(element, "");
  if (element instanceof HTMLOptionElement) return leaf(element, squeeze(element.text));
  const parts = [];
  for (const node of childrenOf(element)) {
    if (node instanceof Element) parts.push(yield node);
    else if (node instanceof Text && node.data.trim()) parts.push(text(node, element));
  }
  const found = parts.flat();
  if (element === body() || passed(element) || found.some((leaf) => leaf.id !== null)) return found;
  if (!found.length && parted(element) && !plain(element).matches("a, button, label")) {
    return [];
  }
  return leaf(element, found.map((leaf) => leaf.text).join(" ") || copied(element));
});

// The id of the field that keys go to, null if there is none. Buttons and boxes to tick are no
// fields: a click gives them the focus as well, whatever else it does.
export const focused = () => {
  const field = "input:not([type=button], [type=submit], [type=reset], [type=image], "
    + "[type=checkbox], [type=radio]), textarea, select";
  const element = focusedElement();
  const inner = agentOf(element);
  if (inner) return inner.focused();
  return plain(element)?.matches(field) ? ids.get(element) ?? null : null;
};
