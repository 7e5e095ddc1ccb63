// Frames that show pages of the same folder, on your own pages. Each document reads its own
// elements, in coordinates of the outermost one; clock, random numbers, ids and requests are those
// of the document around it.

import { Main, outer, own } from "./world.js";

// The functions of the document in a frame; null for any other element.
export const agentOf = (element) => {
  if (!(own || outer) || !/^i?frame$/i.test(element?.tagName)) return null;
  try {
    const agent = element.contentWindow?.miniwobAgent;
    return agent?.inside ? agent : null;
  } catch {
    return null; // of another origin
  }
};
const frames = () => own || outer ? [...document.querySelectorAll("iframe, frame")] : [];
// Have frames read in which no script may run, such as those of e-mails.
export const unseal = () => frames().filter((frame) => frame.hasAttribute("sandbox") && frame.srcdoc
  && !/allow-(same-origin|scripts)/i.test(frame.sandbox.value)).forEach((frame) => {
  frame.sandbox.add("allow-same-origin");
  frame.srcdoc = String(frame.srcdoc); // loads it anew
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
  const empty = page?.URL === "about:blank" && frame.src && !frame.src.startsWith("about:");
  const coming = empty ? new URL(frame.src).origin === location.origin
    : page?.readyState !== "complete";
  return page && coming && frame.loading !== "lazy"
    ? new Promise((resolve) => frame.addEventListener("load", resolve, { once: true })) : null;
}));

// Where this document begins in the outermost one, and how far it and those around it are
// scrolled.
export const offset = () => {
  if (!outer) return [0, 0];
  const [x, y] = outer.offset();
  const { left, top } = frameElement.getBoundingClientRect();
  return [x + left + frameElement.clientLeft, y + top + frameElement.clientTop];
};
export const scrolled = () => {
  const [x, y] = outer ? outer.scrolled() : [0, 0];
  return [x + scrollX, y + scrollY];
};
export const moved = (rect) => {
  if (!outer) return rect;
  const [x, y] = offset();
  return new DOMRect(rect.x + x, rect.y + y, rect.width, rect.height);
};

// The part of the viewport that this document has.
export const viewport = () => {
  if (!outer) return { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const around = outer.viewport();
  const [x, y] = offset();
  return {
    left: Math.max(around.left, x),
    top: Math.max(around.top, y),
    right: Math.min(around.right, x + innerWidth),
    bottom: Math.min(around.bottom, y + innerHeight),
  };
};

// True for a frame that shows nothing, as the browser can't show what it was to load, such as a PDF.
const unshown = (/** @type {any} */ { src, loading, contentDocument }) => src && !src.startsWith("about:")
  && loading !== "lazy" && contentDocument?.URL === "about:blank";

// Remark what on the page is not read, or uses real time.
export const survey = () => {
  for (const element of document.querySelectorAll("iframe, frame, object, embed, video, audio")) {
    if (agentOf(element) && !unshown(element)) continue;
    const name = element.tagName.toLowerCase();
    const sandbox = element.getAttribute("sandbox");
    const source = element.getAttribute("src") ?? element.getAttribute("data")
      ?? (sandbox === null ? "" : `sandbox="${sandbox}"`);
    Main.remark(`what is in the element <${name}> is not read, and does not go by the page's clock: `
      + source);
  }
};
