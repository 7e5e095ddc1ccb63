// What changes on the page while time passes, as a person would see it: light that goes on and off.

const Changes = (() => {
  const { body, childrenOf, owner, parentOf, shows } = Sight;
  const { ignored, squeeze } = Leaves;
  const { everything } = Everything;
  const { tree } = Tree;

  const WATCH = 50; // ms between two looks
  const MOST_CHANGES = 40;
  const changes = []; // lines for the next reading

  // The attributes by which an element is seen to change; places are not among them.
  const FLEETING = new Set(["background", "fill", "stroke", "color", "image", "name", "value"]);
  const signature = ({ tag, text, classes, value, details }) => new Map([
    ["tag", tag], ["class", classes ?? ""], ["value", String(value ?? "")], ["text", text],
    ...details.filter(([name]) => FLEETING.has(name)),
  ]);
  const signatures = () => new Map((Visit.tree ? tree() : everything()).filter(({ id }) => id !== null)
    .map((line) => [line.id, signature(line)]));

  const changed = (before, after) => {
    if (!after) return [["gone", before.get("tag")]];
    if (!before) return [["new", after.get("tag")], ...[...after].slice(1)];
    return [...new Set([...before.keys(), ...after.keys()])]
      .filter((name) => before.get(name) !== after.get(name))
      .map((name) => [name, after.get(name) || "none"]);
  };

  // Returns a function that notes what has changed since it was last called.
  const watchChanges = () => {
    const began = Main.time();
    let before = signatures();
    return () => {
      const after = signatures();
      for (const id of new Set([...before.keys(), ...after.keys()])) {
        const details = changed(before.get(id), after.get(id)).filter(([, value]) => value);
        if (!details.length) continue;
        const head = [["at", `${(Main.time() - began) / 1000} s`], ["of", `id=${id}`]];
        changes.push({ id: null, tag: "change", text: "", x: 0, y: 0, point: null,
          details: [...head, ...details], ...(Visit.tree && { role: "change" }) });
      }
      before = after;
    };
  };

  // The texts that show, by their elements, in their order.
  const words = () => {
    const [found, open] = [new Map(), [body()]];
    while (open.length) {
      const node = open.pop();
      if (node instanceof Element && !ignored(node)) open.push(...childrenOf(node).reverse());
      if (!(node instanceof Text) || !node.data.trim() || !shows(owner(node))) continue;
      found.set(owner(node), `${found.get(owner(node)) ?? ""} ${node.data}`);
    }
    return found;
  };

  // Note which texts show at a moment between two readings of an own page.
  let before = new Map();
  const fleeting = new Map(); // element -> text
  const glance = () => {
    if (!Visit.own) return;
    words().forEach((text, element) => {
      if (!before.has(element)) fleeting.set(element, text);
    });
  };

  // What such moments showed that neither reading shows, as lines: a text for all that went together.
  const gone = () => {
    const texts = new Map();
    before = words();
    fleeting.forEach((text, element) => {
      if (before.has(element)) return;
      let whole = element;
      for (let up = parentOf(whole); up && !shows(up); up = parentOf(up)) whole = up;
      texts.set(whole, `${texts.get(whole) ?? ""} ${text}`);
    });
    fleeting.clear();
    return [...texts.values()].map((text) => ({ id: null, tag: "change", text: squeeze(text),
      x: 0, y: 0, point: null, details: [["state", "came and went"]] }));
  };

  // The changes since the last reading, the latest where there are many.
  const takeChanges = () => {
    if (Visit.own) changes.push(...gone());
    return changes.splice(0).slice(-MOST_CHANGES);
  };

  return { WATCH, glance, watchChanges, takeChanges };
})();
