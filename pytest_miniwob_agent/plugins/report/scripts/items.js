// The items of the report: what the data of each means, and which of them the overview shows.
"use strict";

const Items = (() => {
  const { h } = Elements;

  const STATUSES = ["solved", "unsolved", "drifted", "error", "waiting", "budget"];
  const CHANGES = ["regressed", "progressed"];
  const SIGNS = { unsolved: "×", drifted: "≠", error: "!", waiting: "…", budget: "$" };
  const ENDINGS = {
    correct: "The page gave its full reward.",
    failed: "The page ended the trial without its full reward.",
    cycle: "The screen had been there before in this trial.",
    "no-change": "The last action changed nothing on the screen.",
    incomplete: "Nothing further was planned.",
    exception: "A reply could not be read, or an action could not be carried out.",
    "step-limit": "The trial used all its actions.",
  };

  const result = (item) => {
    if (item.status === "solved") return item.solvedAt > 1 ? `solved, trial ${item.solvedAt}` : "solved";
    return item.status;
  };
  const conclusive = (item) => item.status === "solved" || item.status === "unsolved";
  const sign = (item) => (item.status === "solved" ? String(item.solvedAt) : SIGNS[item.status]);
  const shade = (item) =>
    (item.status === "solved" ? `solved t${Math.min(5, item.solvedAt)}` : item.status);
  const link = (id, ...rest) => `#/item/${[id, ...rest].join("/")}`;
  const badge = (item) => [
    h("span", { class: `badge ${item.status}` }, result(item)),
    item.change ? h("span", { class: `badge ${item.change}` }, item.change) : null,
  ];

  // The id without the number of a sample or of a second test: what a baseline compares.
  const itemOf = (one) => one.id.replace(/[-~]\d+(~\d+)?$/, "");

  // The same item, clean and perturbed or attacked: `shop/1000` and `shop~overlay/1000`.
  const clean = (id) => id.replace(/~[a-z][\w-]*(?=\/[^/]*$)/, "");
  const twins = (id) => run.items.filter((one) => one.id !== id && clean(one.id) === clean(id));

  const run = { items: [], setup: [] }; // the index
  const byId = new Map();
  const loaded = new Map(); // the data of items that were opened

  const grouped = (items, key) => Map.groupBy(items, (one) => one[key]);

  // In the order of their names, with their items.
  const byName = (items, key) => [...grouped(items, key)].sort(([a], [b]) => compare(a, b));

  const compare = (a, b) => {
    for (let index = 0; index < Math.max([a].flat().length, [b].flat().length); index++) {
      const [x, y] = [[a].flat()[index], [b].flat()[index]];
      const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
      if (order) return order;
    }
    return 0;
  };

  // What the overview shows: its filters and order, which its address holds.
  const view = { status: "", category: "", task: "", cause: "", q: "", sort: "result", down: "" };

  const viewHash = () => {
    const given = Object.entries(view).filter(([name, value]) => value && !(name === "sort" && value === "result"));
    return given.length ? `#/?${new URLSearchParams(given)}` : "#/";
  };

  const change = (what) => {
    Object.assign(view, what);
    location.replace(viewHash());
  };

  return {
    STATUSES, CHANGES, ENDINGS, result, conclusive, sign, shade, link, badge, itemOf, twins, run, byId, loaded, grouped, byName, compare,
    view, viewHash, change,
  };
})();
