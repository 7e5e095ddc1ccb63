// The film of an item: pictures of its steps, with marks where actions point.

const frameName = (frame) => (frame.action ? plain(frame.action.text)
  : frame.end ? frame.end.ending : frame.trial ? "stopped here" : "before the first trial");

const picture = (item, frame, small) => {
  if (!frame.picture) return null;
  const { name, size: [width, height], points, boxes } = frame.picture;
  if (!/^[0-9a-f]{16}\.png$/.test(name)) return null;
  const image = h("img", { src: `pictures/${name}`, width, height, loading: small && "lazy", decoding: "async",
    alt: small ? "" : `The page of ${item.task} ${frame.action ? `before ${plain(frame.action.text)}` : "at the end of the trial"}` });
  const marks = h("svg", { viewBox: `0 0 ${width} ${height}`, class: "marks", "aria-hidden": "true", focusable: "false" },
    boxes.map(([x, y, w, hh]) => ["under", "over"].map((layer) =>
      h("rect", { x: x - 1, y: y - 1, width: w + 2, height: hh + 2, rx: 2, class: layer }))),
    points.length > 1 ? ["under", "over"].map((layer) =>
      h("polyline", { points: points.map((point) => point.join(",")).join(" "), class: layer })) : null,
    points.map(([cx, cy], index) => [h("circle", { cx, cy, r: 3, class: "under" }),
      h("circle", { cx, cy, r: 1.8, class: index < points.length - 1 ? "dot from" : "dot" })]));
  const box = h("div", { class: small ? "picture small" : "picture" }, image, marks);
  box.style.setProperty("--width", width);
  box.style.setProperty("--height", height);
  if (!small && frame.action?.typed && (boxes.length || points.length)) {
    const [x, y, , hh] = boxes[0] ?? [points[0][0], points[0][1], 0, 4];
    const typed = h("span", { class: "typed" }, plain(frame.action.typed));
    typed.style.left = `${(100 * Math.max(0, x)) / width}%`;
    typed.style.top = `${(100 * (y + hh + 3)) / height}%`;
    box.append(typed);
  }
  return box;
};
