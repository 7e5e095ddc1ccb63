// What a person sees of an element's state: disabled, selected, covered, out of sight.

const States = (() => {
  const { clipperOf, within, hitAt, owner, extent, samples, focusedElement } = Sight;
  const { squeeze } = Leaves;

  const attribute = (around, name) => {
    for (const element of around) {
      const value = plain(element).getAttribute(name);
      if (value) return squeeze(value);
    }
    return "";
  };

  // The part of a node's box that is in the viewport and in all boxes that scroll.
  const sighted = (node) => {
    let { left, top, right, bottom } = extent(node);
    const cut = (box) => {
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    };
    cut(Frames.viewport());
    for (let up = clipperOf(node); up; up = clipperOf(up)) cut(extent(up));
    return { left, top, right, bottom };
  };

  // True if a part of a node is in sight, or all of it where it is smaller than a pixel.
  const inSight = (node) => {
    const { left, top, right, bottom } = sighted(node);
    const { width, height } = extent(node);
    return right - left >= Math.min(1, width) && bottom - top >= Math.min(1, height);
  };

  // True if other elements that count lie over all of a node.
  const covered = (node, counts = () => true) => samples(node).every(([x, y]) => {
    const hit = hitAt(x, y);
    return hit && counts(hit) && !within(owner(node), hit) && !within(hit, owner(node));
  });

  const states = (node, around) => {
    const element = owner(node);
    const aria = (name, yes, no = "") =>
      ({ true: yes, false: no })[attribute(around, `aria-${name}`)] ?? "";
    const current = attribute(around, "aria-current");
    const readOnly = (node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement)
      && node.readOnly;
    return [
      plain(element).matches(":disabled") || aria("disabled", "disabled") ? "disabled" : "",
      readOnly ? "readonly" : "",
      focusedElement() === node ? "focused" : "",
      aria("expanded", "expanded", "collapsed"),
      aria("selected", "selected"),
      aria("pressed", "pressed"),
      aria("checked", "checked"),
      current && current !== "false" ? "current" : "",
      inSight(node) ? "" : "outside",
      inSight(node) && covered(node) ? "covered" : "",
    ].filter(Boolean).join(" ");
  };

  return { attribute, sighted, inSight, covered, states };
})();
