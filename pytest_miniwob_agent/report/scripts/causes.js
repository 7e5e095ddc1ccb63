// Why items have no result: each cause once, with the number of its items, which it selects.
"use strict";

const Causes = (() => {
  const { h, plain, count, counted } = Elements;
  const { conclusive, run } = Items;
  const { view, change } = View;

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

  return { causeOf, causes };
})();
