// The film of an item: pictures of its steps, with marks where actions point.
"use strict";

const Film = (() => {
  const { h, plain, counted } = Elements;
  const { link } = Items;

  const frameName = (frame) => (frame.action ? plain(frame.action.text)
    : frame.end ? frame.end.ending : frame.trial ? "stopped here" : "before the first trial");

  const WINDOW = [160, 210]; // of a frame in the strip, which shows a part of a larger page
  const LABEL = 40; // the height up to which an element is little more than its label

  // Each mark is drawn twice, with a light edge, so that it shows on any page.
  const twice = (tag, attributes) => ["under", "over"].map((layer) => h(tag, { ...attributes, class: layer }));

  // An arrow outside of a box that points at its edge, at a side where the picture has room for it. The
  // label stays legible, which a mark at the point itself would cover.
  const arrowAt = ([x, y], [left, top, width, height], [right, bottom], sides) => {
    const shapes = {
      right: [left + width + 8 <= right, [[left + width + 2, y], [left + width + 8, y - 4], [left + width + 8, y + 4]]],
      left: [left >= 8, [[left - 2, y], [left - 8, y - 4], [left - 8, y + 4]]],
      below: [top + height + 8 <= bottom, [[x, top + height + 2], [x - 4, top + height + 8], [x + 4, top + height + 8]]],
      above: [top >= 8, [[x, top - 2], [x - 4, top - 8], [x + 4, top - 8]]],
    };
    const side = sides.find((name) => shapes[name][0]);
    return side ? twice("polygon", { points: shapes[side][1].map((corner) => corner.join(",")).join(" ") }) : null;
  };

  // A ring at the point itself, where it covers no label: in a large element, or in one without text.
  const pointMark = (point, box, size, { typed, labelled } = {}) => {
    const [x, y] = point;
    const ring = twice("circle", { cx: x, cy: y, r: 4 });
    if (!box || !labelled || box[3] > LABEL) return ring;
    const middle = Math.abs(x - box[0] - box[2] / 2) <= 2;
    // What is typed is shown below the box. Beside the middle, a second arrow shows how far.
    return [arrowAt(point, box, size, typed ? ["right", "left", "above"] : ["right", "left", "below", "above"]) ?? ring,
      middle ? null : arrowAt(point, box, size, typed ? ["above"] : ["below", "above"])];
  };

  const marks = ({ size, points, boxes }, action) => {
    const around = (point) => boxes.find(([x, y, width, height]) =>
      point[0] >= x && point[0] <= x + width && point[1] >= y && point[1] <= y + height);
    return h("svg", { viewBox: `0 0 ${size.join(" ")}`, class: "marks", "aria-hidden": "true", focusable: "false" },
      boxes.map(([x, y, width, height]) => twice("rect", { x: x - 1, y: y - 1, width: width + 2, height: height + 2, rx: 2 })),
      points.length > 1
        ? [twice("polyline", { points: points.map((point) => point.join(",")).join(" ") }),
          twice("circle", { cx: points[0][0], cy: points[0][1], r: 3 }),
          h("circle", { cx: points.at(-1)[0], cy: points.at(-1)[1], r: 2.5, class: "dot" })]
        : points.map((point) => pointMark(point, around(point), size, action)));
  };

  // A page's picture: at its own size or in whole multiples, so that its pixels stay sharp. A small one
  // shows the part of the page where the action points.
  const picture = (item, frame, small) => {
    if (!frame.picture) return null;
    const { name, size: [width, height], points, boxes } = frame.picture;
    if (!/^[0-9a-f]{16}\.png$/.test(name)) return null;
    const image = h("img", { src: `pictures/${name}`, width, height, loading: small && "lazy", decoding: "async",
      alt: small ? "" : `The page of ${item.task} ${frame.action ? `before ${plain(frame.action.text)}` : "at the end of the trial"}` });
    const typed = !small && frame.action?.typed && (boxes.length || points.length) ? frame.action.typed : "";
    const sheet = h("div", { class: "sheet" }, image, marks(frame.picture, frame.action));
    const box = h("div", { class: small ? "picture small" : "picture" }, sheet);
    const shown = small ? [Math.min(width, WINDOW[0]), Math.min(height, WINDOW[1])] : [width, height];
    box.style.setProperty("--width", shown[0]);
    box.style.setProperty("--height", shown[1]);
    const [x, y, w, hh] = boxes[0] ?? [...(points[0] ?? [0, 0]), 0, 4];
    if (small) {
      // The middle of what the action points at is in the middle; the beginning, if it is larger than that.
      const offset = (from, length, most, size) =>
        Math.round(Math.min(Math.max(0, length > size ? from - 8 : from + length / 2 - size / 2), most - size));
      sheet.style.width = `${width}px`;
      sheet.style.marginLeft = `${-offset(x, w, width, shown[0])}px`;
      sheet.style.marginTop = `${-offset(y, hh, height, shown[1])}px`;
    }
    if (typed) {
      const left = Math.min(60, (100 * Math.max(0, x)) / width);
      const label = h("span", { class: "typed" }, plain(typed));
      label.style.left = `${left}%`;
      label.style.maxWidth = `${100 - left}%`;
      label.style.top = `${(100 * (y + hh + 3)) / height}%`;
      sheet.append(label);
    }
    return box;
  };

  // The trials as a list, to jump to their beginnings and ends.
  const trialList = (one, trials) => (trials.length < 2 ? null : h("nav", { class: "jumps", "aria-label": "Trials" }, h("ul", {},
    trials.map(([trial, members]) => {
      const actions = members.filter((frame) => frame.action).length;
      const last = members.at(-1);
      return h("li", { "data-trial": trial }, h("a", { href: link(one.id, trial) }, trial ? `Trial ${trial}` : "Before"), " ",
        h("span", { class: "hint" }, counted(actions, "action")), " ",
        last.end ? h("a", { class: `ending ${last.end.ending === "correct" ? "good" : ""}`, href: link(one.id, trial, last.step),
          title: "to the end of this trial" }, last.end.ending) : null);
    }))));

  const strip = (one, trials, thumbs) => h("div", { class: "strip" }, trials.map(([trial, members]) => {
    const end = members.find((frame) => frame.end)?.end;
    return h("section", { class: "trial", "aria-label": `Trial ${trial}` },
      h("h3", {}, trial ? `Trial ${trial}` : "Before", " ",
        end ? h("span", { class: `ending ${end.ending === "correct" ? "good" : ""}` }, end.ending) : null),
      h("ol", {}, members.map((frame) => h("li", {}, thumbs.get(frame)))));
  }));

  const thumb = (one, frame) => h("a", { class: frame.picture || frame.action ? "frame" : "frame last", href: link(one.id, frame.trial, frame.step) },
    picture(one, frame, true) ?? h("span", { class: "blank", "aria-hidden": "true" },
      frame.action ? frame.step : frame.end?.ending === "correct" ? "✓" : "×"),
    h("span", { class: "caption" }, frame.action ? h("b", {}, `${frame.step} `) : null, frameName(frame)));

  // How to get pictures of an item that has none.
  const withoutPictures = (one, { frames, note }) => {
    if (note || !frames.some((frame) => frame.trial) || frames.some((frame) => frame.picture)) return null;
    const name = `${one.task}/${one.seed.replace(/~\d+$/, "")}`;
    return h("p", { class: "hint without" }, "No pictures were taken of this item. Run it with ",
      h("code", {}, `-k "${name}" --miniwob-report=DIR --miniwob-trace=on`), " to have them.");
  };

  return { frameName, picture, trialList, strip, thumb, withoutPictures };
})();
