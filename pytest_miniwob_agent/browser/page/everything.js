// Everything that shows: the leaves with ids for texts too, and the boxes around them that can be seen or
// used; each with what a person sees of it beyond its text (`details`): its state, name, options,
// limits, scrolling, corners and looks.

import { Main, outer, plain } from "./world.js";
import { agentOf } from "./frames.js";
import { live } from "./settle.js";
import {
  NEW, body, childrenOf, closedList, extent, focusedElement, folding, hitAt, lands, owner, parentOf, passed, place,
  samples, sighted, target, visible, within,
} from "./sight.js";
import { copied, described, idOf, ignored, parted, squeeze } from "./leaves.js";
import { channels, drawing, look, telling } from "./looks.js";
import { marked } from "./selection.js";
import { optionsOf } from "./aim.js";

const attribute = (around, name) => {
  for (const element of around) {
    const value = plain(element).getAttribute(name);
    if (value) return squeeze(value);
  }
  return "";
};

// True if a part of a node is in sight, or all of it if it is smaller than a pixel.
export const inSight = (node) => {
  const { left, top, right, bottom } = sighted(node);
  const { width, height } = extent(node);
  return right - left >= Math.min(1, width) && bottom - top >= Math.min(1, height);
};

// True if other elements that count lie over all of a node.
/** @param {(hit: any) => boolean} [counts] */
export const covered = (node, counts = Boolean) => samples(node).every(([x, y]) => {
  const hit = hitAt(x, y);
  return hit && counts(hit) && !lands(owner(node), hit) && !within(hit, owner(node));
});

const states = (node, around) => {
  const element = owner(node);
  const aria = (name, yes, no = "") =>
    ({ true: yes, false: no })[attribute(around, `aria-${name}`)] ?? "";
  const current = attribute(around, "aria-current");
  const readOnly = (node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement)
    && node.readOnly;
  return [
    plain(element).matches(":disabled") || aria("disabled", "disabled") ? "disabled" : "",
    readOnly ? "readonly" : "",
    focusedElement() === node ? "focused" : "",
    aria("expanded", "expanded", "collapsed"),
    aria("selected", "selected"),
    aria("pressed", "pressed"),
    aria("checked", "checked"),
    current && current !== "false" ? "current" : "",
    inSight(node) ? "" : "outside",
    inSight(node) && covered(node) ? "covered" : "",
  ].filter(Boolean).join(" ");
};

export const scrolls = (element) => {
  if (element instanceof HTMLSelectElement) return element.scrollHeight > element.clientHeight + 1;
  const { overflowX, overflowY } = getComputedStyle(element);
  const { scrollHeight, clientHeight, scrollWidth, clientWidth } = plain(element);
  return (scrollHeight > clientHeight + 1 && /auto|scroll/.test(overflowY))
    || (scrollWidth > clientWidth + 1 && /auto|scroll/.test(overflowX));
};

// The name by which assistive technology calls an element without text.
export const accessibleName = (element, around) => {
  const labels = attribute(around, "aria-labelledby").split(" ")
    .map((id) => squeeze(document.getElementById(id)?.textContent ?? "")).join(" ").trim();
  return labels || attribute(around, "aria-label") || attribute(around, "alt")
    || attribute(around, "title")
    || squeeze(plain(element).querySelector("title")?.textContent ?? "");
};

