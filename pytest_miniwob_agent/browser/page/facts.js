// What is shown of an element beside its text and its look: its name, options, limits, scrolling,
// corners.

const Facts = (() => {
  const { extent, target, hitAt } = Sight;
  const { squeeze } = Leaves;
  const { drawing } = Drawing;
  const { attribute, states } = States;

  const scrolls = (element) => {
    if (element instanceof HTMLSelectElement) return element.scrollHeight > element.clientHeight + 1;
    const { overflowX, overflowY } = getComputedStyle(element);
    const { scrollHeight, clientHeight, scrollWidth, clientWidth } = plain(element);
    return (scrollHeight > clientHeight + 1 && /auto|scroll/.test(overflowY))
      || (scrollWidth > clientWidth + 1 && /auto|scroll/.test(overflowX));
  };

  // The name by which assistive technology calls an element without text.
  const accessibleName = (element, around) => {
    const labels = attribute(around, "aria-labelledby").split(" ")
      .map((id) => squeeze(document.getElementById(id)?.textContent ?? "")).join(" ").trim();
    return labels || attribute(around, "aria-label") || attribute(around, "alt")
      || attribute(around, "title")
      || squeeze(plain(element).querySelector("title")?.textContent ?? "");
  };

  // The last part of the address of an image.
  const pictured = (element) => {
    const [, url] = element instanceof HTMLImageElement ? [null, element.src]
      : /url\("([^"]+)"\)/.exec(getComputedStyle(element).backgroundImage) ?? [];
    return !url || url.startsWith("data:") ? "" : url.split(/[?#]/)[0].split("/").pop();
  };

  const MOST_CORNERS = 12;

  // The corners of an SVG element of straight lines, in the viewport.
  const corners = (element) => {
    const lists = {
      line: () => [1, 2].map((end) => [element[`x${end}`], element[`y${end}`]]
        .map((length) => length.baseVal.value)),
      polygon: () => [...element.points].map(({ x, y }) => [x, y]),
      polyline: () => [...element.points].map(({ x, y }) => [x, y]),
      path: () => {
        const data = element.getAttribute("d") ?? "";
        if (/[^MLZ\d\s,.eE+-]/i.test(data) || /[ml]/.test(data)) return [];
        const numbers = data.match(/[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/gi) ?? [];
        return numbers.slice(0, numbers.length & ~1).flatMap((x, at) =>
          at % 2 ? [] : [[Number(x), Number(numbers[at + 1])]]);
      },
    };
    const matrix = plain(element).getScreenCTM?.();
    const found = matrix ? lists[element.tagName.toLowerCase()]?.() ?? [] : [];
    return found.map(([x, y]) => {
      const point = new DOMPoint(x, y).matrixTransform(matrix);
      return [Math.round(point.x), Math.round(point.y)];
    });
  };

  // Least, greatest and step of a slider or a field for numbers, and the value of jQuery UI's
  // slider.
  const limits = (element) => {
    const slider = plain(element).closest(".ui-slider");
    const handle = slider ? [...slider.querySelectorAll(".ui-slider-handle")].indexOf(element) : -1;
    const sliders = [...document.querySelectorAll(".ui-slider")];
    const options = handle < 0 ? null : Main.slider(sliders.indexOf(slider));
    if (options) {
      return [["value", options.values?.[handle] ?? options.value],
        ["minimum", options.min], ["maximum", options.max], ["step", options.step]];
    }
    const own = (...names) =>
      names.map((name) => plain(element).getAttribute(name)).find(Boolean) ?? "";
    return [["minimum", own("min", "aria-valuemin")], ["maximum", own("max", "aria-valuemax")],
      ["step", own("step")]];
  };

  // A point in the first part of a field that has parts: typing goes on from the part that was
  // clicked.
  const beginning = (field) => {
    const { left, top, height } = extent(field);
    const point = [Math.ceil(left) + 8, Math.floor(top + height / 2)];
    return hitAt(...point) === field ? point : target(field);
  };

  const FORMATS = { date: "MM/DD/YYYY", time: "HH:MMAM" };

  const MOST_OPTIONS = 100;
  const choices = (element) => {
    if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) return "";
    const names = [...element.options].filter((option) => !option.matches(":disabled"))
      .map((option) => squeeze(option.text));
    const more = names.length - MOST_OPTIONS;
    return names.slice(0, MOST_OPTIONS).join(" | ") + (more > 0 ? ` | and ${more} more` : "");
  };

  const scrolled = (element) => {
    if (!scrolls(element)) return [];
    const { scrollHeight, clientHeight, scrollWidth, clientWidth, scrollTop, scrollLeft } =
      plain(element);
    const [down, right] = [scrollHeight - clientHeight, scrollWidth - clientWidth];
    return [["scroll", down > 1 ? `${Math.round(scrollTop)} of ${down}` : ""],
      ["scroll-right", right > 1 ? `${Math.round(scrollLeft)} of ${right}` : ""]];
  };

  const boxed = (node) => {
    const { left, top, width, height } = extent(node);
    return [left, top, width, height].map(Math.round).join(",");
  };

  // All details of a node but its look, in the order in which they are shown.
  const facts = (node, around, content) => {
    if (node instanceof Text) return [["state", states(node, around)], ["box", boxed(node)]];
    const { id, type, tagName } = plain(node);
    const name = content ? "" : accessibleName(node, around);
    const points = corners(node);
    const few = points.length <= MOST_CORNERS ? points.map(String).join(" ") : "";
    return [
      ["dom-id", id],
      ["name", name],
      ["image", pictured(node)],
      ["format", FORMATS[type] ?? ""],
      ["options", choices(node)],
      ...limits(node),
      ["state", states(node, around)],
      ...scrolled(node),
      ["corners", tagName === "polygon" ? points.length : ""],
      ["points", few],
      ["drawing", name ? "" : drawing(node)],
      ["box", boxed(node)],
    ];
  };

  return { scrolls, accessibleName, pictured, FORMATS, beginning, limits, choices, scrolled, facts };
})();
