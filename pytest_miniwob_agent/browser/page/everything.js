// Everything that shows: the leaves with ids for texts too, and the boxes around them that can be
// seen or used; each with what a person sees of it beyond its text (`details`).

const FRAMED = "[contenteditable=true], .ui-draggable, .ui-droppable, [draggable=true]";
const WHOLE_PAGE = new Set(["wrap", "area"]); // the task's area itself

const scrolls = (element) => {
  if (element instanceof HTMLSelectElement) return element.scrollHeight > element.clientHeight + 1;
  const { overflowX, overflowY } = getComputedStyle(element);
  return (element.scrollHeight > element.clientHeight + 1 && /auto|scroll/.test(overflowY))
    || (element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(overflowX));
};

// True if an element has a background of its own, not nearly white, or a frame.
const painted = (element) => {
  const style = getComputedStyle(element);
  const [red, green, blue, alpha] = channels(style.backgroundColor) ?? [0, 0, 0, 0];
  const sides = ["Top", "Right", "Bottom", "Left"];
  return (alpha > 0 && Math.min(red, green, blue) < 240)
    || sides.every((side) => parseFloat(style[`border${side}Width`]) > 0);
};

// True for a box that is of interest beside what shows in it: one that scrolls or can be used, a button
// without text, or one that holds several things together.
const framed = (element, found) => element.matches(FRAMED) || scrolls(element)
  || (element.matches("a, button") && !found.some(({ content }) => content))
  || (element instanceof SVGSVGElement && painted(element)) || (found.length > 1 && !WHOLE_PAGE.has(element.id) && !element.matches("table, tbody, thead, tr")
    && painted(element));

// An SVG line has no height, or no width.
const line = (node) => node instanceof SVGGeometryElement
  && node.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  && getComputedStyle(node).stroke !== "none";
const entry = (node, content) => {
  const { width, height } = extent(node);
  const seen = line(node) ? Math.max(width, height) > 1
    : Math.min(width, height) > 1 && visible(node);
  return seen ? [{ node, content, box: false }] : [];
};

// What shows in an element, or the element itself if nothing in it does.
const gather = (element) => {
  if (ignored(element)) return [];
  const closed = element instanceof HTMLSelectElement && !element.multiple && element.size < 2;
  if (closed || element instanceof HTMLTextAreaElement) return entry(element, "");
  if (element instanceof HTMLOptionElement) return entry(element, squeeze(element.text));
  const found = [...element.childNodes].flatMap((node) => {
    if (node instanceof Element) return gather(node);
    return node instanceof Text && node.data.trim() ? entry(node, squeeze(node.data)) : [];
  });
  if (element === document.body) return found;
  if (found.every(({ node }) => node instanceof Text)) {
    const leaf = found.length || (!element.childElementCount && !WHOLE_PAGE.has(element.id))
      || element.matches("a, button, label") || framed(element, found) || painted(element);
    const parts = found.map(({ node }) =>
      (node.previousSibling instanceof Text ? "" : " ") + node.data);
    return leaf ? entry(element, squeeze(parts.join(""))) : [];
  }
  const drawing = found.every(({ node }) => node instanceof SVGElement);
  if (drawing && element.matches("a, button")) return entry(element, "");
  if (!framed(element, found)) return found;
  return [...entry(element, "").map((one) => ({ ...one, box: true })), ...found];
};

// A node's element and those around it that hold nothing else: a state or a colour may belong to any.
const shells = (node) => {
  const element = owner(node);
  if (node !== element && squeeze(node.data) !== squeeze(element.textContent)) return [];
  const around = [element];
  for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
    if (squeeze(up.textContent) !== squeeze(element.textContent)) break;
    if (up.childElementCount > 1 || WHOLE_PAGE.has(up.id)) break;
    around.push(up);
  }
  return around;
};

const attribute = (around, name) => {
  for (const element of around) {
    const value = element.getAttribute(name);
    if (value) return squeeze(value);
  }
  return "";
};

