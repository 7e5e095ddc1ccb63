// The looks of what shows: colours, size and style of text, as far as they tell one line from
// another.

const Looks = (() => {
  const { owner } = Sight;
  const { colour } = Colours;

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
    const control = plain(node).matches?.("input, select, textarea, button");
    if (!content && !control) return { [box ? "background" : "face"]: background };
    const { fontWeight, fontStyle, textDecorationLine, fontSize } = style;
    const drawnLines = ["underline", "line-through"].filter((name) =>
      textDecorationLine.includes(name)
      && !(name === "underline" && plain(owner(node)).closest("a")));
    return {
      background,
      color: node instanceof SVGElement ? colour(style.fill) : colour(style.color),
      ...(control ? {} : { size: Math.round(parseFloat(fontSize)) }),
      style: [fontWeight >= 600 ? "bold" : "", fontStyle === "italic" ? "italic" : "", ...drawnLines]
        .filter(Boolean).join(" "),
    };
  };

  // Leave out of the looks what does not tell one line from another: what all texts have in common,
  // nearly white backgrounds and nearly black letters, the colour of links, and the most frequent
  // size with those close to it. The background of what shows nothing else, its `face`, counts
  // where any has a colour.
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

  return { look, telling };
})();
