// The goal of a page with core.js as text, with the pictures in it.

const Goal = (() => {
  const { inCore } = Main;
  const { folding, visible } = Sight;
  const { IGNORED_TAGS, squeeze } = Leaves;
  const { accessibleName, pictured } = Facts;
  const { look } = Looks;
  const { escape } = Html;

  // A picture in the goal, as a line of the screen.
  const pictureInGoal = (element) => {
    const detailed = Visit.full;
    const known = plain(element);
    const attributes = [["class", squeeze(known.getAttribute("class") ?? "")
      || (detailed ? "" : known.id)]];
    if (detailed) {
      attributes.push(["dom-id", known.id], ["name", accessibleName(element, [element])],
        ["image", pictured(element)],
        ...Object.entries(look({ node: element, around: [element], content: "", box: true })));
    }
    const tag = known.tagName.toLowerCase();
    const shown = attributes.filter(([, value]) => value)
      .map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
    return `<${tag}${shown}>`;
  };

  const worded = folding(function* (node) {
    if (node instanceof Text) return node.data;
    if (!(node instanceof Element)) return "";
    const { childNodes, tagName } = plain(node);
    if (childNodes.length) {
      let words = "";
      for (const inner of childNodes) words += yield inner;
      return words;
    }
    return IGNORED_TAGS.has(tagName.toLowerCase()) || !visible(node) ? ""
      : pictureInGoal(node);
  });

  // The page's own words for the goal. Where they are the text of #query, leaves of it that show
  // something other than text are added.
  const goal = () => {
    const words = Main.words();
    const query = document.getElementById("query");
    if (!query || squeeze(query.textContent) !== words) return words;
    return squeeze(worded(query));
  };

  // The goal in the page's words; that of the trial's first page where a page has none.
  const goalNow = () => {
    if (!Visit.own) return goal();
    if (inCore() && document.getElementById("query")) Visit.goal = goal();
    if (!Visit.goal && Visit.seed !== null) {
      throw new Fault("it has no goal: core.js expects it in an element with the id query");
    }
    return squeeze(Visit.goal);
  };

  return { goalNow };
})();
