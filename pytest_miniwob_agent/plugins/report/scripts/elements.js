// Elements and strings. All text of pages and models is put into text nodes, never into markup: `h` is the
// only way in which elements are made.
"use strict";

const Elements = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SHAPES = new Set(["svg", "path", "line", "circle", "rect", "polyline", "polygon", "text", "g"]);

  // An element with attributes, listeners (`onclick`) and children; strings become text nodes.
  const h = (tag, attributes, ...children) => {
    const node = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...some(children));
    return node;
  };
  const some = (children) => children.flat(Infinity).filter((child) => (child ?? false) !== false);

  // Characters that don't show, halves of one, and those that turn the order of others around, are
  // written out; the five at the end are letters that are blank.
  const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;
  const code = (char) => `[U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  const plain = (text) => String(text).replace(HIDDEN, code);

  const $ = (id) => document.getElementById(id);
  const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
  const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  const percent = (part, whole) => (whole ? `${Math.round((1000 * part) / whole) / 10}%` : "–");
  const say = (text) => { $("said").textContent = text; };

  return { h, some, plain, $, count, counted, percent, say };
})();
