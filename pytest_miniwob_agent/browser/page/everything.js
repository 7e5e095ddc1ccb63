// Everything that shows: the leaves with ids for texts too, and the boxes around them that can be
// seen or used; each with what a person sees of it beyond its text (`details`).

const Everything = (() => {
  const { outer } = Visit;
  const { agentOf } = Frames;
  const { body, childrenOf, parentOf, passed, folding, owner, extent, visible, place, target } = Sight;
  const { idOf, ignored, squeeze, copied, described } = Leaves;
  const { channels } = Colours;
  const { scrolls, FORMATS, beginning, facts } = Facts;
  const { look, telling } = Looks;
  const { marked } = PageClipboard;

  const FRAMED = "[contenteditable=true], .ui-draggable, .ui-droppable, [draggable=true]";
  const WHOLE_PAGE = new Set(["wrap", "area"]); // the task's area itself

  // True if an element has a background of its own, not nearly white, or a frame.
  const painted = (element) => {
    const style = getComputedStyle(element);
    const [red, green, blue, alpha] = channels(style.backgroundColor) ?? [0, 0, 0, 0];
    const sides = ["Top", "Right", "Bottom", "Left"];
    return (alpha > 0 && Math.min(red, green, blue) < 240)
      || sides.every((side) => parseFloat(style[`border${side}Width`]) > 0);
  };

  // True for a box that is of interest beside what shows in it: one that scrolls or can be used, a
  // button without text, or one that holds several things together.
  const framed = (element, found) => plain(element).matches(FRAMED) || scrolls(element)
    || (plain(element).matches("a, button") && !found.some(({ content }) => content))
    || (element instanceof SVGSVGElement && painted(element))
    || (found.length > 1 && !WHOLE_PAGE.has(plain(element).id)
      && !plain(element).matches("table, tbody, thead, tr") && painted(element));

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
  const gather = folding(function* (element) {
    if (!element || ignored(element)) return [];
    const inner = agentOf(element);
    if (inner) return entry(element, "").map((one) => ({ ...one, inner }));
    const closed = element instanceof HTMLSelectElement && !element.multiple && element.size < 2;
    if (closed || element instanceof HTMLTextAreaElement) return entry(element, "");
    if (element instanceof HTMLOptionElement) return entry(element, squeeze(element.text));
    const within = [];
    for (const node of childrenOf(element)) {
      if (node instanceof Element) within.push(yield node);
      else if (node instanceof Text && node.data.trim()) within.push(entry(node, squeeze(node.data)));
    }
    const found = within.flat();
    if (element === body() || passed(element)) return found;
    if (found.every(({ node }) => node instanceof Text)) {
      const { childElementCount, id } = plain(element);
      const leaf = found.length || (!childElementCount && !WHOLE_PAGE.has(id))
        || plain(element).matches("a, button, label") || framed(element, found) || painted(element);
      const parts = found.map(({ node }) =>
        (node.previousSibling instanceof Text ? "" : " ") + node.data);
      return leaf ? entry(element, squeeze(parts.join("")) || copied(element)) : [];
    }
    const drawing = found.every(({ node }) => owner(node) instanceof SVGElement);
    if (drawing && plain(element).matches("a, button")) {
      return entry(element, squeeze(found.map(({ content }) => content).join(" ")));
    }
    if (!framed(element, found)) return found;
    return [...entry(element, "").map((one) => ({ ...one, box: true })), ...found];
  });

  // A node's element and those around it that hold nothing else: a state or a colour may belong to
  // any.
  const shells = (node) => {
    const element = owner(node);
    const text = squeeze(plain(element).textContent);
    if (node !== element && squeeze(node.data) !== text) return [];
    const around = [element];
    for (let up = parentOf(element); up && up !== document.body; up = parentOf(up)) {
      const { textContent, childElementCount, id } = plain(up);
      if (squeeze(textContent) !== text || childElementCount > 1 || WHOLE_PAGE.has(id)) break;
      around.push(up);
    }
    return around;
  };

  // The page as a whole, if there is anything to say about it.
  const wholePage = () => {
    const { scrollTop, scrollHeight, clientHeight } = document.scrollingElement ?? {};
    const below = scrollHeight - clientHeight;
    const details = [
      ["state", Settle.moving ? "moving" : ""],
      ["scroll", below > 1 ? `${Math.round(scrollTop)} of ${below}` : ""],
      ["selected-text", squeeze(marked()).slice(0, 200)],
    ].filter(([, value]) => value);
    return details.length
      ? [{ id: null, tag: "page", text: "", x: 0, y: 0, point: null, details }] : [];
  };

  const everything = () => {
    const shown = gather(body()).map((one) => ({ ...one, around: shells(one.node) }));
    const looks = telling(shown.map(look));
    return (outer ? [] : wholePage()).concat(shown.flatMap(({ node, content, around, inner }, at) => {
      if (inner) return inner.shown();
      const basis = node instanceof Text
        ? { id: idOf(node), tag: "text", text: content, point: target(node) }
        : described(node, content);
      if (plain(node).type in FORMATS) basis.point = beginning(node);
      const [x, y] = place(extent(node), parentOf(node));
      const rest = facts(node, around, content).map(([name, value]) => [name, String(value ?? "")])
        .filter(([, value]) => value);
      const box = rest.pop();
      return { ...basis, x, y, details: [...rest, ...looks[at], box] };
    }));
  };

  return { line, gather, painted, wholePage, everything };
})();
