// Geometry of elements: which can be seen, where they are, and where a click lands on them.

import { outer, own, plain, trial } from "./world.js";
import { moved, placement, scrolled, viewport } from "./frames.js";

export const recorded = !own && !outer; // pages of the package are read as in their recordings
export const NEW = Constants.SCREENS >= 2; // false if a recording was begun with the first version of screens

// What is read of a document: only one of HTML has a body, if no script has removed it.
export const body = () => document.body ?? document.documentElement;

// The tree as it shows: open shadow trees are in their hosts, and contents in their slots.
export const parentOf = (node) => {
  const known = plain(node);
  return known.assignedSlot ?? known.parentElement ?? known.parentNode?.host ?? null;
};
export const childrenOf = (element) => {
  const { shadowRoot, childNodes } = plain(element);
  if (shadowRoot) return [...shadowRoot.childNodes];
  const given = element instanceof HTMLSlotElement ? element.assignedNodes() : [];
  return [...(given.length ? given : childNodes)];
};
// A function of a node, written as a generator that yields each node within for which it needs the
// result. Pages may be nested deeper than calls can be.
export const folding = (work) => (root) => {
  const open = [work(root)];
  let result;
  while (open.length) {
    const { value, done } = open.at(-1).next(result);
    result = done ? value : undefined;
    if (done) open.pop();
    else open.push(work(value));
  }
  return result;
};
export const within = (element, node) => {
  for (let up = node; up; up = parentOf(up)) if (up === element) return true;
  return false;
};

// The element at a point of the viewport.
export const hitAt = (x, y) => {
  if (outer && outer.hitAt(x, y) !== frameElement) return null;
  const inside = placement().inverse().transformPoint({ x, y });
  /** @type {[number, number]} */
  const point = [inside.x, inside.y];
  let hit = document.elementFromPoint(...point);
  for (;;) {
    const inner = plain(hit)?.shadowRoot?.elementFromPoint(...point);
    if (!inner || inner === hit) return hit;
    hit = inner;
  }
};

// The element of a node, which is an element or text in one.
export const owner = (node) => node instanceof Text ? node.parentElement ?? parentOf(node) : node;

// True for an element without a box, whose contents are in the box around it.
const boxless = (element) => !recorded && getComputedStyle(element).display === "contents";

// True for one that nobody uses either: what is in it belongs to the element around it.
export const passed = (element) => boxless(element) && !plain(element).matches("a, button, label");

// The boxes of a node's lines, and the box around them.
const ranged = (node) => {
  if (!(node instanceof Text)) return node;
  const range = document.createRange();
  range.selectNodeContents(node);
  return range;
};
const contents = (element) => {
  const [range, nodes] = [document.createRange(), childrenOf(element)];
  if (nodes.length) [range.setStartBefore(nodes[0]), range.setEndAfter(nodes.at(-1))];
  return range;
};
// The box of an area of an image map, which lies in the box of the image.
const imageOf = (area) => [...area.getRootNode().querySelectorAll("img[usemap]")]
  .find((image) => image.useMap === `#${plain(area).closest("map")?.name}`);
const areaOf = ({ shape, coords }, { left, top, width, height }) => {
  const all = coords.split(/[\s,]+/).map(Number);
  const [x, y, radius] = all;
  if (shape === "circle") return new DOMRect(left + x - radius, top + y - radius, 2 * radius, 2 * radius);
  if (all.length < 4) return new DOMRect(left, top, width, height);
  const [xs, ys] = [0, 1].map((odd) => all.filter((_, at) => at % 2 === odd));
  const [first, upper] = [Math.min(...xs), Math.min(...ys)];
  return new DOMRect(left + first, top + upper, Math.max(...xs) - first, Math.max(...ys) - upper);
};
export const extent = (node) => {
  const image = NEW && node instanceof HTMLAreaElement && imageOf(node);
  if (image) return areaOf(node, extent(image));
  const rect = plain(ranged(node)).getBoundingClientRect();
  const empty = !rect.width && !rect.height && node instanceof Element && boxless(node);
  return moved(empty ? contents(node).getBoundingClientRect() : rect);
};

