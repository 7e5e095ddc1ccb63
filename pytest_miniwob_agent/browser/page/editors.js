// Elements that are edited as a whole, such as those of rich-text and code editors, and their text.

import { plain } from "./world.js";
import { body, childrenOf, folding, parentOf } from "./sight.js";

// True for the outermost element that can be edited.
export const edits = (element) => plain(element).isContentEditable
  && (element === body() || !plain(parentOf(element))?.isContentEditable);

const UNSEEN = /[\u200b\u2060\ufeff]/g; // which editors put where the caret could not stand otherwise

// True if all spaces are shown, as in code.
export const spaced = (element) =>
  /^(preserve|break-spaces)$/.test(getComputedStyle(element).whiteSpaceCollapse);

// The text of a node: as a string if it is in a line with others, else as a list of lines. Spaces
// that stay are U+00A0 until the end.
const flow = folding(function* (node) {
  if (node instanceof Text) {
    const text = node.data.replace(UNSEEN, "");
    return spaced(node.parentElement) ? text.replace(/[ \t]/g, "\u00a0") : text.replace(/[^\S\u00a0]+/g, " ");
  }
  if (!(node instanceof Element)) return "";
  if (plain(node).localName === "br") return "\n";
  const { display, visibility, pointerEvents } = getComputedStyle(node);
  if (display === "none" || visibility === "hidden" || pointerEvents === "none") return ""; // a placeholder
  const lines = [];
  let open = "";
  const end = () => {
    if (/[^ ]/.test(open)) lines.push(...open.replace(/\n *$/, "").split("\n"));
    open = "";
  };
  for (const child of childrenOf(node)) {
    const part = yield child;
    if (Array.isArray(part)) [end(), lines.push(...part)];
    else open += part;
  }
  if (!lines.length && /^(inline|contents|ruby)/.test(display)) return open;
  end();
  return lines;
});

// What is written in an element, with each block in lines of its own.
export const written = (element) => [flow(element)].flat()
  .map((text) => text.replace(/ +/g, " ").replace(/^ | $/g, "").replace(/\u00a0/g, " ")).join("\n");
