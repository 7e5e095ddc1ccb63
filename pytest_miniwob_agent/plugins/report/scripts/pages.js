// Navigation: which page an address shows, and the functions that data files call.
"use strict";

const miniwobReport = (() => {
  const { h, plain, $ } = Elements;
  const { result, run, byId, loaded, view } = Items;
  const { COLUMNS, drawOverview, update, focusRow } = Overview;
  const { drawItem, drawNav, drawFrame, trialFrom, go, opened } = ItemPage;

  const policy = globalThis.trustedTypes?.createPolicy("miniwob-report", {
    createScriptURL: (url) => {
      if (!/^data\/items\/[\w.~/-]+\.js$/.test(url) || url.includes("..")) throw new TypeError(url);
      return url;
    },
  });

  const load = (id) => {
    const url = `data/items/${id}.js`;
    const script = h("script", { onerror: () => trouble(`${url} is missing: was the folder copied as a whole?`) });
    script.src = policy ? policy.createScriptURL(url) : url;
    document.head.append(script);
  };

  const trouble = (text) => {
    $("trouble").textContent = text;
    $("trouble").hidden = false;
    $("overview").hidden = $("item").hidden = true;
  };

  const showItem = (path) => {
    // Category, task and sample, behind agent and model if there are several; then trial and step.
    const parts = [3, 5].find((length) => byId.has(path.slice(0, length).join("/")));
    if (!parts) return trouble(`There is no item ${plain(path.join("/"))} in this report.`);
    const one = byId.get(path.slice(0, parts).join("/"));
    const [trial, step] = path.slice(parts);
    if (!loaded.has(one.id)) return load(one.id); // which comes back here
    const entered = $("item").hidden || opened()?.id !== one.id;
    if (opened()?.id !== one.id) drawItem(one, loaded.get(one.id));
    const open = opened();
    drawNav();
    $("overview").hidden = true;
    $("item").hidden = false;
    const { frames } = open.data;
    const wanted = frames.findIndex((frame) => String(frame.trial) === trial && (step === undefined || String(frame.step) === step));
    const at = Math.max(0, wanted);
    if (entered || at !== open.at) drawFrame(at);
    if (entered) {
      if (!frames.length) document.title = `${one.task} ${one.seed}: MiniWoB++ report`;
      scrollTo(0, 0);
      open.head.focus({ preventScroll: true });
    }
  };

  let place = 0; // how far the overview was scrolled

  const showOverview = (query) => {
    const given = new URLSearchParams(query);
    for (const name of Object.keys(view)) view[name] = given.get(name) ?? (name === "sort" ? "result" : "");
    if (!COLUMNS.some(([name]) => name === view.sort)) view.sort = "result";
    const entered = $("overview").hidden;
    $("item").hidden = true;
    $("overview").hidden = false;
    update();
    document.title = "MiniWoB++ report";
    if (entered && opened()) {
      scrollTo(0, place);
      focusRow(opened().id);
    }
  };

  const route = () => {
    if (location.hash === "#main") return;
    $("trouble").hidden = true;
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    if (path.startsWith("item/")) {
      if (!$("overview").hidden) place = scrollY;
      showItem(path.slice(5).split("/"));
    } else {
      showOverview(query ?? "");
    }
  };

  const THEMES = ["auto", "light", "dark"];
  const setTheme = (name) => {
    document.documentElement.dataset.theme = name;
    $("theme").textContent = `Theme: ${name}`;
  };
  const remembered = () => {
    try { return localStorage.getItem("miniwob-report-theme"); } catch { return null; } // not allowed from disk everywhere
  };
  const remember = (name) => {
    try { localStorage.setItem("miniwob-report-theme", name); } catch { /* then for this page only */ }
  };

  const listen = () => {
    // One event may come when the address has changed again: the list would be drawn twice, and lose the focus.
    addEventListener("hashchange", ({ newURL }) => { if (newURL === location.href) route(); });
    setTheme(THEMES.includes(remembered()) ? remembered() : "auto");
    $("theme").addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
      setTheme(next);
      remember(next);
    });
    $("skip").addEventListener("click", (event) => {
      event.preventDefault();
      $("main").focus();
    });
    addEventListener("keydown", (event) => {
      const offset = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!offset || $("item").hidden || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.target.closest?.("input, select, textarea, pre")) return;
      event.preventDefault();
      const open = opened();
      if (open.data.frames.length) go(event.shiftKey ? trialFrom(open.at, offset) : open.at + offset);
    });
  };

  // Called by data/index.js and data/items/*.js.
  return {
    index: (data) => {
      Object.assign(run, data);
      if (data.unfinished) {
        trouble("This report is empty: the run that writes it has not finished, or had no items.");
        return;
      }
      for (const one of run.items) {
        const trial = one.status === "solved" ? result(one) : ""; // "solved" must not match "unsolved"
        one.text = `${one.id} ${one.goal} ${trial} ${one.change} ${one.ending} ${one.cause}`.toLowerCase();
        one.seed = one.id.slice(one.id.lastIndexOf("/") + 1);
        one.setup = one.category.split("/").slice(0, -1).join("/"); // of several agents or models
        byId.set(one.id, one);
      }
      const broken = run.broken ? ["the run was interrupted: items that did not run are missing"] : [];
      $("setup").textContent = [...run.setup.map(plain), ...broken].join(" · ");
      drawOverview();
      update();
      listen();
      route();
    },
    item: (data) => {
      loaded.set(data.id, data);
      route();
    },
  };
})();
