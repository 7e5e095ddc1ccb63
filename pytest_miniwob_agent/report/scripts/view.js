// What the overview shows: its filters and order, which its address holds.
"use strict";

const View = (() => {
  const view = { status: "", category: "", task: "", cause: "", q: "", sort: "result", down: "" };

  const viewHash = () => {
    const given = Object.entries(view).filter(([name, value]) => value && !(name === "sort" && value === "result"));
    return given.length ? `#/?${new URLSearchParams(given)}` : "#/";
  };

  const change = (what) => {
    Object.assign(view, what);
    location.replace(viewHash());
  };

  return { view, viewHash, change };
})();
