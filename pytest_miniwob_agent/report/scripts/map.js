// The map of tasks and seeds.
"use strict";

const HeatMap = (() => {
  const { h, percent } = Elements;
  const { result, conclusive, sign, shade, link, run, grouped, byName, compare } = Items;

  const FEW_SEEDS = 4; // that fit beside the task's name on a phone

  // A table for each category, of the seeds that it has.
  const heatMap = () => {
    const cells = new Map();
    const rows = [];
    const tables = byName(run.items, "category").map(([category, members]) => {
      const seeds = [...grouped(members, "seed").keys()].sort(compare);
      const body = h("tbody");
      for (const [task, items] of byName(members, "task")) {
        const places = new Map(seeds.map((seed) => [seed, h("td")]));
        for (const one of items) {
          const what = `${task} ${one.seed}: ${[result(one), one.change && `${one.change} (${one.before?.text ?? "other"} in the baseline)`].filter(Boolean).join(", ")}`;
          const cell = h("a", { class: `cell ${shade(one)} ${one.change}`, href: link(one.id), title: what, "aria-label": what }, sign(one));
          cells.set(one.id, cell);
          places.get(one.seed).append(cell);
        }
        const solved = items.filter((one) => one.status === "solved").length;
        const all = items.filter(conclusive).length;
        const row = h("tr", {}, h("th", { scope: "row" }, task), [...places.values()],
          h("td", { class: "number rate" }, all > 1 ? percent(solved, all) : null, " ",
            h("span", { class: "of" }, `${solved}/${all}`)));
        rows.push([row, items]);
        body.append(row);
      }
      return h("table", { class: seeds.length > FEW_SEEDS ? "heat many" : "heat" }, h("caption", {}, category),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Task"),
          seeds.map((seed) => h("th", { scope: "col", class: "seed" }, h("span", {}, seed))),
          h("th", { scope: "col", class: "number" }, "Solved"))), body);
    });
    const legend = [["solved t1", "1", "solved in the first trial"], ["solved t2", "2", "in a later one"],
      ["unsolved", "×", "unsolved"], ["drifted", "≠", "drifted"], ["error", "!", "error"], ["waiting", "…", "waiting"], ["budget", "$", "budget"]]
      .filter(([name]) => run.items.some((one) => (name === "solved t2" ? one.solvedAt > 1 : shade(one) === name)));
    const element = h("section", { class: "map" }, h("h2", {}, "Task by seed"),
      h("ul", { class: "legend" }, legend.map(([name, mark, meaning]) =>
        h("li", {}, h("span", { class: `cell ${name}`, "aria-hidden": "true" }, mark), " ", meaning)),
        run.items.some((one) => one.change) ? h("li", {}, h("span", { class: "cell unsolved regressed", "aria-hidden": "true" }, "×"), " framed: changed against the baseline") : null),
      h("div", { class: "scroll maps", role: "region", "aria-label": "Task by seed", tabindex: "0" }, tables));
    return { element, cells, rows, tables };
  };

  return { heatMap };
})();
