// Pictures: the part of the viewport that they have to show, and the boxes of elements in it.

import { plain } from "./world.js";
import { agentOf, agents } from "./frames.js";
import { frames } from "./settle.js";
import { body, extent, hitAt, parentOf, sighted, target, visible } from "./sight.js";
import { byId, ids, squeeze } from "./leaves.js";
import { channels } from "./looks.js";
import { covered, gather, inSight, line } from "./everything.js";

// The pointer, drawn for people who watch the window. It is not in the body, which is what is read,
// and lets all events through to the element below.
let arrow = null;
export const point = (x, y) => {
  if (!arrow) {
    arrow = document.createElement("miniwob-pointer");
    arrow.attachShadow({ mode: "closed" }).innerHTML = `<svg width="18" height="26" \
style="display: block" fill="#e11" stroke="#fff" stroke-width="1.5" stroke-linejoin="round">\
<path d="M1 1 L1 20 L5.5 16 L9 24 L12 22.5 L8.8 15 L15 15 Z"/></svg>`;
  }
  arrow.style = "all: initial; position: fixed; z-index: 2147483647; pointer-events: none; "
    + `left: ${x - 1}px; top: ${y - 1}px`;
  document.documentElement?.append(arrow);
};

// A box in whole pixels: left, top, width, height.
const whole = ({ left, top, right, bottom }) => {
  const [x, y] = [Math.floor(left), Math.floor(top)];
  return [x, y, Math.ceil(right) - x, Math.ceil(bottom) - y];
};

// The boxes of the innermost elements in sight, and of those at some points.
export const boxes = (points) => {
  const seen = [...byId.values()].filter((element) => element instanceof Element
    && plain(element).isConnected && visible(element)
    && target(element)
    && ![...plain(element).querySelectorAll("*")].some((inner) => ids.has(inner)));
  const at = points.flatMap(([x, y]) => {
    let hit = hitAt(x, y);
    const inner = agentOf(hit);
    if (inner) return inner.boxes([[x, y]]).at;
    while (hit && !ids.has(hit)) hit = parentOf(hit);
    return hit ? [whole(extent(hit))] : [];
  });
  return { seen: [...seen.map(extent).map(whole), ...agents().flatMap((inner) => inner.boxes([]).seen)], at };
};

// True for an element that shows nothing, such as the edge by which a dialog is resized.
const blank = (element) => {
  const used = "a, button, label, input, select, textarea, img, canvas, svg, video, "
    + "[contenteditable]";
  const known = plain(element);
  if (!(element instanceof HTMLElement) || known.matches(used) || known.querySelector(used)
    || squeeze(known.textContent)) return false;
  const style = getComputedStyle(element);
  const [, , , alpha] = channels(style.backgroundColor) ?? [0, 0, 0, 0];
  return !alpha && style.backgroundImage === "none" && style.content === "normal"
    && ["Top", "Right", "Bottom", "Left"].every((side) => !parseFloat(style[`border${side}Width`]))
    && ["::before", "::after"].every((part) => getComputedStyle(element, part).content === "none");
};

// The boxes of the elements with some ids that are in sight, and of all texts and drawings that
// show, which marks of the elements should not hide.
export const sights = (wanted) => {
  const seen = (node) => visible(node) && !covered(node) && !blank(node);
  const marks = wanted.map((id) => [id, byId.get(id)])
    .filter(([, node]) => node instanceof Element && plain(node).isConnected && inSight(node)
      && (line(node) || seen(node)))
    .map(([id, node]) => [id, whole(sighted(node))]);
  const texts = ({ node, content }) => {
    const alone = !content || node instanceof HTMLOptionElement || !(node instanceof HTMLElement);
    if (alone) return [node];
    const words = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    return Array.from({ length: 20 }, () => words.nextNode())
      .filter((word) => word?.data.trim());
  };
  const shown = gather(body()).filter(({ box, inner }) => !box && !inner).flatMap(texts)
    .filter(inSight).map(sighted).map(whole);
  const below = agents().map((inner) => inner.sights(wanted));
  return {
    marks: [...marks, ...below.flatMap((one) => one.marks)],
    shown: [...shown, ...below.flatMap((one) => one.shown)],
  };
};

// The size of a picture, which shows the task's area and all elements beyond it, the boxes of the
// elements at some points, and those of the elements with some ids.
export const view = async (page, points, wanted) => {
  arrow?.remove(); // it does not belong to the page, nor to a picture of it
  // On a busy machine the last drawing may be a frame behind, and a picture would show that.
  await frames(2);
  const { seen, at } = page.boxes(points);
  const right = Math.max(160, ...seen.map(([left, , width]) => left + width));
  const bottom = Math.max(210, ...seen.map(([, top, , height]) => top + height));
  const size = [Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
  return { size, boxes: at, ...(wanted.length ? page.sights(wanted) : { marks: [], shown: [] }) };
};
