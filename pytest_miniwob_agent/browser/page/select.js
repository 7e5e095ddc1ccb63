// Selecting text, with the mouse or in a field with keys.

const Selecting = (() => {
  const { moved } = Frames;
  const { within, hitAt, owner, visible } = Sight;
  const { byId } = Leaves;
  const { aim, quote } = Aim;

  // Fields that hold text.
  const TEXTLESS = new Set(["button", "checkbox", "color", "file", "hidden", "image", "radio",
    "range", "reset", "submit"]);
  const isField = (element) => element instanceof HTMLTextAreaElement
    || (element instanceof HTMLInputElement && !TEXTLESS.has(element.type));

  // The visible letters of an element, without blanks, each with its position in its node.
  const letters = (root) => {
    const found = [];
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    let node = root instanceof Text ? root : nodes.nextNode();
    for (; node; node = nodes.nextNode()) {
      if (!visible(owner(node))) continue;
      [...node.data].reduce((offset, letter) => {
        if (letter.trim()) found.push({ node, offset, letter });
        return offset + letter.length;
      }, 0);
    }
    return found;
  };

  const edges = ({ node, offset, letter }) => {
    const range = document.createRange();
    range.setStart(node, offset);
    range.setEnd(node, offset + letter.length);
    const { left, right, top, height } =
      moved(range.getClientRects()[0] ?? range.getBoundingClientRect());
    const y = Math.floor(top + height / 2);
    return { start: [Math.ceil(left), y], end: [Math.floor(right), y] };
  };

  // The input that selects a text, or all of the element's text where `wanted` is null: the points
  // where the mouse starts and ends; in a field the point to click, the letters to skip and the
  // letters to take. An error is a text.
  const range = async (id, wanted) => {
    const aimed = await aim([[id, null]]);
    if (typeof aimed === "string") return aimed;
    const element = owner(byId.get(id));
    const text = wanted === null ? "text" : `text ${quote(wanted)}`;
    const missing = `the element with id=${id} has no ${text} that can be selected`;
    if (plain(element).disabled) return missing;
    if (isField(element)) {
      if (wanted === null) return { point: aimed[0] };
      const before = element.value.indexOf(wanted);
      if (!wanted || before < 0 || element.selectionStart === null) return missing;
      const count = (part) => [...new Intl.Segmenter().segment(part)].length;
      return { point: aimed[0], skip: count(element.value.slice(0, before)), take: count(wanted) };
    }
    const found = letters(byId.get(id));
    const part = (wanted ?? found.map(({ letter }) => letter).join("")).replace(/\s+/g, "");
    const sought = [...part];
    const first = found.findIndex((_, index) =>
      sought.every((letter, at) => found[index + at]?.letter === letter));
    const pressable = plain(element).closest("a, button, summary"); // the mouse would use or drag it
    if (!part || first < 0 || pressable || getComputedStyle(element).userSelect === "none") {
      return missing;
    }
    const { start } = edges(found[first]);
    const { end } = edges(found[first + sought.length - 1]);
    for (const [x, y] of [start, [end[0] - 1, end[1]]]) {
      if (!within(element, hitAt(x, y))) {
        return `the text to be selected in the element with id=${id} is not all in sight`;
      }
    }
    getSelection().removeAllRanges(); // a selection would be dragged
    return { start, end };
  };

  return { range };
})();
