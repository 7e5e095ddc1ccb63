// A page as HTML, and the goal of a page with core.js, on the full screen with its pictures.

import { Fault, own, plain, trial } from "./world.js";
import { agentOf } from "./frames.js";
import { body, childrenOf, folding, visible } from "./sight.js";
import { IGNORED_TAGS, copied, idOf, ignored, shownValue, squeeze, text } from "./leaves.js";
import { look } from "./looks.js";
import { accessibleName, pictured } from "./everything.js";

const VOID_TAGS = new Set(["input", "img"]);
// Attributes whose current state is shown, not that of the page's source.
const STATE = new Set(["value", "checked", "selected"]);
// Long attributes that say nothing beyond what can be seen.
const IGNORED_ATTRIBUTES = /^(on|aria-)|^(style|role|tabindex|data-ref|data-tampered)$/;
const NEVER_SHOWN = /^on|^(data-ref|data-tampered)$/; // nor on the whole page
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (string) => string.replace(/[&<>"]/g, (character) => ENTITIES[character]);

const MOST_LEVELS = 200; // of elements in each other: many parsers end at 256

// A function that tells whether an element shows, or one in it.
const showing = () => {
  const known = new Map();
  return folding(function* (element) {
    if (known.has(element)) return known.get(element);
    let shows = !ignored(element) && visible(element);
    for (const node of shows || ignored(element) ? [] : childrenOf(element)) {
      shows ||= node instanceof Element && (yield node);
    }
    known.set(element, shows);
    return shows;
  });
};

const attributesOf = (element, id, left) => {
  const field = element instanceof HTMLInputElement || element instanceof HTMLOptionElement;
  const attributes = [["data-ref", id], ...[...plain(element).attributes]
    .map(({ name, value }) => [name, value])
    .filter(([name]) => !left.test(name) && !(field && STATE.has(name)))];
  if (field) attributes.push(["value", shownValue(element)]);
  if (plain(element).checked) attributes.push(["checked", ""]);
  if (plain(element).selected) attributes.push(["selected", ""]);
  return attributes.map(([name, value]) => ` ${name}="${escape(String(value))}"`).join("");
};

const joined = (parts) => {
  const mixed = parts.some((part) => part.trim() && !part.startsWith("<"));
  if (mixed) return parts.join("").trim();
  const found = parts.filter((part) => part.trim());
  return found.length ? `\n${found.join("\n")}\n` : "";
};

// The visible page as HTML, or the `whole` page with what is hidden, and the ids in it. Beyond
// `MOST_LEVELS`, some of which may be `around` this document, elements follow the one that they are in.
export const markup = (whole = false, around = 0) => {
  const [shown, shows] = [[], whole ? (element) => !ignored(element) : showing()];
  const left = whole ? NEVER_SHOWN : IGNORED_ATTRIBUTES;
  const written = folding(function* ([element, level]) {
    const id = idOf(element);
    shown.push(id);
    const tag = plain(element).tagName.toLowerCase();
    const start = `<${tag}${attributesOf(element, id, left)}>`;
    if (VOID_TAGS.has(tag)) return start;
    const inner = agentOf(element);
    let content = "";
    if (inner) {
      const [within, below] = inner.markup(whole, level + 1);
      content = within;
      shown.push(...below);
    } else if (element instanceof HTMLTextAreaElement) content = escape(element.value);
    else if (element instanceof HTMLOptionElement) content = escape(squeeze(element.text));
    else {
      const parts = [];
      for (const node of childrenOf(element)) {
        if (node instanceof Element) { // a closed list has no boxes for its options
          if (node instanceof HTMLOptionElement || shows(node)) parts.push(yield [node, level + 1]);
        } else if (node instanceof Text) {
          parts.push(whole || text(node, element).length ? escape(node.data.replace(/\s+/g, " ")) : " ");
        }
      }
      content = joined(parts) || escape(copied(element));
    }
    const apart = level >= MOST_LEVELS && content.includes("<")
      && !plain(element).matches("a, button, label, select");
    return apart ? `${start}</${tag}>${content}` : `${start}${content}</${tag}>`;
  });
  return [body() ? written([body(), around]) : "", shown];
};

// A picture in the goal, as a line of the full screen.
const pictureInGoal = (element) => {
  const known = plain(element);
  const attributes = [
    ["class", squeeze(known.getAttribute("class") ?? "")],
    ["dom-id", known.id],
    ["name", accessibleName(element, [element])],
    ["image", pictured(element)],
    ...Object.entries(look({ node: element, around: [element], content: "", box: true })),
  ];
  const tag = known.tagName.toLowerCase();
  const shown = attributes.filter(([, value]) => value)
    .map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
  return `<${tag}${shown}>`;
};

const worded = folding(function* (node) {
  if (node instanceof Text) return node.data;
  if (!(node instanceof Element)) return "";
  const { childNodes, tagName } = plain(node);
  if (childNodes.length) {
    let words = "";
    for (const inner of childNodes) words += yield inner;
    return words;
  }
  return IGNORED_TAGS.has(tagName.toLowerCase()) || !visible(node) ? ""
    : pictureInGoal(node);
});

// The page's own words for the goal. If they are the text of #query, the full screen also has
// what it shows besides text, as a person sees it.
const goal = (words) => {
  const query = document.getElementById("query");
  if (!trial.full || !query || squeeze(query.textContent) !== words) return words;
  return squeeze(worded(query));
};

// The goal in the page's words; that of the trial's first page if a page has no goal.
export const goalNow = (words) => {
  if (!own) return goal(words);
  if (words !== null) trial.goal = goal(words);
  if (!trial.goal && trial.seed !== null && !Constants.APP) {
    throw new Fault("it has no goal: core.js expects it in an element with the id query");
  }
  return squeeze(trial.goal);
};