// The last part of the address of an image.
export const pictured = (element) => {
  const [, url] = element instanceof HTMLImageElement ? [null, element.src]
    : /url\("([^"]+)"\)/.exec(getComputedStyle(element).backgroundImage) ?? [];
  return !url || url.startsWith("data:") ? "" : url.split(/[?#]/)[0].split("/").pop();
};

const MOST_CORNERS = 12;

// The corners of an SVG element of straight lines, in the viewport.
const corners = (element) => {
  const lists = {
    line: () => [1, 2].map((end) => [element[`x${end}`], element[`y${end}`]]
      .map((length) => length.baseVal.value)),
    polygon: () => [...element.points].map(({ x, y }) => [x, y]),
    polyline: () => [...element.points].map(({ x, y }) => [x, y]),
    path: () => {
      const data = element.getAttribute("d") ?? "";
      if (/[^MLZ\d\s,.eE+-]/i.test(data) || /[ml]/.test(data)) return [];
      const numbers = data.match(/[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/gi) ?? [];
      return numbers.slice(0, numbers.length & ~1).flatMap((x, at) =>
        at % 2 ? [] : [[Number(x), Number(numbers[at + 1])]]);
    },
  };
  const matrix = plain(element).getScreenCTM?.();
  const found = matrix ? lists[element.tagName.toLowerCase()]?.() ?? [] : [];
  return found.map(([x, y]) => {
    const point = new DOMPoint(x, y).matrixTransform(matrix);
    return [Math.round(point.x), Math.round(point.y)];
  });
};

// Least, greatest and step of a slider or a field for numbers, and the value of jQuery UI's
// slider.
export const limits = (element) => {
  const slider = plain(element).closest(".ui-slider");
  const handle = slider ? [...slider.querySelectorAll(".ui-slider-handle")].indexOf(element) : -1;
  const sliders = [...document.querySelectorAll(".ui-slider")];
  const options = handle < 0 ? null : Main.slider(sliders.indexOf(slider));
  if (options) {
    return [["value", options.values?.[handle] ?? options.value],
      ["minimum", options.min], ["maximum", options.max], ["step", options.step]];
  }
  const own = (...names) =>
    names.map((name) => plain(element).getAttribute(name)).find(Boolean) ?? "";
  return [["minimum", own("min", "aria-valuemin")], ["maximum", own("max", "aria-valuemax")],
    ["step", own("step")]];
};

// A point in the first part of a field that has parts: typing goes on from the part that was
// clicked.
export const beginning = (field) => {
  const { left, top, height } = extent(field);
  const point = [Math.ceil(left) + 8, Math.floor(top + height / 2)];
  return hitAt(...point) === field ? point : target(field);
};

export const FORMATS = { date: "MM/DD/YYYY", time: "HH:MMAM",
  ...(NEW && { "datetime-local": "MM/DD/YYYY, HH:MMAM", month: "MONTH YYYY", week: "Week WW, YYYY" }) };

const MOST_OPTIONS = 100;
export const choices = (element) => {
  if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) return "";
  const names = optionsOf(element);
  const more = names.length - MOST_OPTIONS;
  return names.slice(0, MOST_OPTIONS).join(" | ") + (more > 0 ? ` | and ${more} more` : "");
};

export const scrollState = (element) => {
  if (!scrolls(element)) return [];
  const { scrollHeight, clientHeight, scrollWidth, clientWidth, scrollTop, scrollLeft } =
    plain(element);
  const [down, right] = [scrollHeight - clientHeight, scrollWidth - clientWidth];
  return [["scroll", down > 1 ? `${Math.round(scrollTop)} of ${down}` : ""],
    ["scroll-right", right > 1 ? `${Math.round(scrollLeft)} of ${right}` : ""]];
};

const boxed = (node) => {
  const { left, top, width, height } = extent(node);
  return [left, top, width, height].map(Math.round).join(",");
};

// All details of a node but its look, in the order in which they are shown.
const facts = (node, around, content) => {
  if (node instanceof Text) return [["state", states(node, around)], ["box", boxed(node)]];
  const { id, type, tagName } = plain(node);
  const name = content ? "" : accessibleName(node, around);
  const points = corners(node);
  const few = points.length <= MOST_CORNERS ? points.map(String).join(" ") : "";
  return [
    ["dom-id", id],
    ["name", name],
    ["image", pictured(node)],
    ["format", FORMATS[type] ?? ""],
    ["options", choices(node)],
    ...limits(node),
    ["state", states(node, around)],
    ...scrollState(node),
    ["corners", tagName === "polygon" ? points.length : ""],
    ["points", few],
    ["drawing", name ? "" : drawing(node)],
    ["box", boxed(node)],
  ];
};

const FRAMED = "[contenteditable=true], .ui-draggable, .ui-droppable, [draggable=true]";
const WHOLE_PAGE = new Set(["wrap", "area"]); // the task's area itself

// True if an element has a background of its own, not nearly white, or a frame.
export const painted = (element) => {
  const style = getComputedStyle(element);
  const [red, green, blue, alpha] = channels(style.backgroundColor) ?? [0, 0, 0, 0];
  const sides = ["Top", "Right", "Bottom", "Left"];
  return (alpha > 0 && Math.min(red, green, blue) < 240)
    || sides.every((side) => parseFloat(style[`border${side}Width`]) > 0);
};

// True for a box that is of interest beside what shows in it: one that scrolls or can be used, a
// button without text, or one that holds several things together.
const framed = (element, found) => plain(element).matches(FRAMED) || scrolls(element)
  || (plain(element).matches("a, button") && !found.some(({ content }) => content))
  || (element instanceof SVGSVGElement && painted(element))
  || (found.length > 1 && !WHOLE_PAGE.has(plain(element).id)
    && !plain(element).matches("table, tbody, thead, tr") && painted(element));

// An SVG line has no height, or no width.
export const line = (node) => node instanceof SVGGeometryElement
  && node.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  && getComputedStyle(node).stroke !== "none";
const entry = (node, content) => {
  const { width, height } = extent(node);
  const seen = line(node) ? Math.max(width, height) > 1
    : Math.min(width, height) > 1 && visible(node);
  return seen ? [{ node, content, box: false }] : [];
};

// What shows in an element, or the element itself if nothing in it does.
export const gather = folding(function* (element) {
  if (!element || ignored(element)) return [];
  const inner = agentOf(element);
  if (inner) return entry(element, "").map((one) => ({ ...one, inner }));
  if (closedList(element) || element instanceof HTMLTextAreaElement) return entry(element, "");
  if (element instanceof HTMLOptionElement) return entry(element, squeeze(element.text));
  const within = [];
  for (const node of childrenOf(element)) {
    if (node instanceof Element) within.push(yield node);
    else if (node instanceof Text && node.data.trim()) within.push(entry(node, squeeze(node.data)));
  }
  const found = within.flat();
  if (element === body() || passed(element)) return found;
  if (found.every(({ node }) => node instanceof Text)) {
    const leaf = found.length || (!parted(element) && !WHOLE_PAGE.has(plain(element).id))
      || plain(element).matches("a, button, label") || framed(element, found) || painted(element);
    const parts = found.map(({ node }) =>
      (node.previousSibling instanceof Text ? "" : " ") + node.data);
    return leaf ? entry(element, squeeze(parts.join("")) || copied(element)) : [];
  }
  const drawing = found.every(({ node }) => owner(node) instanceof SVGElement);
  if (drawing && plain(element).matches("a, button")) {
    return entry(element, squeeze(found.map(({ content }) => content).join(" ")));
  }
  if (!framed(element, found)) return found;
  return [...entry(element, "").map((one) => ({ ...one, box: true })), ...found];
});

// A node's element and those around it that hold nothing else: a state or a colour may belong to
// any.
const shells = (node) => {
  const element = owner(node);
  const text = squeeze(plain(element).textContent);
  if (node !== element && squeeze(node.data) !== text) return [];
  const around = [element];
  for (let up = parentOf(element); up && up !== document.body; up = parentOf(up)) {
    const { textContent, childElementCount, id } = plain(up);
    if (squeeze(textContent) !== text || childElementCount > 1 || WHOLE_PAGE.has(id)) break;
    around.push(up);
  }
  return around;
};

// The page as a whole, if there is anything to say about it.
export const wholePage = () => {
  const { scrollTop, scrollHeight, clientHeight } = document.scrollingElement ?? {};
  const below = scrollHeight - clientHeight;
  const details = [
    ["state", live.moving ? "moving" : ""],
    ["scroll", below > 1 ? `${Math.round(scrollTop)} of ${below}` : ""],
    ["selected-text", squeeze(marked()).slice(0, 200)],
  ].filter(([, value]) => value);
  return details.length
    ? [{ id: null, tag: "page", text: "", x: 0, y: 0, point: null, details }] : [];
};

export const everything = () => {
  const shown = gather(body()).map((one) => ({ ...one, around: shells(one.node) }));
  const looks = telling(shown.map(look));
  return (outer ? [] : wholePage()).concat(shown.flatMap(({ node, content, around, inner }, at) => {
    if (inner) return inner.shown();
    const basis = node instanceof Text
      ? { id: idOf(node), tag: "text", text: content, point: target(node) }
      : described(node, content);
    if (plain(node).type in FORMATS) basis.point = beginning(node);
    const [x, y] = place(extent(node), parentOf(node));
    const rest = facts(node, around, content).map(([name, value]) => [name, String(value ?? "")])
      .filter(([, value]) => value);
    const box = rest.pop();
    return { ...basis, x, y, details: [...rest, ...looks[at], box] };
  }));
};
