// Draws the report from the data beside it. All text of pages and models is put into text nodes, never
// into markup; `h` is the only way in which elements are made.
// In one file because a page that is opened from disk can't load modules.
"use strict";

const miniwobReport = (() => {
  // --- Making elements ---

  const SVG = "http://www.w3.org/2000/svg";
  const SHAPES = new Set(["svg", "path", "line", "circle", "rect", "polyline", "text", "g"]);

  // An element with attributes, listeners (`onclick`) and children; texts become text nodes.
  const h = (tag, attributes, ...children) => {
    const node = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...some(children));
    return node;
  };
  const some = (children) => children.flat(Infinity).filter((child) => (child ?? false) !== false);

  // Characters that don't show, halves of one, and those that turn the order of others around, are
  // written out; the five at the end are letters that are blank.
  const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;
  const code = (char) => `[U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  const plain = (text) => String(text).replace(HIDDEN, code);

  const $ = (id) => document.getElementById(id);
  const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
  const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  const percent = (part, whole) => (whole ? `${Math.round((1000 * part) / whole) / 10}%` : "–");
  const say = (text) => { $("said").textContent = text; };

  // --- Meaning of the data ---

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

  const SECTIONS = { text: "Completion", calls: "Tool calls", reasoning: "Reasoning", refusal: "Refusal" };

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

  let run = null; // the index
  let byId = new Map();
  const loaded = new Map(); // the data of items that were opened

  // --- Overview ---

  const COLUMNS = [
    ["item", "Item", (one) => one.id, ""],
    ["result", "Result", (one) => [STATUSES.indexOf(one.status), one.solvedAt ?? 0], ""],
    ["ending", "Ending", (one) => one.ending, "wide"],
    ["trials", "Trials", (one) => one.trials, "number wide"],
    ["steps", "Actions", (one) => one.steps, "number wide"],
    ["calls", "Calls", (one) => one.calls, "number"],
    ["tokens", "Tokens", (one) => one.tokens ?? -1, "number wide"],
  ];

  const view = { status: "", category: "", task: "", q: "", sort: "item", down: "" };
  let shownItems = []; // the items that match, in their order
  let overview = null; // its elements, once drawn

  const viewHash = () => {
    const given = Object.entries(view).filter(([name, value]) => value && !(name === "sort" && value === "item"));
    return given.length ? `#/?${new URLSearchParams(given)}` : "#/";
  };

  const matches = (one) =>
    (!view.status || one.status === view.status || one.change === view.status)
    && (!view.category || one.category === view.category)
    && (!view.task || one.task === view.task)
    && view.q.toLowerCase().split(/\s+/).every((word) => one.status.startsWith(word) || one.text.includes(word));

  const compare = (a, b) => {
    for (let index = 0; index < Math.max([a].flat().length, [b].flat().length); index++) {
      const [x, y] = [[a].flat()[index], [b].flat()[index]];
      const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
      if (order) return order;
    }
    return 0;
  };

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

  const grouped = (items, key) => {
    const groups = new Map();
    for (const one of items) {
      if (!groups.has(one[key])) groups.set(one[key], []);
      groups.get(one[key]).push(one);
    }
    return groups;
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

  // A table for each category, of the seeds that it has.
  const heatMap = () => {
    const cells = new Map();
    const rows = [];
    const tables = [...grouped(run.items, "category")].sort(([a], [b]) => compare(a, b)).map(([category, members]) => {
      const seeds = [...grouped(members, "seed").keys()].sort(compare);
      const body = h("tbody");
      for (const [task, items] of [...grouped(members, "task")].sort(([a], [b]) => compare(a, b))) {
        const places = new Map(seeds.map((seed) => [seed, h("td")]));
        for (const one of items) {
          const what = `${task} ${one.seed}: ${[result(one), one.change].filter(Boolean).join(", ")}`;
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
      return h("table", { class: "heat" }, h("caption", {}, category),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Task"),
          seeds.map((seed) => h("th", { scope: "col", class: "seed" }, h("span", {}, seed))),
          h("th", { scope: "col", class: "number" }, "Solved"))), body);
    });
    const legend = [["solved t1", "1", "solved in the first trial"], ["solved t2", "2", "in a later one"],
      ["unsolved", "×", "unsolved"], ["drifted", "≠", "drifted"], ["error", "!", "error"], ["waiting", "…", "waiting"], ["budget", "$", "budget"]]
      .filter(([name], index) => index < 4 || run.items.some((one) => one.status === name));
    const element = h("section", { class: "map" }, h("h2", {}, "Task by seed"),
      h("ul", { class: "legend" }, legend.map(([name, mark, meaning]) =>
        h("li", {}, h("span", { class: `cell ${name}`, "aria-hidden": "true" }, mark), " ", meaning)),
        run.items.some((one) => one.change) ? h("li", {}, h("span", { class: "cell unsolved regressed", "aria-hidden": "true" }, "×"), " framed: changed against the baseline") : null),
      h("div", { class: "scroll maps", role: "region", "aria-label": "Task by seed", tabindex: "0" }, tables));
    return { element, cells, rows, tables };
  };

  const itemTable = () => {
    const heads = COLUMNS.map(([name, label, , kind]) => h("th", { scope: "col", class: kind },
      h("button", { type: "button", class: "sort", "data-sort": name,
        onclick: () => change({ sort: name, down: view.sort === name && !view.down ? "1" : "" }) }, label)));
    const body = h("tbody");
    const rows = new Map(run.items.map((one) => [one.id, h("tr", {},
      h("th", { scope: "row" },
        h("a", { href: link(one.id) }, one.task, " ", h("span", { class: "seed" }, one.seed)),
        h("span", { class: "goal" }, plain(one.goal || one.category))),
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
    $("overview").append(h("h1", { class: "unseen" }, "Overview"), headline(), completion(), filters(),
      overview.map.element, overview.table.element);
  };

  // Show what the filters select. The list is taken out of the page while its rows change places.
  const update = () => {
    const [, , key] = COLUMNS.find(([name]) => name === view.sort);
    const keyed = run.items.filter(matches).map((one) => [key(one), one]);
    keyed.sort(([a, one], [b, other]) => (view.down ? -1 : 1) * compare(a, b) || compare(one.id, other.id));
    shownItems = keyed.map(([, one]) => one);
    const ids = new Set(shownItems.map((one) => one.id));
    const { map, table } = overview;
    for (const [id, cell] of map.cells) cell.hidden = !ids.has(id);
    for (const [row, items] of map.rows) row.hidden = !items.some((one) => ids.has(one.id));
    for (const table of map.tables) table.hidden = ![...table.tBodies[0].rows].some((row) => !row.hidden);
    table.body.replaceChildren(...shownItems.map((one) => table.rows.get(one.id)));
    COLUMNS.forEach(([name], index) => {
      const sorted = view.down ? "descending" : "ascending";
      if (name === view.sort) table.heads[index].setAttribute("aria-sort", sorted);
      else table.heads[index].removeAttribute("aria-sort");
    });
    for (const chip of document.querySelectorAll(".chip")) {
      chip.setAttribute("aria-pressed", String(chip.dataset.status === view.status));
    }
    for (const [id, name] of [["by-category", "category"], ["by-task", "task"], ["by-text", "q"]]) {
      if ($(id).value !== view[name]) $(id).value = view[name];
    }
    $("found").textContent = ids.size === run.items.length
      ? `All ${counted(ids.size, "item")}` : `${count(ids.size)} of ${counted(run.items.length, "item")}`;
  };

  const change = (what) => {
    Object.assign(view, what);
    location.replace(viewHash());
  };

  // --- Item ---

  let open = null; // id, data, position in its frames, elements that a step changes

  const frameName = (frame) => (frame.action ? plain(frame.action.text)
    : frame.end ? frame.end.ending : frame.trial ? "stopped here" : "before the first trial");

  const picture = (item, frame, small) => {
    if (!frame.picture) return null;
    const { name, size: [width, height], points, boxes } = frame.picture;
    if (!/^[0-9a-f]{16}\.png$/.test(name)) return null;
    const image = h("img", { src: `pictures/${name}`, width, height, loading: small && "lazy", decoding: "async",
      alt: small ? "" : `The page of ${item.task} ${frame.action ? `before ${plain(frame.action.text)}` : "at the end of the trial"}` });
    const marks = h("svg", { viewBox: `0 0 ${width} ${height}`, class: "marks", "aria-hidden": "true", focusable: "false" },
      boxes.map(([x, y, w, hh]) => ["under", "over"].map((layer) =>
        h("rect", { x: x - 1, y: y - 1, width: w + 2, height: hh + 2, rx: 2, class: layer }))),
      points.length > 1 ? ["under", "over"].map((layer) =>
        h("polyline", { points: points.map((point) => point.join(",")).join(" "), class: layer })) : null,
      points.map(([cx, cy], index) => [h("circle", { cx, cy, r: 3, class: "under" }),
        h("circle", { cx, cy, r: 1.8, class: index < points.length - 1 ? "dot from" : "dot" })]));
    const box = h("div", { class: small ? "picture small" : "picture" }, image, marks);
    box.style.setProperty("--width", width);
    box.style.setProperty("--height", height);
    if (!small && frame.action?.typed && (boxes.length || points.length)) {
      const [x, y, , hh] = boxes[0] ?? [points[0][0], points[0][1], 0, 4];
      const typed = h("span", { class: "typed" }, plain(frame.action.typed));
      typed.style.left = `${(100 * Math.max(0, x)) / width}%`;
      typed.style.top = `${(100 * (y + hh + 3)) / height}%`;
      box.append(typed);
    }
    return box;
  };

  const outcome = (frame) => {
    const { action, end } = frame;
    const lines = [];
    if (action) {
      if (action.error) lines.push(["bad", `Not possible: ${plain(action.error)}`]);
      else if (action.done) lines.push([action.reward >= 1 ? "good" : "bad", `The page judged: reward ${String(action.reward).replace("-", "−")}`]);
      else lines.push(["", action.changed ? "The screen changed." : "The screen stayed as it was."]);
    }
    if (end) lines.push([end.ending === "correct" ? "good" : "bad", `${end.ending}: ${ENDINGS[end.ending] ?? ""} ${plain(end.detail)}`.trim()]);
    return lines.map(([kind, text]) => h("p", { class: `result ${kind}` }, text));
  };

  const block = (label, text, kind) => h("div", { class: "block" }, h("p", { class: "label" }, label),
    h("pre", { class: kind, tabindex: "0", role: "group", "aria-label": label, dir: "ltr" }, withPictures(text)));

  // A text with the pictures that were sent with it in their places, where the report has them.
  const withPictures = (text) => plain(text).split(/(\[picture pictures\/[0-9a-f]{16}\.png\])/).map((part) => {
    const [name] = part.startsWith("[picture pictures/") ? part.match(/[0-9a-f]{16}\.png/) : [];
    return open?.data.sent?.includes(name)
      ? h("img", { src: `pictures/${name}`, class: "sent", alt: part, loading: "lazy", decoding: "async" }) : part;
  });

  // The pictures of a call that drifted: as recorded, as they are now, and where they differ.
  const changedPictures = (changed) => changed.map((each) => h("figure", { class: "changed" },
    h("figcaption", {}, plain(each.what)),
    h("div", { class: "three" }, ["recorded", "present", "difference"].filter((kind) => each[kind]).map((kind) =>
      h("div", {}, h("p", { class: "label" }, kind),
        h("img", { src: `pictures/${each[kind]}`, class: "sent", alt: `${each.what}, ${kind}`, loading: "lazy", decoding: "async" }))))));

  const callOf = (call, index, all) => {
    const { text, prompt_tokens: asked, completion_tokens: answered } = call.completion;
    const sections = call.sections ?? [["text", text]];
    const end = sections.find(([name]) => name === "finish reason");
    const facts = [`call${all.length > 1 ? ` ${index + 1} of ${all.length}` : ""}`,
      asked === null ? "" : `${count(asked)} + ${count(answered)} tokens`, end ? `finish reason: ${plain(end[1])}` : ""];
    return h("details", { class: "call", open: true },
      h("summary", {}, h("span", { class: "purpose" }, plain(call.purpose)),
        h("span", { class: "hint" }, facts.filter(Boolean).join(" · "))),
      sections.filter((section) => section !== end).map(([name, said]) => block(SECTIONS[name] ?? plain(name).replace(/^c/, "C"), said, "said")),
      call.messages ? messagesOf(call) : block("Prompt", call.prompt, "asked"));
  };

  // The part of a conversation that is new in a call.
  const messagesOf = (call) => {
    const asBefore = call.messages.length ? counted(call.earlier, "earlier message") : "The same messages as in the call before";
    const facts = [call.tools ? `Tools offered: ${plain(call.tools.join(", ")) || "none"}` : "", call.earlier ? asBefore : ""];
    return [facts.filter(Boolean).map((fact) => h("p", { class: "hint" }, fact)),
      call.messages.map((message) => block(`Message: ${plain(message.role)}`, message.text, "asked"))];
  };

  const reflectionOf = ({ reflection, calls, end }) => {
    const suggested = [...calls].reverse().find((call) => call.purpose === "reflect");
    const enforced = reflection.step === null ? "nothing: the reply could not be read"
      : `${plain(reflection.action)}, as action ${reflection.step} of ${end ? "the next" : "this"} trial`;
    return h("section", { class: "reflection" }, h("h3", {}, "Reflection"), h("dl", {},
      suggested ? [h("dt", {}, "Suggested"), h("dd", {}, plain(suggested.completion.text))] : null,
      h("dt", {}, "Enforced"), h("dd", { class: "mono" }, enforced),
      h("dt", {}, "Disabled"), h("dd", { class: "mono" }, reflection.disabled.length
        ? `clicks on id=${reflection.disabled.join(", id=")}` : "no id")));
  };

  // Several actions may come of one call.
  const earlierCall = (one, frames, index) => {
    if (!frames[index].action) return null;
    const from = frames.slice(0, index).reverse().find((frame) => frame.trial === frames[index].trial && frame.calls.length);
    return h("p", { class: "hint" }, from
      ? ["No call was made for this action; the last one before it was ", h("a", { href: link(one.id, from.trial, from.step) }, `at action ${from.step}`), "."]
      : "No call was made for this action, nor before it in this trial.");
  };

  // A remark, which an agent may add for its own purposes.
  const otherOf = (event) => h("section", { class: "reflection" }, h("h3", {}, plain(event.kind)), h("dl", {},
    Object.entries(event).filter(([name]) => !["kind", "trial"].includes(name)).map(([name, value]) => [
      h("dt", {}, plain(name)), h("dd", {}, plain(typeof value === "string" ? value : JSON.stringify(value)))])));

  const drawItem = (one, data) => {
    const frames = data.frames;
    const trials = [...grouped(frames, "trial")];
    const thumbs = frames.map((frame) => h("a", { class: frame.picture || frame.action ? "frame" : "frame last", href: link(one.id, frame.trial, frame.step) },
      picture(one, frame, true) ?? h("span", { class: "blank", "aria-hidden": "true" },
        frame.action ? frame.step : frame.end?.ending === "correct" ? "✓" : "×"),
      h("span", { class: "caption" }, frame.action ? h("b", {}, `${frame.step} `) : null, frameName(frame))));
    const strip = h("div", { class: "strip" }, trials.map(([trial, members]) => {
      const end = members.find((frame) => frame.end)?.end;
      return h("section", { class: "trial", "aria-label": `Trial ${trial}` },
        h("h3", {}, trial ? `Trial ${trial}` : "Before", " ",
          end ? h("span", { class: `ending ${end.ending === "correct" ? "good" : ""}` }, end.ending) : null),
        h("ol", {}, members.map((frame) => h("li", {}, thumbs[frames.indexOf(frame)]))));
    }));
    const facts = [counted(one.trials, "trial"), counted(one.steps, "action"), counted(one.calls, "call"),
      one.tokens === null ? null : counted(one.tokens, "token"),
      data.reward === null || one.status === "solved" ? null : `best reward ${String(data.reward).replace("-", "−")}`].filter(Boolean);
    const nav = h("nav", { class: "path", "aria-label": "Items" });
    const stage = h("section", { class: "stage", "aria-label": "Step" });
    const head = h("h1", { tabindex: "-1" }, one.task, " ", h("span", { class: "seed" }, one.seed));
    $("item").replaceChildren(...some([nav,
      h("header", { class: "title" }, head, h("p", { class: "state" }, badge(one), h("span", { class: "hint" }, one.category))),
      one.goal ? h("p", { class: "goal" }, plain(one.goal)) : null,
      h("p", { class: "hint" }, facts.join(" · ")),
      data.reason ? h("section", { class: "reason" }, h("h2", {}, one.status === "drifted" ? "Why it drifted" : "Why there is no result"), reasonOf(data.reason), changedPictures(data.changed ?? [])) : null,
      data.note ? h("p", { class: "note" }, plain(data.note)) : null,
      frames.length ? h("h2", {}, "Film") : null,
      frames.length ? strip : null, frames.length ? stage : null,
      h("details", { class: "about" }, h("summary", {}, "Agent, model and prompts"), h("dl", {},
        data.about.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: "mono" }, plain(value))])))]));
    open = { id: one.id, one, data, at: -1, thumbs, stage, nav, head };
  };

  // A drift's report is a diff in parts.
  const reasonOf = (text) => h("pre", { tabindex: "0", role: "group", "aria-label": "Reason", dir: "ltr" },
    plain(text).split("\n").map((line) => h("span", {
      class: line.startsWith("+ ") ? "line plus" : line.startsWith("- ") ? "line minus" : "line" }, `${line}\n`)));

  const drawNav = () => {
    const at = shownItems.findIndex((one) => one.id === open.id);
    const other = (offset, label) => {
      const one = at < 0 ? undefined : shownItems[at + offset];
      return one ? h("a", { href: link(one.id), rel: offset < 0 ? "prev" : "next", title: one.id }, label)
        : h("span", { class: "off" }, label);
    };
    open.nav.replaceChildren(h("a", { href: viewHash() }, "← All items"),
      h("span", { class: "turn" }, other(-1, "previous"), h("span", { class: "hint" }, at < 0 ? "" : `${at + 1} of ${shownItems.length}`), other(1, "next")));
  };

  const drawFrame = (index) => {
    const { one, data, thumbs, stage } = open;
    const frame = data.frames[index];
    if (!frame) return;
    open.at = index;
    thumbs.forEach((thumb, other) => {
      if (other === index) thumb.setAttribute("aria-current", "step");
      else thumb.removeAttribute("aria-current");
    });
    thumbs[index].scrollIntoView?.({ block: "nearest", inline: "nearest" });
    const name = !frame.trial ? "Before the first trial"
      : frame.action ? `Trial ${frame.trial}, action ${frame.step}` : `Trial ${frame.trial}, end`;
    const turn = (offset, label, sign) => h("button", { type: "button", class: "plain", "aria-label": label,
      disabled: !data.frames[index + offset], onclick: () => step(offset, label) }, sign);
    stage.replaceChildren(
      h("header", { class: "steps" }, h("h2", {}, name),
        h("div", { class: "turn" }, turn(-1, "Previous step", "←"), h("span", { class: "hint" }, `${index + 1} of ${data.frames.length}`), turn(1, "Next step", "→"))),
      h("div", { class: frame.picture ? "pair" : "pair bare" },
        h("div", { class: "left" }, frame.picture ? h("figure", {}, picture(one, frame, false)) : null),
        h("div", { class: "right" },
          frame.action ? h("p", { class: "action" }, plain(frame.action.text)) : null,
          outcome(frame),
          frame.reflection ? reflectionOf(frame) : null, frame.other.map(otherOf),
          data.screens[frame.screen] === undefined ? null : block("Screen, as compact text", data.screens[frame.screen] || "(nothing on it)", "screen"),
          frame.calls.length ? frame.calls.map(callOf) : earlierCall(one, data.frames, index))));
    document.title = `${one.task} ${one.seed}, ${name.toLowerCase()}: MiniWoB++ report`;
  };

  // Go to another frame. It is drawn at once, as the next key may come before the browser's event of
  // the new address; focus stays on the button that was used.
  const step = (offset, label) => {
    const frame = open.data.frames[open.at + offset];
    if (!frame) return;
    drawFrame(open.at + offset);
    location.replace(link(open.id, frame.trial, frame.step));
    say(`${frame.trial ? `Trial ${frame.trial}, ` : ""}${frameName(frame)}`);
    if (label) open.stage.querySelector(`[aria-label="${label}"]:enabled`)?.focus();
  };

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

  // --- Navigation ---

  const trouble = (text) => {
    $("trouble").textContent = text;
    $("trouble").hidden = false;
    $("overview").hidden = $("item").hidden = true;
  };

  const showItem = (path) => {
    const one = byId.get(path.slice(0, 3).join("/"));
    if (!one) return trouble(`There is no item ${plain(path.slice(0, 3).join("/"))} in this report.`);
    if (!loaded.has(one.id)) return load(one.id); // which comes back here
    const entered = $("item").hidden || open?.id !== one.id;
    if (open?.id !== one.id) drawItem(one, loaded.get(one.id));
    drawNav();
    $("overview").hidden = true;
    $("item").hidden = false;
    const { frames } = open.data;
    const wanted = frames.findIndex((frame) => String(frame.trial) === path[3] && (path[4] === undefined || String(frame.step) === path[4]));
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
    for (const name of Object.keys(view)) view[name] = given.get(name) ?? (name === "sort" ? "item" : "");
    if (!COLUMNS.some(([name]) => name === view.sort)) view.sort = "item";
    const entered = $("overview").hidden;
    $("item").hidden = true;
    $("overview").hidden = false;
    update();
    document.title = "MiniWoB++ report";
    if (entered && open) {
      scrollTo(0, place);
      overview.table.rows.get(open.id)?.querySelector("a").focus({ preventScroll: true });
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
    addEventListener("hashchange", route);
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
      if (!offset || $("item").hidden || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (event.target.closest?.("input, select, textarea, pre")) return;
      event.preventDefault();
      step(offset);
    });
  };

  return {
    // Called by data/index.js and data/items/*.js.
    index: (data) => {
      run = data;
      if (data.unfinished) {
        trouble("This report is empty: the run that writes it has not finished, or had no items.");
        return;
      }
      for (const one of run.items) {
        const trial = one.status === "solved" ? result(one) : ""; // "solved" must not match "unsolved"
        one.text = `${one.id} ${one.goal} ${trial} ${one.change} ${one.ending}`.toLowerCase();
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
