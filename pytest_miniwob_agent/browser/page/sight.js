// Geometry of elements: which can be seen, where they are, and where a click lands on them.

// True if a person could bring a box inside `parent` into sight by scrolling alone: its size is not
// 0, and no ancestor cuts it off by hiding what overflows.
const reachable = (rect, parent) => {
  let { left, top, right, bottom } = rect;
  for (let up = parent; up && up !== document.body; up = up.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(up);
    const box = up.getBoundingClientRect();
    if (overflowX === "hidden" || overflowX === "clip") {
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    } else if (overflowX !== "visible") {
      [left, right] = [box.left, box.right];
    }
    if (overflowY === "hidden" || overflowY === "clip") {
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    } else if (overflowY !== "visible") {
      [top, bottom] = [box.top, box.bottom];
    }
  }
  return right - left > 1 && bottom - top > 1 && right + scrollX > 0 && bottom + scrollY > 0;
};

const visible = (element) =>
  element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  && reachable(element.getBoundingClientRect(), element.parentElement);

// The middle of a box inside `parent` when nothing is scrolled.
const place = (rect, parent) => {
  let x = rect.left + rect.width / 2 + scrollX;
  let y = rect.top + rect.height / 2 + scrollY;
  for (let up = parent; up && up !== document.body; up = up.parentElement) {
    x += up.scrollLeft;
    y += up.scrollTop;
  }
  return [Math.round(x), Math.round(y)];
};

// A point at which a click lands on the element, its middle if possible; null where the
// element is out of sight or covered.
const target = (element) => {
  const rect = element.getClientRects()[0] ?? element.getBoundingClientRect();
  for (const [fx, fy] of [[0.5, 0.5], [0.5, 0.25], [0.5, 0.75], [0.25, 0.5], [0.75, 0.5],
    [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]) {
    const x = Math.floor(rect.left + rect.width * fx);
    const y = Math.floor(rect.top + rect.height * fy);
    const hit = document.elementFromPoint(x, y);
    if (hit && (element === hit || element.contains(hit))) return [x, y];
  }
  return null;
};

const inViewport = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
