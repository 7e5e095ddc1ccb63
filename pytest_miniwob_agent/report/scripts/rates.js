// The figures of the overview: the rates in short, by category and by trial.

const headline = () => {
  const { items } = run;
  const solved = items.filter((one) => one.status === "solved");
  const all = items.filter(conclusive);
  const sum = (name) => items.reduce((total, one) => total + (one[name] ?? 0), 0);
  const known = items.some((one) => one.tokens !== null);
  const facts = [
    ["in the first trial", count(solved.filter((one) => one.solvedAt === 1).length)],
    ["actions", count(sum("steps"))],
    ["model calls", count(sum("calls"))],
    ["tokens", known ? count(sum("tokens")) : "unknown"],
  ];
  const inconclusive = items.length - all.length;
  if (inconclusive) facts.unshift(["inconclusive", count(inconclusive)]);
  return h("section", { class: "headline", "aria-label": "In short" },
    h("p", { class: "figure" },
      h("strong", {}, percent(solved.length, all.length)), " ",
      h("span", {}, `${count(solved.length)} of ${counted(all.length, "item")} solved`)),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
};

const completion = () => {
  const items = run.items.filter(conclusive);
  const most = Math.max(5, ...items.map((one) => one.solvedAt ?? 0));
  const trials = Array.from({ length: most }, (_, index) => index + 1);
  // As in the terminal, each share is of the items that were allowed so many trials.
  const by = (group) => trials.map((trial) => {
    const could = group.filter((one) => one.allowed >= trial);
    return could.length ? could.filter((one) => one.solvedAt && one.solvedAt <= trial).length / could.length : null;
  });
  const groups = [...grouped(items, "category")].sort(([a], [b]) => compare(a, b));
  const rows = [...groups, ...(groups.length > 1 ? [["all", items]] : [])];
  const table = h("table", { class: "rates" },
    h("caption", { class: "unseen" }, "Share of items solved within T trials, by category"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Category"), h("th", { scope: "col", class: "number" }, "Items"),
      trials.map((trial) => h("th", { scope: "col", class: "number" }, `T = ${trial}`)))),
    h("tbody", {}, rows.map(([name, group], row) => h("tr", { class: name === "all" && "all" },
      h("th", { scope: "row" }, h("span", { class: `key k${name === "all" ? "all" : row % 4}`, "aria-hidden": "true" }), name),
      h("td", { class: "number" }, count(group.length)),
      by(group).map((share) => h("td", { class: "number" }, share === null ? "–" : percent(share, 1)))))));
  return h("section", { class: "completion" }, h("h2", {}, "Solved within T trials"),
    h("div", { class: "sides" }, chart(rows.map(([, group]) => by(group)), trials),
      h("div", { class: "scroll", role: "region", "aria-label": "Rates by category", tabindex: "0" }, table)));
};

// Shares from 0 to 1 against trials, one line for each row of the table beside it; it goes as far as
// there are items that were allowed so many.
const chart = (lines, trials) => {
  const [width, height, left, top] = [320, 150, 36, 8];
  const x = (trial) => left + ((trial - 1) / (trials.length - 1)) * (width - left - 10);
  const y = (share) => top + (1 - share) * (height - top - 22);
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", "aria-hidden": "true", focusable: "false" },
    [0, 0.5, 1].map((share) => h("g", {},
      h("line", { x1: left, x2: width - 10, y1: y(share), y2: y(share), class: "grid" }),
      h("text", { x: left - 6, y: y(share) + 4, class: "end" }, `${share * 100}%`))),
    trials.map((trial) => h("text", { x: x(trial), y: height - 4, class: "mid" }, trial)));
  lines.map((shares) => shares.filter((share) => share !== null)).forEach((shares, row) => {
    const all = lines.length > 1 && row === lines.length - 1;
    const name = `line k${all ? "all" : row % 4}`;
    svg.append(h("polyline", { points: shares.map((share, index) => `${x(index + 1)},${y(share)}`).join(" "), class: name }),
      ...shares.map((share, index) => h("circle", { cx: x(index + 1), cy: y(share), r: 2.5, class: name })));
  });
  return svg;
};