// The part of a node's box that is in the viewport and in all boxes that scroll.
const sighted = (node) => {
  let { left, top, right, bottom } = extent(node);
  const cut = (box) => {
    [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  };
  cut({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  for (let up = node.parentElement; up && up !== document.body; up = up.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(up);
    if (overflowX !== "visible" || overflowY !== "visible") cut(up.getBoundingClientRect());
  }
  return { left, top, right, bottom };
};

// True if a part of a node is in sight, or all of it where it is smaller than a pixel.
const inSight = (node) => {
  const { left, top, right, bottom } = sighted(node);
  const { width, height } = extent(node);
  return right - left >= Math.min(1, width) && bottom - top >= Math.min(1, height);
};

// True if other elements lie over all of a node.
const covered = (node) => samples(node).every(([x, y]) => {
  const hit = document.elementFromPoint(x, y);
  return hit && !owner(node).contains(hit) && !hit.contains(owner(node));
});

const states = (node, around) => {
  const element = owner(node);
  const aria = (name, yes, no = "") =>
    ({ true: yes, false: no })[attribute(around, `aria-${name}`)] ?? "";
  const current = attribute(around, "aria-current");
  const readOnly = (node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement)
    && node.readOnly;
  return [
    element.matches(":disabled") || aria("disabled", "disabled") ? "disabled" : "",
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

// The name by which assistive technology calls an element without text.
const accessibleName = (element, around) => {
  const labels = attribute(around, "aria-labelledby").split(" ")
    .map((id) => squeeze(document.getElementById(id)?.textContent ?? "")).join(" ").trim();
  return labels || attribute(around, "aria-label") || attribute(around, "alt")
    || attribute(around, "title") || squeeze(element.querySelector("title")?.textContent ?? "");
};

// The last part of the address of an image.
const pictured = (element) => {
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
  const matrix = element.getScreenCTM?.();
  const found = matrix ? lists[element.tagName.toLowerCase()]?.() ?? [] : [];
  return found.map(([x, y]) => {
    const point = new DOMPoint(x, y).matrixTransform(matrix);
    return [Math.round(point.x), Math.round(point.y)];
  });
};

// Least, greatest and step of a slider or a field for numbers, and the value of jQuery UI's slider.
const limits = (element) => {
  const slider = element.closest(".ui-slider");
  const handle = slider ? [...slider.querySelectorAll(".ui-slider-handle")].indexOf(element) : -1;
  const options = handle < 0 ? null : window.jQuery?.(slider).slider("instance")?.options;
  if (options) {
    return [["value", options.values?.[handle] ?? options.value],
      ["minimum", options.min], ["maximum", options.max], ["step", options.step]];
  }
  const own = (...names) => names.map((name) => element.getAttribute(name)).find(Boolean) ?? "";
  return [["minimum", own("min", "aria-valuemin")], ["maximum", own("max", "aria-valuemax")],
    ["step", own("step")]];
};

// A point in the first part of a field that has parts: typing goes on from the part that was clicked.
const beginning = (field) => {
  const { left, top, height } = field.getBoundingClientRect();
  const point = [Math.ceil(left) + 8, Math.floor(top + height / 2)];
  return document.elementFromPoint(...point) === field ? point : target(field);
};

const FORMATS = { date: "MM/DD/YYYY", time: "HH:MMAM" };

const MOST_OPTIONS = 100;
const choices = (element) => {
  if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) return "";
  const names = [...element.options].filter((option) => !option.matches(":disabled"))
    .map((option) => squeeze(option.text));
  const more = names.length - MOST_OPTIONS;
  return names.slice(0, MOST_OPTIONS).join(" | ") + (more > 0 ? ` | and ${more} more` : "");
};

const scrolled = (element) => {
  if (!scrolls(element)) return [];
  const [down, right] = [element.scrollHeight - element.clientHeight,
    element.scrollWidth - element.clientWidth];
  return [["scroll", down > 1 ? `${Math.round(element.scrollTop)} of ${down}` : ""],
    ["scroll-right", right > 1 ? `${Math.round(element.scrollLeft)} of ${right}` : ""]];
};

// The look of a node: colours, size and style of its text.
const look = ({ node, around, content, box }) => {
  const style = getComputedStyle(owner(node));
  if (node instanceof SVGGeometryElement) {
    const fill = node instanceof SVGLineElement ? "" : colour(style.fill);
    return { fill, stroke: colour(style.stroke) };
  }
  const drawn = node instanceof Text ? [] : around;
  const background = drawn.map((one) => colour(getComputedStyle(one).backgroundColor))
    .find(Boolean) ?? "";
  const control = node.matches?.("input, select, textarea, button");
  if (!content && !control) return { [box ? "background" : "face"]: background };
  const { fontWeight, fontStyle, textDecorationLine, fontSize } = style;
  const drawnLines = ["underline", "line-through"].filter((name) =>
    textDecorationLine.includes(name) && !(name === "underline" && owner(node).closest("a")));
  return {
    background,
    color: node instanceof SVGElement ? colour(style.fill) : colour(style.color),
    ...(control ? {} : { size: Math.round(parseFloat(fontSize)) }),
    style: [fontWeight >= 600 ? "bold" : "", fontStyle === "italic" ? "italic" : "", ...drawnLines]
      .filter(Boolean).join(" "),
  };
};

const boxed = (node) => {
  const { left, top, width, height } = extent(node);
  return [left, top, width, height].map(Math.round).join(",");
};

// All details of a node but its look, in the order in which they are shown.
const facts = (node, around, content) => {
  if (node instanceof Text) return [["state", states(node, around)], ["box", boxed(node)]];
  const name = content ? "" : accessibleName(node, around);
  const points = corners(node);
  const few = points.length <= MOST_CORNERS ? points.map(String).join(" ") : "";
  return [
    ["dom-id", node.id],
    ["name", name],
    ["image", pictured(node)],
    ["format", FORMATS[node.type] ?? ""],
    ["options", choices(node)],
    ...limits(node),
    ["state", states(node, around)],
    ...scrolled(node),
    ["corners", node.tagName === "polygon" ? points.length : ""],
    ["points", few],
    ["drawing", name ? "" : drawing(node)],
    ["box", boxed(node)],
  ];
};

// Leave out of the looks what does not tell one line from another: what all texts have in common,
// nearly white backgrounds and nearly black letters, the colour of links, and the most frequent size
// with those close to it. The background of what shows nothing else, its `face`, counts where any has
// a colour.
const PLAIN = {
  background: /^(white|whitesmoke|#[ef]\w[ef]\w[ef]\w)\b/,
  color: /^(black|#0000ee|#[0-5]\w[0-5]\w[0-5]\w)\b/,
};
const telling = (looks) => {
  const values = (name) => looks.map((one) => one[name]).filter((value) => value !== undefined);
  const counts = values("size").reduce((sum, size) =>
    sum.set(size, (sum.get(size) ?? 0) + 1), new Map());
  const [usual] = [...counts].sort(([, left], [, right]) => right - left)[0] ?? [];
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

// The page as a whole, if there is anything to say about it.
const wholePage = () => {
  const { scrollTop, scrollHeight, clientHeight } = document.scrollingElement;
  const below = scrollHeight - clientHeight;
  const details = [
    ["state", moving ? "moving" : ""],
    ["scroll", below > 1 ? `${Math.round(scrollTop)} of ${below}` : ""],
    ["selected-text", squeeze(marked()).slice(0, 200)],
  ].filter(([, value]) => value);
  return details.length
    ? [{ id: null, tag: "page", text: "", x: 0, y: 0, point: null, details }] : [];
};

const everything = () => {
  const shown = gather(document.body).map((one) => ({ ...one, around: shells(one.node) }));
  const looks = telling(shown.map(look));
  return wholePage().concat(shown.map(({ node, content, around }, at) => {
    const basis = node instanceof Text
      ? { id: idOf(node), tag: "text", text: content, point: target(node) }
      : described(node, content);
    if (node.type in FORMATS) basis.point = beginning(node);
    const [x, y] = place(extent(node), node.parentElement);
    const rest = facts(node, around, content).map(([name, value]) => [name, String(value ?? "")])
      .filter(([, value]) => value);
    const box = rest.pop();
    return { ...basis, x, y, details: [...rest, ...looks[at], box] };
  }));
};
