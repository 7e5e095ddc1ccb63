// The goal of a page with core.js as text, with the pictures in it.

const Goal = (() => {
  const { inCore } = Main;
  const { visible } = Sight;
  const { IGNORED_TAGS, squeeze } = Leaves;
  const { accessibleName, pictured } = Facts;
  const { look } = Looks;
  const { escape } = Html;

  // A picture in the goal, as a line of the screen.
  const pictureInGoal = (element, detailed) => {
    const attributes = [["class", squeeze(element.getAttribute("class") ?? "")
      || (detailed ? "" : element.id)]];
    if (detailed) {
      attributes.push(["dom-id", element.id], ["name", accessibleName(element, [element])],
        ["image", pictured(element)],
        ...Object.entries(look({ node: element, around: [element], content: "", box: true })));
    }
    const tag = element.tagName.toLowerCase();
    const shown = attributes.filter(([, value]) => value)
      .map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
    return `<${tag}${shown}>`;
  };

  const worded = (node, detailed) => {
    if (node instanceof Text) return node.data;
    if (!(node instanceof Element)) return "";
    if (node.childNodes.length) {
      return [...node.childNodes].map((inner) => worded(inner, detailed)).join("");
    }
    return IGNORED_TAGS.has(node.tagName.toLowerCase()) || !visible(node) ? ""
      : pictureInGoal(node, detailed);
  };

  // The page's own words for the goal. Where they are the text of #query, leaves of it that show
  // something other than text are added.
  const goal = (detailed) => {
    const words = Main.words();
    const query = document.getElementById("query");
    if (!query || squeeze(query.textContent) !== words) return words;
    return squeeze(worded(query, detailed));
  };

  // The goal in the page's words; that of the trial's first page where a page has none.
  const goalNow = () => {
    if (!Visit.own) return goal(Visit.full);
    if (inCore() && document.getElementById("query")) Visit.goal = goal(Visit.full);
    if (!Visit.goal && Visit.seed !== null) {
      throw new Fault("it has no goal: core.js expects it in an element with the id query");
    }
    return squeeze(Visit.goal);
  };

  return { goalNow };
})();
