// Frames that show pages of the same folder, on your own pages. Each document reads its own
// elements, in coordinates of the outermost one; clock, random numbers, ids and requests are those
// of the document around it.

import { Main, outer, own, plain } from "./world.js";

const FRAMES = "iframe, frame, object, embed";

// The window in a frame.
const windowIn = (element) => {
  if (element.localName !== "embed") return element.contentWindow;
  return Array.from(window, (_, at) => window[at]).find((inner) => inner.frameElement === element);
};

// The functions of the document in a frame; null for any other element.
export const agentOf = (element) => {
  if (!(own || outer) || !(element instanceof Element) || !plain(element).matches(FRAMES)) return null;
  try {
    const agent = windowIn(element)?.miniwobAgent;
    return agent?.inside ? agent : null;
  } catch {
    return null; // of another origin
  }
};
const trees = (root) => [root, ...[...root.querySelectorAll("*")].flatMap((element) => {
  const { shadowRoot } = plain(element);
  return shadowRoot ? trees(shadowRoot) : [];
})];
const frames = () => own || outer ? trees(document).flatMap((root) => [...root.querySelectorAll(FRAMES)]) : [];
// Have frames read in which no script may run, such as those of e-mails. They load anew, for which an app
// would be asked again.
const sealed = (frame) => frame.hasAttribute("sandbox") && !/allow-(same-origin|scripts)/i.test(frame.sandbox.value);
const ownFile = ({ src }) => !Constants.APP && src && new URL(src).origin === location.origin;
export const unseal = () => frames().filter(sealed).forEach((frame) => {
  const source = frame.srcdoc ? "srcdoc" : "src";
  if (source === "src" && !ownFile(frame)) return;
  frame.sandbox.add("allow-same-origin");
  frame[source] = String(frame[source]); // loads it anew
});
export const agents = () => frames().map(agentOf).filter(Boolean);

// Wait for pages of the folder that frames are loading.
export const arrived = () => Promise.all(frames().map((frame) => {
  let page = null;
  try {
    page = frame.contentDocument;
  } catch {
    return null;
  }
  const source = frame.src ?? frame.data;
  const empty = page?.URL === "about:blank" && source && !source.startsWith("about:");
  const coming = empty ? new URL(source).origin === location.origin
    : page?.readyState !== "complete";
  return page && coming && frame.loading !== "lazy"
    ? new Promise((resolve) => frame.addEventListener("load", resolve, { once: true })) : null;
}));

// How an element and the boxes around it turn, mirror and stretch what is in it.
const turned = (element) => {
  let all = new DOMMatrix();
  for (let up = element; up; up = up.assignedSlot ?? up.parentElement ?? up.getRootNode().host) {
    const { rotate, scale, transform } = getComputedStyle(up);
    const each = [rotate.replace(/^(?:([xyz]) )?(\S+deg)$/, "rotate$1($2)"),
      scale === "none" ? scale : `scale(${scale.split(" ").slice(0, 2)})`, transform];
    const { a, b, c, d } = each.reduce((one, other) => one.multiply(new DOMMatrix(other)), new DOMMatrix());
    all = new DOMMatrix([a, b, c, d, 0, 0]).multiply(all);
  }
  return all;
};

// From this document's coordinates to those of the outermost one. The middle of a box stays its middle,
// however it is turned. It is worked out once within a task of the browser, as the page does not change.
const HERE = new DOMMatrix();
let known = null;
export const placement = () => {
  if (!outer) return HERE;
  if (!known) queueMicrotask(() => { known = null; });
  return known ??= placed();
};
const placed = () => {
  const { left, top, width, height } = frameElement.getBoundingClientRect();
  const { offsetWidth, offsetHeight, clientLeft, clientTop } = frameElement;
  const { paddingLeft, paddingTop } = getComputedStyle(frameElement);
  const turn = turned(frameElement);
  const zoom = width / (Math.abs(turn.a) * offsetWidth + Math.abs(turn.c) * offsetHeight) || 1;
  return new DOMMatrix(outer.placement()).translate(left + width / 2, top + height / 2).multiply(turn)
    .scale(zoom).translate(clientLeft + parseFloat(paddingLeft) - offsetWidth / 2,
      clientTop + parseFloat(paddingTop) - offsetHeight / 2);
};
export const scrolled = () => {
  const [x, y] = outer ? outer.scrolled() : [0, 0];
  return [x + scrollX, y + scrollY];
};

// A box of this document in the outermost one.
export const moved = (rect) => {
  if (!outer) return rect;
  const { left, top, right, bottom } = rect;
  const way = placement();
  const [xs, ys] = [[left, top], [right, top], [left, bottom], [right, bottom]]
    .map(([x, y]) => way.transformPoint({ x, y }))
    .reduce(([all, also], { x, y }) => [[...all, x], [...also, y]], [[], []]);
  const [first, upper] = [Math.min(...xs), Math.min(...ys)];
  return new DOMRect(first, upper, Math.max(...xs) - first, Math.max(...ys) - upper);
};

// The part of the viewport that this document has.
export const viewport = () => {
  const whole = moved(new DOMRect(0, 0, innerWidth, innerHeight));
  const around = outer ? outer.viewport() : whole;
  return {
    left: Math.max(around.left, whole.left),
    top: Math.max(around.top, whole.top),
    right: Math.min(around.right, whole.right),
    bottom: Math.min(around.bottom, whole.bottom),
  };
};

// True for a frame that shows nothing, as the browser can't show what it was to load, such as a PDF.
const unshown = (/** @type {any} */ { src, loading, contentDocument }) => src && !src.startsWith("about:")
  && loading !== "lazy" && contentDocument?.URL === "about:blank";

// Remark what on the page is not read, or uses real time.
export const survey = () => {
  for (const element of document.querySelectorAll(`${FRAMES}, video, audio`)) {
    if (agentOf(element) && !unshown(element)) continue;
    const name = element.tagName.toLowerCase();
    const sandbox = element.getAttribute("sandbox");
    const source = element.getAttribute("src") ?? element.getAttribute("data")
      ?? (sandbox === null ? "" : `sandbox="${sandbox}"`);
    Main.remark(`what is in the element <${name}> is not read, and does not go by the page's clock: `
      + source);
  }
};
