// The overview: figures, causes and the map of tasks, the filters and the list of items.
"use strict";

const Overview = (() => {
  const { h, some, plain, $, count, counted, percent } = Elements;
  const { STATUSES, CHANGES, result, conclusive, sign, shade, link, badge, itemOf, run, grouped, byName, compare, view, change } = Items;

  // The figures of the overview: the rates in short, by category and by trial, and against the baseline.

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

  // Why items have no result: each cause once, with the number of its items, which it selects.

  const causeOf = (one) => (conclusive(one) ? "" : `${one.status}: ${one.cause}`);

  const causes = () => {
    const without = run.items.filter((one) => !conclusive(one));
    if (!without.length) return null;
    const groups = [...Map.groupBy(without, causeOf)].sort(([, a], [, b]) => b.length - a.length);
    return h("section", { class: "causes" },
      h("h2", {}, `Why ${counted(without.length, "item")} ${without.length === 1 ? "has" : "have"} no result`),
      h("ul", {}, groups.map(([key, items]) => h("li", {},
        h("button", { type: "button", class: "cause", "data-cause": key, title: "Show these items only",
          onclick: () => change({ cause: view.cause === key ? "" : key }) },
        h("span", { class: "amount" }, count(items.length)), " ",
        h("span", { class: `badge ${items[0].status}` }, items[0].status), " ",
        h("span", { class: "why" }, plain(items[0].cause) || "without a message"))))));
  };

  // The map of tasks and seeds.

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

  // The overview: its filters and the list of items.

  // What got lost, other failures, what is inconclusive, and at last what is solved.
  const failuresFirst = (one) =>
    [Number(one.change !== "regressed"), Number(one.status === "solved"), STATUSES.indexOf(one.status)];

  const COLUMNS = [
    ["item", "Item", (one) => one.id, ""],
    ["result", "Result", (one) => [...failuresFirst(one), one.solvedAt ?? 0], ""],
    ["ending", "Ending", (one) => one.ending, "wide"],
    ["trials", "Trials", (one) => one.trials, "number wide"],
    ["steps", "Actions", (one) => one.steps, "number wide"],
    ["calls", "Calls", (one) => one.calls, "number"],
    ["tokens", "Tokens", (one) => one.tokens ?? -1, "number wide"],
  ];

  let shown = []; // the items that match, in their order
  let overview = null; // its elements, once drawn

  const matches = (one) =>
    (!view.status || one.status === view.status || one.change === view.status)
    && (!view.cause || causeOf(one) === view.cause)
    && (!view.category || one.category === view.category)
    && (!view.task || one.task === view.task)
    && view.q.toLowerCase().split(/\s+/).every((word) => one.status.startsWith(word) || one.text.includes(word));

  const select = (name, label, values) => {
    const box = h("select", { id: `by-${name}`, onchange: () => change({ [name]: box.value }) },
      h("option", { value: "" }, "all"), values.map((value) => h("option", { value }, value)));
    return h("label", { class: "field" }, h("span", {}, label), box);
  };

  const filters = () => {
    const number = (name) => run.items.filter((one) => one.status === name || one.change === name).length;
    const kinds = ["solved", "unsolved", "drifted", ...(run.judged ? CHANGES : []), "error", "waiting", "budget"]
      .filter((name) => ["solved", "unsolved", "drifted", "regressed"].includes(name) || number(name));
    const chip = (value, label, amount) => h("button", {
      type: "button", class: "chip", "data-status": value, disabled: Boolean(value) && !amount,
      onclick: () => change({ status: value }),
    }, label, " ", h("span", { class: "amount" }, count(amount)));
    const search = h("input", { id: "by-text", type: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "goal, task, ending", oninput: () => change({ q: search.value }) });
    return h("form", { class: "filters", role: "search", "aria-label": "Filter the items", onsubmit: (event) => event.preventDefault() },
      h("div", { class: "chips", role: "group", "aria-label": "Result" },
        chip("", "all", run.items.length), kinds.map((name) => chip(name, name, number(name)))),
      h("div", { class: "fields" },
        select("category", "Category", [...grouped(run.items, "category").keys()].sort(compare)),
        select("task", "Task", [...grouped(run.items, "task").keys()].sort(compare)),
        h("label", { class: "field grow" }, h("span", {}, "Text"), search)),
      h("p", { class: "found", id: "found", role: "status" }));
  };

  const itemTable = () => {
    const heads = COLUMNS.map(([name, label, , kind]) => h("th", { scope: "col", class: kind },
      h("button", { type: "button", class: "sort", "data-sort": name,
        onclick: () => change({ sort: name, down: view.sort === name && !view.down ? "1" : "" }) }, label)));
    const body = h("tbody");
    const rows = new Map(run.items.map((one) => [one.id, h("tr", {},
      h("th", { scope: "row" },
        h("a", { href: link(one.id) }, one.task, " ", h("span", { class: "seed" }, one.seed)),
        h("span", { class: "goal" }, plain([one.setup, one.goal || one.category].filter(Boolean).join(" · ")))),
      h("td", {}, badge(one)),
      h("td", { class: "wide" }, one.ending),
      h("td", { class: "number wide" }, count(one.trials)),
      h("td", { class: "number wide" }, count(one.steps)),
      h("td", { class: "number" }, count(one.calls)),
      h("td", { class: "number wide" }, count(one.tokens)))]));
    const element = h("section", { class: "list" }, h("h2", {}, "Items"),
      h("table", { class: "items" }, h("thead", {}, h("tr", {}, heads)), body));
    return { element, heads, body, rows };
  };

  const drawOverview = () => {
    overview = { map: heatMap(), table: itemTable() };
    $("overview").append(...some([h("h1", { class: "unseen" }, "Overview"), headline(), causes(), againstBaseline(), byTrials(),
      filters(), overview.map.element, overview.table.element]));
  };

  // Show what the filters select. The list is taken out of the page while its rows change places.
  const update = () => {
    const [, , key] = COLUMNS.find(([name]) => name === view.sort);
    const keyed = run.items.filter(matches).map((one) => [key(one), one]);
    keyed.sort(([a, one], [b, other]) => (view.down ? -1 : 1) * compare(a, b) || compare(one.id, other.id));
    shown = keyed.map(([, one]) => one);
    const ids = new Set(shown.map((one) => one.id));
    const { map, table } = overview;
    for (const [id, cell] of map.cells) cell.hidden = !ids.has(id);
    for (const [row, items] of map.rows) row.hidden = !items.some((one) => ids.has(one.id));
    for (const table of map.tables) table.hidden = ![...table.tBodies[0].rows].some((row) => !row.hidden);
    table.body.replaceChildren(...shown.map((one) => table.rows.get(one.id)));
    COLUMNS.forEach(([name], index) => {
      const sorted = view.down ? "descending" : "ascending";
      if (name === view.sort) table.heads[index].setAttribute("aria-sort", sorted);
      else table.heads[index].removeAttribute("aria-sort");
    });
    for (const chip of document.querySelectorAll(".chip")) {
      chip.setAttribute("aria-pressed", String(chip.dataset.status === view.status));
    }
    for (const button of document.querySelectorAll(".cause")) {
      button.setAttribute("aria-pressed", String(button.dataset.cause === view.cause));
    }
    for (const [id, name] of [["by-category", "category"], ["by-task", "task"], ["by-text", "q"]]) {
      if ($(id).value !== view[name]) $(id).value = view[name];
    }
    $("found").textContent = ids.size === run.items.length
      ? `All ${counted(ids.size, "item")}` : `${count(ids.size)} of ${counted(run.items.length, "item")}`;
  };

  // Move the focus to an item's row, as after a visit of its page.
  const focusRow = (id) => overview.table.rows.get(id)?.querySelector("a").focus({ preventScroll: true });

  const shownItems = () => shown;

  return { COLUMNS, drawOverview, update, shownItems, focusRow };
})();
