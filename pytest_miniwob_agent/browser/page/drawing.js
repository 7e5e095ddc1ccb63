// Pictures and canvases as text: a coarse mosaic of what is drawn on them.

const Drawing = (() => {
  const DRAWING = { least: 40, columns: 40, cell: 3 }; // pixels, letters, pixels
  const MARKS = ["#", "o", "x"]; // for what is drawn: all of it, or further colours of large areas

  // The colours of a picture's pixels at the size in which it is shown, in steps of 64; null where
  // they can't be read.
  const pixels = (element) => {
    const { width, height } = element.getBoundingClientRect();
    const [columns, rows] = [Math.round(width), Math.round(height)];
    if (Math.min(columns, rows) < DRAWING.least) return null;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    let data;
    try {
      pen.drawImage(element, 0, 0, columns, rows);
      ({ data } = pen.getImageData(0, 0, columns, rows));
    } catch {
      return null; // a broken picture, or one of another origin
    }
    const colours = Array.from({ length: columns * rows }, (_, at) => data[4 * at + 3] < 128 ? -1
      : (data[4 * at] >> 6 << 4) | (data[4 * at + 1] >> 6 << 2) | (data[4 * at + 2] >> 6));
    return { columns, rows, colours };
  };

  // The values of a list and how often each is in it, the most frequent first.
  const frequencies = (values) => {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts].sort(([, left], [, right]) => right - left);
  };

  // Rows of letters with "/" between them: "." for the ground, "#" for what is drawn on it, other
  // marks for further colours of large areas. Empty for a picture without a ground, such as a
  // photograph.
  const drawing = (element) => {
    if (!(element instanceof HTMLCanvasElement || element instanceof HTMLImageElement)) return "";
    const image = pixels(element);
    if (!image) return "";
    const { columns, rows, colours } = image;
    const [[ground, share], ...others] = frequencies(colours);
    if (share < colours.length * 0.3 || !others.length) return "";
    const large = others.filter(([, count]) => count > colours.length * 0.08).map(([one]) => one);
    const mark = (colour) =>
      MARKS[large.length < MARKS.length ? Math.max(0, large.indexOf(colour)) : 0];
    const cell = Math.max(DRAWING.cell, Math.ceil(columns / DRAWING.columns));
    const letter = (left, top) => {
      const drawn = Array.from({ length: cell * cell }, (_, at) =>
        colours[(top + Math.floor(at / cell)) * columns + left + at % cell])
        .filter((one) => one !== ground);
      return drawn.length * 3 > cell * cell ? mark(frequencies(drawn)[0][0]) : ".";
    };
    return Array.from({ length: Math.floor(rows / cell) }, (_, row) =>
      Array.from({ length: Math.floor(columns / cell) }, (_, column) =>
        letter(column * cell, row * cell)).join("")).join("/");
  };

  return { drawing };
})();
