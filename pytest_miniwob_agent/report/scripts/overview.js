// The overview: its filters and the list of items.
"use strict";

const Overview = (() => {
  const { h, some, plain, $, count, counted } = Elements;
  const { STATUSES, CHANGES, link, badge, run, grouped, compare } = Items;
  const { view, change } = View;
  const { headline, byTrials, againstBaseline } = Rates;
  const { causeOf, causes } = Causes;
  const { heatMap } = HeatMap;

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
      type: "button", class: "chip", "data-status": value, disabled: value && !amount,
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
