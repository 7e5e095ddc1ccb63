// What is seen of a page, as a string: if it is another one later, the page moves, whatever its timers do.
// That is what is painted, and what readings tell beside that.

import { plain } from "./world.js";
import { agentOf } from "./frames.js";
import { body, childrenOf, focusedElement, owner, passed } from "./sight.js";

const LOOKS = ["backgroundColor", "backgroundImage", "backgroundPosition", "borderColor", "boxShadow",
  "clipPath", "color", "fill", "filter", "opacity", "stroke", "strokeDashoffset", "transform"];
const TELLING = /^(aria-.*|d|points)$/; // attributes

const drawn = (element) =>
  plain(element).checkVisibility({ opacityProperty: true, visibilityProperty: true });

// A number for the pixels of a canvas, 0 if they can't be read.
const digest = (canvas) => {
  const { width, height } = canvas;
  const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  let found = 0;
  try {
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, width, height);
    for (const pixel of new Uint32Array(data.buffer)) found = Math.imul(found, 31) + pixel | 0;
  } catch {
    return 0; // it is empty, or has a picture of another origin
  }
  return found;
};

const parts = (element) => {
  const known = plain(element);
  const { left, top, width, height } = known.getBoundingClientRect();
  const style = getComputedStyle(element);
  return [
    left, top, width, height, known.scrollLeft, known.scrollTop, known.tagName,
    known.value, known.checked, known.currentSrc, element === focusedElement(),
    ...known.getAttributeNames().filter((name) => TELLING.test(name)).map((name) => known.getAttribute(name)),
    ...LOOKS.map((name) => style[name]),
    element instanceof HTMLCanvasElement ? digest(element) : agentOf(element)?.seen(),
  ];
};

export const seen = () => {
  const found = [];
  /** @type {any[]} */
  const open = [body()];
  while (open.length) {
    const node = open.pop();
    if (node instanceof Element) {
      if (drawn(node)) found.push(...parts(node));
      open.push(...childrenOf(node).reverse());
    } else if (node instanceof Text && (drawn(owner(node)) || passed(owner(node)))) {
      found.push(node.data);
    }
  }
  return found.join("\n");
};