// How a node's box is placed: in the flow, or taken out of it, up to its containing block
// (https://www.w3.org/TR/css-position-3/#def-cb).
const placed = (node) => {
  const { position } = recorded || node instanceof Text ? {} : getComputedStyle(node);
  return position === "fixed" || position === "absolute" ? position : "in flow";
};
const onTop = (node) => placed(node) !== "in flow"
  && plain(node).matches(":modal, :popover-open, :fullscreen");
const MOVING = ["transform", "translate", "rotate", "scale", "perspective", "filter", "backdropFilter"];
const contains = (style, way) => (way === "absolute" && style.position !== "static")
  || MOVING.some((name) => style[name] !== "none")
  || /paint|layout|strict|content/.test(style.contain)
  || /transform|translate|rotate|scale|perspective|filter|contain/.test(style.willChange);

// The innermost of an element and those around it that holds a box which is placed in some way,
// and scrolls or cuts off what overflows. The page does not change within a task of the browser,
// so each is looked for once.
const clippers = new Map(); // element -> the clipper of each way
const clipperFrom = (element, way = "in flow") => {
  if (!clippers.size) queueMicrotask(() => clippers.clear());
  const passed = [];
  let found = null;
  for (let up = element; up && up !== document.body; up = parentOf(up)) {
    if (!clippers.has(up)) clippers.set(up, {});
    const known = clippers.get(up);
    if (way in known) {
      found = known[way];
      break;
    }
    passed.push([known, way]);
    const style = getComputedStyle(up);
    if (style.display === "contents" || (way !== "in flow" && !contains(style, way))) continue;
    if (style.overflow !== "visible") found = up;
    if (found || onTop(up)) break;
    way = placed(up);
  }
  for (const [known, by] of passed) known[by] = found;
  return found;
};
export const clipperOf = (node) => (onTop(node) ? null : clipperFrom(parentOf(node), placed(node)));

// True if a person could bring a node with this box into sight by scrolling alone: in whole pixels
// it has more than one each way, and nothing cuts it off by hiding what overflows.
export const reachable = (rect, node) => {
  let { left, top, right, bottom } = rect;
  for (let up = clipperOf(node); up; up = clipperOf(up)) {
    const { overflowX, overflowY } = getComputedStyle(up);
    const box = extent(up);
    if (overflowX === "hidden" || overflowX === "clip") {
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    } else if (overflowX !== "visible") {
      [left, right] = [box.left, box.right];
    }
    if (overflowY === "hidden" || overflowY === "clip") {
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    } else if (overflowY !== "visible") {
      [top, bottom] = [box.top, box.bottom];
    }
  }
  const { a, d } = placement(); // in a frame that is turned over, the other sides can be scrolled to
  return Math.round(right - left) > 1 && Math.round(bottom - top) > 1
    && (a < 0.001 || right + scrolled()[0] > 0) && (d < 0.001 || bottom + scrolled()[1] > 0);
};

// A box of two pixels at most: how many of them shrunk text gets differs from browser to browser.
const speck = ({ width, height }) => Math.round(Math.max(width, height)) <= 2;

// True for a speck without text or use.
const negligible = (element, rect) => speck(rect)
  && !plain(element).matches("a, button, label, input, textarea, select, option")
  && ![...plain(element).childNodes].some((node) =>
    node instanceof Text && node.data.trim() && !speck(extent(node)));

// Controls that pages make transparent, over something that they draw in their place.
const REPLACED = "input:is([type=checkbox], [type=radio], [type=range], [type=file])";

