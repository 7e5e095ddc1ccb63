// The figures of the overview: the rates in short, by category and by trial, and against the baseline.
"use strict";

const Rates = (() => {
  const { h, plain, count, counted, percent } = Elements;
  const { CHANGES, result, conclusive, link, itemOf, run, byName } = Items;

  const headline = () => {
    const { items } = run;
    const solved = items.filter((one) => one.status === "solved");
    const all = items.filter(conclusive);
    const sum = (name) => items.reduce((total, one) => total + (one[name] ?? 0), 0);
    const known = items.some((one) => one.tokens !== null);
    const facts = sum("calls") || sum("steps") ? [
      ["actions", count(sum("steps"))],
      ["model calls", count(sum("calls"))],
      ["tokens", known ? count(sum("tokens")) : "unknown"],
    ] : [];
    if (all.length) facts.unshift(["in the first trial", count(solved.filter((one) => one.solvedAt === 1).length)]);
    const inconclusive = items.length - all.length;
    if (inconclusive && all.length) facts.unshift(["inconclusive", count(inconclusive)]);
    const figure = all.length
      ? [h("strong", {}, percent(solved.length, all.length)), " ",
        h("span", {}, `${count(solved.length)} of ${counted(all.length, "item")} solved`)]
      : [h("strong", {}, "No result"), " ", h("span", {}, `of ${counted(items.length, "item")}`)];
    return h("section", { class: "headline", "aria-label": "In short" },
      h("p", { class: "figure" }, figure),
      h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
  };

  // A row for each category, and one for all if there are several.
  const groupsOf = (items) => {
    const groups = byName(items, "category");
    return [...groups, ...(groups.length > 1 ? [["all", items]] : [])];
  };

  // A table of rates: the columns by their names, those that a phone has no room for as `wide`, and for each
  // row its name and cells; with the key to the lines of a chart beside it.
  const rateTable = (caption, columns, rows, keys) => {
    const kind = columns.map(([, wide]) => (wide ? "number wide" : "number"));
    return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
      h("table", { class: "rates" }, h("caption", { class: "unseen" }, caption),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Category"),
          columns.map(([name], index) => h("th", { scope: "col", class: kind[index] }, name)))),
        h("tbody", {}, rows.map(([name, cells], row) => h("tr", { class: name === "all" && "all" },
          h("th", { scope: "row" },
            keys ? h("span", { class: `key k${name === "all" ? "all" : row % 4}`, "aria-hidden": "true" }) : null, name),
          cells.map((cell, index) => h("td", { class: kind[index] }, cell)))))));
  };

  const byTrials = () => {
    const items = run.items.filter(conclusive);
    if (!items.length) return null;
    const most = Math.max(1, ...items.map((one) => one.allowed ?? one.trials));
    const trials = Array.from({ length: most }, (_, index) => index + 1);
    // As in the terminal, each share is of the items that were allowed so many trials.
    const by = (group) => trials.map((trial) => {
      const could = group.filter((one) => one.allowed >= trial);
      return could.length ? could.filter((one) => one.solvedAt && one.solvedAt <= trial).length / could.length : null;
    });
    const groups = groupsOf(items);
    const rates = groups.map(([name, group]) => [name, [count(group.length),
      ...by(group).map((share) => (share === null ? "–" : percent(share, 1)))]]);
    const single = most === 1; // one point is not a line
    if (single && run.judged && items.every((one) => one.before)) return null; // as in the table before
    const table = rateTable("Share of items solved within T trials, by category",
      [["Items"], ...trials.map((trial) => [single ? "Solved" : `T = ${trial}`])], rates, !single);
    return h("section", { class: "completion" }, h("h2", {}, single ? "Solved, by category" : "Solved within T trials"),
      h("div", { class: single ? "sides alone" : "sides" },
        single ? null : chart(groups.map(([, group]) => by(group)), trials), table));
  };

  // Shares from 0 to 1 against two trials or more, one line for each row of the table beside it; it goes
  // as far as there are items that were allowed so many.
  const chart = (lines, trials) => {
    const [width, height, left, top] = [320, 150, 36, 8];
    const x = (trial) => left + ((trial - 1) / (trials.length - 1)) * (width - left - 10);
    const y = (share) => top + (1 - share) * (height - top - 22);
    const every = Math.ceil(trials.length / 12);
    const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", "aria-hidden": "true", focusable: "false" },
      [0, 0.5, 1].map((share) => h("g", {},
        h("line", { x1: left, x2: width - 10, y1: y(share), y2: y(share), class: "grid" }),
        h("text", { x: left - 6, y: y(share) + 4, class: "end" }, `${share * 100}%`))),
      trials.filter((trial) => trial % every === 1 % every)
        .map((trial) => h("text", { x: x(trial), y: height - 4, class: "mid" }, trial)));
    lines.map((shares) => shares.filter((share) => share !== null)).forEach((shares, row) => {
      const all = lines.length > 1 && row === lines.length - 1;
      const name = `line k${all ? "all" : row % 4}`;
      svg.append(h("polyline", { points: shares.map((share, index) => `${x(index + 1)},${y(share)}`).join(" "), class: name }),
        ...shares.map((share, index) => h("circle", { cx: x(index + 1), cy: y(share), r: 2.5, class: name })));
    });
    return svg;
  };

  // The items that are conclusive now and in the baseline, each with its share of solved samples.
  const pairsOf = (items) => [...Map.groupBy(items.filter((one) => one.before && conclusive(one)), itemOf).values()]
    .map((samples) => ({
      before: samples[0].before.solved / samples[0].before.samples,
      now: samples.filter((one) => one.status === "solved").length / samples.length,
    }));

  const points = (share) => {
    const rounded = Math.round(1000 * share) / 10;
    return rounded ? `${rounded > 0 ? "+" : "−"}${Math.abs(rounded)}` : "0";
  };

  // The rates against those of the baseline, over the items that have a result in both.
  const againstBaseline = () => {
    if (!run.judged) return null;
    const rows = groupsOf(run.items).map(([name, items]) => [name, items, pairsOf(items)]).filter(([, , pairs]) => pairs.length);
    const changed = (kind) => run.items.filter((one) => one.change === kind);
    const mean = (pairs, side) => pairs.reduce((sum, pair) => sum + pair[side], 0) / pairs.length;
    const table = rows.length ? rateTable("Rates in the baseline and now, by category",
      [["Items"], ["Baseline"], ["Now"], ["Points"], ["Regressed", "wide"], ["Progressed", "wide"]],
      rows.map(([name, items, pairs]) => [name, [count(pairs.length), percent(mean(pairs, "before"), 1), percent(mean(pairs, "now"), 1),
        points(mean(pairs, "now") - mean(pairs, "before")),
        ...CHANGES.map((kind) => count(items.filter((one) => one.change === kind).length))]]))
      : h("p", {}, "No item has a result both in the baseline and now.");
    return h("section", { class: "against" }, h("h2", {}, "Against the baseline"),
      run.gate ? h("p", { class: `gate ${run.gate.decision}` }, h("strong", {}, `Gate ${plain(run.gate.name)}: ${run.gate.decision}`)) : null,
      run.gate?.lines.length ? h("ul", { class: "remarks" }, run.gate.lines.map((line) => h("li", {}, plain(line)))) : null,
      table, CHANGES.map((kind) => changedItems(kind, changed(kind))));
  };

  const NAMED = 6; // items that are named of those that changed

  const changedItems = (kind, items) => (items.length ? h("div", { class: "changed" },
    h("h3", {}, count(items.length), kind === "regressed" ? " regressed: solved in the baseline, and not now" : " progressed: solved now, and not in the baseline"),
    h("ul", {}, items.slice(0, NAMED).map((one) => h("li", {}, h("a", { href: link(one.id) }, one.task, " ", h("span", { class: "seed" }, one.seed)),
      one.before ? h("span", { class: "hint" }, ` ${plain(one.before.text)} → ${result(one)}${one.status === "unsolved" && one.ending ? ` (${one.ending})` : ""}`) : null)),
    items.length > NAMED ? h("li", {}, h("a", { href: `#/?status=${kind}` }, `all ${count(items.length)}`)) : null)) : null);

  return { headline, byTrials, againstBaseline };
})();
