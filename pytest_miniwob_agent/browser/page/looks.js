// The looks of what shows: colours by the names that CSS has for them, size and style of text, and
// pictures as a coarse mosaic of what is drawn on them.

import { plain } from "./world.js";
import { owner } from "./sight.js";

const COLOUR_NAMES = `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond
blue blueviolet brown burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson
darkblue darkcyan darkgoldenrod darkgray darkgreen darkkhaki darkmagenta darkolivegreen darkorange
darkorchid darkred darksalmon darkseagreen darkslateblue darkslategray darkturquoise darkviolet
deeppink deepskyblue dimgray dodgerblue firebrick floralwhite forestgreen gainsboro ghostwhite gold
goldenrod gray green greenyellow honeydew hotpink indianred indigo ivory khaki lavender lavenderblush
lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow lightgray lightgreen
lightpink lightsalmon lightseagreen lightskyblue lightslategray lightsteelblue lightyellow lime
limegreen linen magenta maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen
mediumslateblue mediumspringgreen mediumturquoise mediumvioletred midnightblue mintcream mistyrose
moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen
paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple rebeccapurple red
rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue
slategray snow springgreen steelblue tan teal thistle tomato turquoise violet wheat white whitesmoke
yellow yellowgreen`.split(/\s+/);

// Red, green, blue and opacity of a computed colour; null for anything else, such as a gradient.
export const channels = (colour) => {
  const match = /^rgba?\(([^)]*)\)$/.exec(colour);
  if (!match) return null;
  const [red, green, blue, alpha = 1] = match[1].split(/[\s,/]+/).map(Number);
  return [red, green, blue, alpha];
};

const hexadecimal = (numbers) =>
  `#${numbers.map((number) => Math.round(number).toString(16).padStart(2, "0")).join("")}`;

let colourNames = null; // hexadecimal -> name
const colourName = (hex) => {
  if (!colourNames) {
    const pen = document.createElement("canvas").getContext("2d");
    colourNames = new Map(COLOUR_NAMES.map((name) => {
      pen.fillStyle = name;
      return [pen.fillStyle, name];
    }));
  }
  return colourNames.get(hex) ?? hex;
};

// A computed colour by its name, or in hexadecimal; empty if it can't be seen.
const colour = (computed) => {
  const found = channels(computed);
  if (!found || found[3] === 0) return "";
  const name = colourName(hexadecimal(found.slice(0, 3)));
  return found[3] < 1 ? `${name} ${Math.round(found[3] * 100)}%` : name;
};

const DRAWING = { least: 40, columns: 40, cell: 3 }; // pixels, letters, pixels
const MARKS = ["#", "o", "x"]; // for what is drawn: all of it, or further colours of large areas

// The colours of a picture's pixels at the size in which it is shown, in steps of 64; null where
// they can't be read.
const pixels = (element) => {
  const { width, height } = element.getBoundingClientRect();
  const [columns, rows] = [Math.round(width), Math.round(height)];
  if (Math.min(columns, rows) < DRAWING.least) return null;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  let data;
  try {
    pen.drawImage(element, 0, 0, columns, rows);
    ({ data } = pen.getImageData(0, 0, columns, rows));
  } catch {
    return null; // a broken picture, or one of another origin
  }
  const colours = Array.from({ length: columns * rows }, (_, at) => data[4 * at + 3] < 128 ? -1
    : (data[4 * at] >> 6 << 4) | (data[4 * at + 1] >> 6 << 2) | (data[4 * at + 2] >> 6));
  return { columns, rows, colours };
};

// The values of a list and how often each is in it, the most frequent first.
const frequencies = (values) => {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, left], [, right]) => right - left);
};

// Rows of letters with "/" between them: "." for the ground, "#" for what is drawn on it, other
// marks for further colours of large areas. Empty for a picture without a ground, such as a
// photograph.
export const drawing = (element) => {
  if (!(element instanceof HTMLCanvasElement || element instanceof HTMLImageElement)) return "";
  const image = pixels(element);
  if (!image) return "";
  const { columns, rows, colours } = image;
  const [[ground, share], ...others] = frequencies(colours);
  if (share < colours.length * 0.3 || !others.length) return "";
  const large = others.filter(([, count]) => count > colours.length * 0.08).map(([one]) => one);
  const mark = (colour) =>
    MARKS[large.length < MARKS.length ? Math.max(0, large.indexOf(colour)) : 0];
  const cell = Math.max(DRAWING.cell, Math.ceil(columns / DRAWING.columns));
  const letter = (left, top) => {
    const drawn = Array.from({ length: cell * cell }, (_, at) =>
      colours[(top + Math.floor(at / cell)) * columns + left + at % cell])
      .filter((one) => one !== ground);
    return drawn.length * 3 > cell * cell ? mark(frequencies(drawn)[0][0]) : ".";
  };
  return Array.from({ length: Math.floor(rows / cell) }, (_, row) =>
    Array.from({ length: Math.floor(columns / cell) }, (_, column) =>
      letter(column * cell, row * cell)).join("")).join("/");
};

// The look of a node: colours, size and style of its text.
export const look = ({ node, around, content, box }) => {
  const style = getComputedStyle(owner(node));
  if (node instanceof SVGGeometryElement) {
    const fill = node instanceof SVGLineElement ? "" : colour(style.fill);
    return { fill, stroke: colour(style.stroke) };
  }
  const drawn = node instanceof Text ? [] : around;
  const background = drawn.map((one) => colour(getComputedStyle(one).backgroundColor))
    .find(Boolean) ?? "";
  const control = plain(node).matches?.("input, select, textarea, button");
  if (!content && !control) return { [box ? "background" : "face"]: background };
  const { fontWeight, fontStyle, textDecorationLine, fontSize } = style;
  const drawnLines = ["underline", "line-through"].filter((name) =>
    textDecorationLine.includes(name)
    && !(name === "underline" && plain(owner(node)).closest("a")));
  return {
    background,
    color: node instanceof SVGElement ? colour(style.fill) : colour(style.color),
    ...(control ? {} : { size: Math.round(parseFloat(fontSize)) }),
    style: [Number(fontWeight) >= 600 ? "bold" : "", fontStyle === "italic" ? "italic" : "", ...drawnLines]
      .filter(Boolean).join(" "),
  };
};

// Leave out of the looks what does not tell one line from another: what all texts have in common,
// nearly white backgrounds and nearly black letters, the colour of links, and the most frequent
// size with those close to it. The background of what shows nothing else, its `face`, counts
// if any has a colour.
const PLAIN = {
  background: /^(white|whitesmoke|#[ef]\w[ef]\w[ef]\w)\b/,
  color: /^(black|#0000ee|#[0-5]\w[0-5]\w[0-5]\w)\b/,
};
export const telling = (looks) => {
  const values = (name) => looks.map((one) => one[name]).filter((value) => value !== undefined);
  const [usual] = frequencies(values("size"))[0] ?? [];
  const unusual = (size) => Math.max(size, usual) / Math.min(size, usual) >= 1.25;
  const uniform = ["background", "color", "style"].filter((name) => {
    const shown = values(name);
    return shown.length > 2 && shown.every((value) => value === shown[0]);
  });
  if (!values("face").some((face) => face && !PLAIN.background.test(face))) uniform.push("face");
  return looks.map((one) => Object.entries(one).filter(([name, value]) => value
    && !uniform.includes(name) && !PLAIN[name]?.test(value) && (name !== "size" || unusual(value)))
    .map(([name, value]) => [name === "face" ? "background" : name, String(value)]));
};