// True for an element that is drawn, wherever it is.
export const shows = (element) => {
  const image = element instanceof HTMLAreaElement && imageOf(element);
  for (let up = image || element; up; up = parentOf(up)) {
    const known = plain(up);
    if (known.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return true;
    const drawn = !recorded && known.matches(REPLACED)
      ? known.checkVisibility({ visibilityProperty: true })
      : boxless(up) && getComputedStyle(up).visibility === "visible";
    if (!drawn) return false;
  }
  return false;
};

// True for a line in a drawing: its box has no width or no height.
export const thin = (node) => {
  if (!NEW || !(node instanceof SVGGraphicsElement)) return false;
  const { width, height } = extent(node);
  return Math.min(width, height) <= 1 && Math.max(width, height) > 2;
};

// True for a drop-down list whose options are not on the page. Those of a list with a style of its own are,
// once it is open.
export const closedList = (element) => element instanceof HTMLSelectElement && !element.multiple && element.size < 2
  && !(NEW && plain(element).matches(":open") && getComputedStyle(element).appearance === "base-select");

// True for a text right in an element whose contents are not drawn.
export const skipped = (node) => (NEW || trial.tree) && node instanceof Text && Boolean(node.parentElement)
  && (plain(node.parentElement).matches("details:not([open])")
    || getComputedStyle(node.parentElement).contentVisibility === "hidden");

export const visible = (node) => {
  if (!shows(owner(node)) || skipped(node)) return false;
  const rect = extent(node);
  const { left, top, width, height } = rect;
  return reachable(thin(node) ? new DOMRect(left - 1, top - 1, width + 2, height + 2) : rect, node)
    && !(node instanceof Element && negligible(node, rect));
};

// The element that keys go to, null if there is none. An element that is disabled or hidden loses
// the focus when the browser draws its next frame, which may be before or after a look at the
// page; here it has lost it at once.
export const focusedElement = () => {
  let element = document.activeElement;
  while (plain(element)?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const kept = element && element !== document.body && !plain(element).matches(":disabled")
    && plain(element).checkVisibility({ visibilityProperty: true });
  return kept ? element : null;
};

// The middle of a box inside `parent` when nothing is scrolled.
export const place = (rect, parent) => {
  let [x, y] = scrolled();
  x += rect.left + rect.width / 2;
  y += rect.top + rect.height / 2;
  for (let up = clipperFrom(parent); up; up = clipperOf(up)) {
    x += plain(up).scrollLeft;
    y += plain(up).scrollTop;
  }
  return [Math.round(x), Math.round(y)];
};

// Points in each line of a node: its middle, then others.
const LINES = NEW ? 50 : 1; // at most
export const samples = (node) => {
  const lines = [...plain(ranged(node)).getClientRects()].slice(0, LINES);
  const rects = lines.length ? lines.map(moved) : [extent(node)];
  return rects.flatMap(({ left, top, width, height }) => [[0.5, 0.5], [0.5, 0.25], [0.5, 0.75],
    [0.25, 0.5], [0.75, 0.5], [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]].map(([x, y]) =>
    [Math.floor(left + width * x), Math.floor(top + height * y)]));
};

// What a person aims at in an element: the texts for which its line of the tree stands.
export const aims = new WeakMap(); // element -> those texts
export const aimedAt = (node) => {
  const texts = (aims.get(node) ?? []).filter((text) => text.isConnected);
  return texts.length ? texts : [node];
};

// The part of a node's box that is in the viewport and in all boxes that scroll.
export const sighted = (node) => {
  let { left, top, right, bottom } = extent(node);
  const cut = (box) => {
    [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  };
  cut(viewport());
  for (let up = clipperOf(node); up; up = clipperOf(up)) cut(extent(up));
  return { left, top, right, bottom };
};

// True if a click on what is hit goes to an element: it is in the element, or in a label of it.
export const lands = (element, hit) => within(element, hit)
  || (NEW && !recorded && [...plain(element).labels ?? []].some((label) => within(label, hit)));

// A point at which a click lands on the element, its middle if possible; null if the
// element is out of sight or covered.
export const target = (node) => {
  const aimed = aims.has(node) && plain(node).matches("a, button") ? [...aimedAt(node), node] : aimedAt(node);
  for (const [x, y] of aimed.flatMap(samples).slice(0, 9 * LINES)) {
    if (lands(owner(node), hitAt(x, y))) return [x, y];
  }
  return null;
};

// The middle of the part of an element that is in sight; null if a click there does not land on it.
export const targetInSight = (node) => {
  const { left, top, right, bottom } = sighted(node);
  const [x, y] = [Math.floor((left + right) / 2), Math.floor((top + bottom) / 2)];
  return left < right && top < bottom && lands(owner(node), hitAt(x, y)) ? [x, y] : null;
};

/** @param {number[]} point */
export const inViewport = ([x, y]) => {
  const { left, top, right, bottom } = viewport();
  return x >= left && y >= top && x < right && y < bottom;
};
