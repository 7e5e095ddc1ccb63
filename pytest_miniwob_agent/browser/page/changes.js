// What changes on the page while time passes, as a person would see it: light that goes on and off.

const Changes = (() => {
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

  // The changes since the last reading, the latest where there are many.
  const takeChanges = () => changes.splice(0).slice(-MOST_CHANGES);

  return { WATCH, watchChanges, takeChanges };
})();
