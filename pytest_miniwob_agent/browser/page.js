// Runs in every new document, before the task's own scripts: fixes the page's clock and its look, and
// reads it. `FONT`, `EPOCH` and `SETTLE` are filled in by browser.py.
(() => {
  "use strict";

  // --- Time and chance: a clock of the page's own, which stands still until `pass` moves it on. ---

  const RealDate = Date;
  const realFrame = window.requestAnimationFrame.bind(window);
  let now = EPOCH;
  let nextTimer = 1;
  const timers = new Map(); // id -> { at, id, run, every }

  const add = (callback, delay, every, args) => {
    const run = typeof callback === "function" ? () => callback(...args) : new Function(callback);
    const wait = Math.max(every ? 4 : 1, Math.ceil(Number(delay) || 0));
    timers.set(nextTimer, { at: now + wait, id: nextTimer, run, every: every ? wait : 0 });
    return nextTimer++;
  };
  const remove = (id) => void timers.delete(id);
  window.setTimeout = (callback, delay, ...args) => add(callback, delay, false, args);
  window.setInterval = (callback, delay, ...args) => add(callback, delay, true, args);
  // Nobody watches an animation, so that ten frames a second will do.
  window.requestAnimationFrame = (callback) => add(() => callback(performance.now()), 100, false, []);
  window.requestIdleCallback = (callback) =>
    add(() => callback({ didTimeout: false, timeRemaining: () => 50 }), 1, false, []);
  window.clearTimeout = window.clearInterval = remove;
  window.cancelAnimationFrame = window.cancelIdleCallback = remove;
  performance.now = () => now - EPOCH;
  window.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length ? args : [now], newTarget),
    apply: () => new RealDate(now).toString(),
    get: (target, name) => (name === "now" ? () => now : target[name]),
  });

  // What is random before the seed is set: a linear congruential generator, the same every time.
  let state = 1;
  Math.random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };

  // Let `duration` ms pass: run the timers that fall due, in order, and what they promise.
  const pass = async (duration) => {
    const end = now + duration;
    for (;;) {
      let next = null;
      for (const timer of timers.values()) {
        if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
      }
      if (!next) break;
      now = Math.max(now, next.at);
      if (next.every) next.at = now + next.every;
      else timers.delete(next.id);
      try {
        next.run();
      } catch (error) {
        console.error(error); // as the browser does with an error in a timer
      }
      await null;
    }
    now = end;
  };

  // Images are the only thing that a page waits for in real time.
  const images = [];
  const loaded = () => Promise.all([...document.images, ...images].map((image) => image.complete
    || new Promise((resolve) => {
      image.addEventListener("load", resolve);
      image.addEventListener("error", resolve);
    })));

  // Where the layout has changed under a pointer at rest, the browser says so to the page with the
  // next frame, a matter of real time: wait for it.
  let pointer = null;
  window.addEventListener("mousemove", (event) => { pointer = [event.clientX, event.clientY]; }, true);
  const hover = async () => {
    if (!pointer) return;
    const under = document.elementFromPoint(...pointer);
    const hovered = [...document.querySelectorAll(":hover")].pop() ?? null;
    if (under !== hovered) await new Promise(realFrame);
  };

  const settle = async () => {
    await loaded();
    await pass(SETTLE);
    await hover();
    await pass(SETTLE);
    await loaded();
  };

  // Nobody is there to answer a dialog, or to look at another window.
  window.alert = window.print = () => undefined;
  window.confirm = () => false;
  window.prompt = window.open = () => null;
  // As the browser would say it, but by the page's clock.
  navigator.geolocation.getCurrentPosition = navigator.geolocation.watchPosition = (_, failed) =>
    add(() => failed?.({ code: 1, message: "User denied Geolocation" }), 1, false, []);

  // A clipboard of the page's own: the machine's is shared with other browsers and programs, and
  // outlasts the trial. As in any browser, a password can't be copied, and text that can't be changed
  // not be cut.
  let clipboard = "";
  const marked = () => {
    const { selectionStart, selectionEnd, value, type } = document.activeElement ?? {};
    if (type === "password") return "";
    return (typeof selectionStart === "number" && value.slice(selectionStart, selectionEnd))
      || getSelection().toString();
  };
  window.addEventListener("copy", (event) => {
    clipboard = marked() || clipboard;
    event.preventDefault();
  }, true);
  window.addEventListener("cut", (event) => {
    const text = marked();
    if (text && document.execCommand("delete")) clipboard = text;
    event.preventDefault();
  }, true);
  window.addEventListener("paste", (event) => {
    event.preventDefault();
    document.execCommand("insertText", false, clipboard);
  }, true);

  // A flight task's page is in a frame of the task's. Its list of airports is loaded when it is first
  // asked for: have it wait. Where the page leads elsewhere, the task ends the trial once the other
  // page is there: end it at once. Both would be matters of real time.
  if (window !== top) {
    const { open } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (method, url) { open.call(this, method, url, false); };
    navigation.addEventListener("navigate", (event) => {
      if (event.hashChange) return;
      event.preventDefault();
      parent.core.endEpisode(-1, false, "navigated away");
    });
  }

  // --- Look: one font for everything, nothing that moves by itself. ---

  const family = "miniwob-agent";
  const bytes = Uint8Array.fromBase64 // many times faster; Chromium 140 and later
    ? Uint8Array.fromBase64(FONT)
    : Uint8Array.from(atob(FONT), (character) => character.charCodeAt(0));
  // One face for all weights and styles: no bold or italic file, so no other metrics.
  document.fonts.add(new FontFace(family, bytes.buffer, { weight: "1 1000" }));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* {
    font-family: ${family} !important;
    font-synthesis: none !important;
    caret-color: transparent !important;
    transition: none !important;
    animation: none !important;
    scroll-behavior: auto !important;
  }
  /* Widths of the font's own, not the machine's; but the text of pictures is scaled, and what is
     scaled to nothing would get a size. */
  * { text-rendering: geometricPrecision !important; }
  svg, svg * { text-rendering: auto !important; }
  /* Of flight tasks: in the corner of the viewport and no higher, so that all of it can be clicked. */
  iframe#wrap { position: fixed !important; inset: 0 !important; height: 100vh !important; }`);
  document.adoptedStyleSheets = [sheet];

  // --- Reading ---

  const IGNORED_IDS = new Set(["reward-display", "sync-task-cover", "click-canvas", "query"]);
  const IGNORED_TAGS = new Set(["script", "style", "br", "hr", "template", "defs", "title", "wbr"]);
  const ids = new WeakMap(); // element -> id
  const byId = new Map(); // id -> element
  let nextId = 1;

  // Whether a person could bring a box inside `parent` into sight by scrolling alone: not of size 0
  // and not cut off by an ancestor that hides what overflows it.
  const reachable = (rect, parent) => {
    let { left, top, right, bottom } = rect;
    for (let up = parent; up && up !== document.body; up = up.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(up);
      const box = up.getBoundingClientRect();
      if (overflowX === "hidden" || overflowX === "clip") {
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      } else if (overflowX !== "visible") {
        [left, right] = [box.left, box.right];
      }
      if (overflowY === "hidden" || overflowY === "clip") {
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      } else if (overflowY !== "visible") {
        [top, bottom] = [box.top, box.bottom];
      }
    }
    return right - left > 1 && bottom - top > 1 && right + scrollX > 0 && bottom + scrollY > 0;
  };

  const visible = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && reachable(element.getBoundingClientRect(), element.parentElement);

  // Where a box inside `parent` has its middle when nothing is scrolled.
  const place = (rect, parent) => {
    let x = rect.left + rect.width / 2 + scrollX;
    let y = rect.top + rect.height / 2 + scrollY;
    for (let up = parent; up && up !== document.body; up = up.parentElement) {
      x += up.scrollLeft;
      y += up.scrollTop;
    }
    return [Math.round(x), Math.round(y)];
  };

  // A point at which a click lands on the element, its middle if that will do; null where the
  // element is out of sight or covered.
  const target = (element) => {
    const rect = element.getClientRects()[0] ?? element.getBoundingClientRect();
    for (const [fx, fy] of [[0.5, 0.5], [0.5, 0.25], [0.5, 0.75], [0.25, 0.5], [0.75, 0.5],
      [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]) {
      const x = Math.floor(rect.left + rect.width * fx);
      const y = Math.floor(rect.top + rect.height * fy);
      const hit = document.elementFromPoint(x, y);
      if (hit && (element === hit || element.contains(hit))) return [x, y];
    }
    return null;
  };

  const inViewport = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;

  // The whole pixel at a place in an element, its middle where no place is given.
  const spot = (element, at) => {
    if (!at) {
      const { left, top, width, height } = element.getBoundingClientRect();
      return target(element) ?? [Math.floor(left + width / 2), Math.floor(top + height / 2)];
    }
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [Math.min(Math.ceil(left + at[0]), Math.ceil(right) - 1),
      Math.min(Math.ceil(top + at[1]), Math.ceil(bottom) - 1)];
  };

  // What is wrong with an element, or with a place in it; nothing if all is well.
  const fault = (id, at) => {
    const element = byId.get(id);
    if (!element?.isConnected || !visible(element)) {
      return `the element with id=${id} can't be brought into sight`;
    }
    const { width, height } = element.getBoundingClientRect();
    if (!at || (at[0] >= 0 && at[1] >= 0 && at[0] < width && at[1] < height)) return "";
    return `the place ${at} is not inside the element with id=${id}, `
      + `which is ${Math.ceil(width)} x ${Math.ceil(height)} pixels`;
  };

  // A list scrolls back to what was selected last, a few frames later.
  const frames = async () => {
    for (let count = 0; count < 3; count++) await new Promise(realFrame);
  };

  // The points of places in elements, scrolled into sight together; or what is wrong, in words.
  const aim = async (places) => {
    for (const [id, at] of places) {
      const wrong = fault(id, at);
      if (wrong) return wrong;
      if (inViewport(spot(byId.get(id), at))) continue;
      byId.get(id).scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      await frames();
    }
    const points = places.map(([id, at]) => spot(byId.get(id), at));
    const out = points.findIndex((point) => !inViewport(point));
    if (out < 0) return points;
    return `the element with id=${places[out][0]} can't be brought into sight`
      + (places.length > 1 ? " together with the other" : " there");
  };

  const quote = (text) => `"${text.length > 80 ? `${text.slice(0, 80)}...` : text}"`;

  const squeeze = (text) => text.replace(/\s+/g, " ").trim();

  const text = (node, parent) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    if (!visible(parent) || !reachable(rect, parent)) return [];
    const [x, y] = place(rect, parent);
    return [{ id: null, tag: "text", text: squeeze(node.data), x, y, point: null }];
  };

  const idOf = (element) => {
    if (!ids.has(element)) {
      ids.set(element, nextId);
      byId.set(nextId++, element);
    }
    return ids.get(element);
  };

  const leaf = (element, content) => {
    if (!visible(element)) return [];
    const id = idOf(element);
    let tag = element.tagName.toLowerCase();
    let value = null;
    if (element instanceof HTMLInputElement) {
      tag = `input_${element.type}`;
      value = ["checkbox", "radio"].includes(element.type) ? element.checked : element.value;
    } else if (element instanceof HTMLTextAreaElement) {
      value = element.value;
    } else if (element instanceof HTMLSelectElement) {
      value = squeeze(element.selectedOptions[0]?.text ?? "");
    } else if (element instanceof HTMLOptionElement) {
      value = element.selected;
    }
    const [x, y] = place(element.getBoundingClientRect(), element.parentElement);
    return [{
      id, tag, text: content, value, x, y, point: target(element),
      classes: squeeze(element.getAttribute("class") ?? ""),
      dom_id: element.id,
      placeholder: element.placeholder ?? "",
    }];
  };

  const ignored = (element) =>
    IGNORED_IDS.has(element.id) || IGNORED_TAGS.has(element.tagName.toLowerCase());

  // The visible leaves below an element, or the element itself if no element below it shows. A box
  // around nothing but hidden elements is no leaf, unless it is something to use.
  const leaves = (element) => {
    if (ignored(element)) return [];
    if (element instanceof HTMLTextAreaElement) return leaf(element, "");
    if (element instanceof HTMLSelectElement && !element.multiple && element.size < 2) {
      return leaf(element, "");
    }
    if (element instanceof HTMLOptionElement) return leaf(element, squeeze(element.text));
    const found = [...element.childNodes].flatMap((node) => {
      if (node instanceof Element) return leaves(node);
      return node instanceof Text && node.data.trim() ? text(node, element) : [];
    });
    if (element === document.body || found.some((one) => one.id !== null)) return found;
    if (!found.length && element.childElementCount && !element.matches("a, button, label")) {
      return [];
    }
    return leaf(element, found.map((one) => one.text).join(" "));
  };

  const VOID_TAGS = new Set(["input", "img"]);
  const STATE = new Set(["value", "checked", "selected"]); // as it is now, not as the page began
  // They say nothing that can't be seen, at great length.
  const IGNORED_ATTRIBUTES = /^(on|aria-)|^(style|role|tabindex|data-ref|data-tampered)$/;
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escape = (string) => string.replace(/[&<>"]/g, (character) => ENTITIES[character]);

  const shows = (element) =>
    !ignored(element) && (visible(element) || [...element.children].some(shows));

  // An element that shows as HTML, and what shows of it. Its ids are added to `shown`.
  const markup = (element, shown) => {
    const id = idOf(element);
    shown.push(id);
    const field = element instanceof HTMLInputElement || element instanceof HTMLOptionElement;
    const attributes = [["data-ref", id], ...[...element.attributes]
      .map(({ name, value }) => [name, value])
      .filter(([name]) => !IGNORED_ATTRIBUTES.test(name) && !(field && STATE.has(name)))];
    if (field) attributes.push(["value", element.value]);
    if (element.checked) attributes.push(["checked", ""]);
    if (element.selected) attributes.push(["selected", ""]);
    const tag = element.tagName.toLowerCase();
    const start = attributes.map(([name, value]) => ` ${name}="${escape(String(value))}"`).join("");
    if (VOID_TAGS.has(tag)) return `<${tag}${start}>`;
    return `<${tag}${start}>${content(element, shown)}</${tag}>`;
  };

  const content = (element, shown) => {
    if (element instanceof HTMLTextAreaElement) return escape(element.value);
    if (element instanceof HTMLOptionElement) return escape(squeeze(element.text));
    const parts = [...element.childNodes].map((node) => {
      if (node instanceof Element) { // a closed list has no boxes for its options
        return node instanceof HTMLOptionElement || shows(node) ? markup(node, shown) : "";
      }
      if (!(node instanceof Text)) return "";
      return text(node, element).length ? escape(node.data.replace(/\s+/g, " ")) : " ";
    });
    const mixed = parts.some((part) => part.trim() && !part.startsWith("<"));
    if (mixed) return parts.join("").trim();
    const found = parts.filter((part) => part.trim());
    return found.length ? `\n${found.join("\n")}\n` : "";
  };

  // Fields that hold text.
  const TEXTLESS = new Set(["button", "checkbox", "color", "file", "hidden", "image", "radio",
    "range", "reset", "submit"]);
  const isField = (element) => element instanceof HTMLTextAreaElement
    || (element instanceof HTMLInputElement && !TEXTLESS.has(element.type));

  // The letters of an element that show, without blanks, each with its place in its node.
  const letters = (element) => {
    const found = [];
    const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      if (!visible(node.parentElement)) continue;
      [...node.data].reduce((offset, letter) => {
        if (letter.trim()) found.push({ node, offset, letter });
        return offset + letter.length;
      }, 0);
    }
    return found;
  };

  const edges = ({ node, offset, letter }) => {
    const range = document.createRange();
    range.setStart(node, offset);
    range.setEnd(node, offset + letter.length);
    const { left, right, top, height } = range.getClientRects()[0] ?? range.getBoundingClientRect();
    const y = Math.floor(top + height / 2);
    return { start: [Math.ceil(left), y], end: [Math.floor(right), y] };
  };

  // How to mark a text, all of it where none is given: from which point to which, or in a field from
  // which letter and how many, at a click on a point. Or what is wrong, in words.
  const range = async (id, wanted) => {
    const aimed = await aim([[id, null]]);
    if (typeof aimed === "string") return aimed;
    const element = byId.get(id);
    const missing = `the element with id=${id} has no text ${wanted === null ? "" : `${quote(wanted)} `}`
      + "that can be selected";
    if (element.disabled) return missing;
    if (isField(element)) {
      if (wanted === null) return { point: aimed[0] };
      const before = element.value.indexOf(wanted);
      if (!wanted || before < 0 || element.selectionStart === null) return missing;
      const count = (text) => [...new Intl.Segmenter().segment(text)].length;
      return { point: aimed[0], skip: count(element.value.slice(0, before)), take: count(wanted) };
    }
    const found = letters(element);
    const part = (wanted ?? found.map(({ letter }) => letter).join("")).replace(/\s+/g, "");
    const sought = [...part];
    const first = found.findIndex((_, index) =>
      sought.every((letter, at) => found[index + at]?.letter === letter));
    const pressable = element.closest("a, button, summary"); // which the mouse would use or drag
    if (!part || first < 0 || pressable || getComputedStyle(element).userSelect === "none") {
      return missing;
    }
    const { start } = edges(found[first]);
    const { end } = edges(found[first + sought.length - 1]);
    for (const [x, y] of [start, [end[0] - 1, end[1]]]) {
      if (!element.contains(document.elementFromPoint(x, y))) {
        return `the text to be selected in the element with id=${id} is not all in sight`;
      }
    }
    getSelection().removeAllRanges(); // or it would be dragged
    return { start, end };
  };

  // Where to click a drop-down list, and how many keys down from its first option the wanted one is;
  // or what is wrong, in words.
  const option = async (id, wanted) => {
    const aimed = await aim([[id, null]]);
    if (typeof aimed === "string") return aimed;
    const element = byId.get(id);
    if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) {
      return `the element with id=${id} is no drop-down list`;
    }
    if (element.matches(":disabled")) return `the list with id=${id} can't be used now`;
    const names = [...element.options]
      .filter((one) => !one.matches(":disabled") && !one.hidden)
      .map((one) => squeeze(one.text));
    const at = names.indexOf(squeeze(wanted));
    if (at >= 0) return { point: aimed[0], down: at };
    const few = names.slice(0, 20).map(quote).join(", ");
    return `the list with id=${id} has no option ${quote(wanted)}; it has ${few}`
      + (names.length > 20 ? ` and ${names.length - 20} more` : "");
  };

  // The document that shows the task: this one, or that in the frame of a flight task. The frame's
  // coordinates are the viewport's.
  const page = () => document.querySelector("iframe#wrap")?.contentWindow.miniwobAgent
    ?? window.miniwobAgent;

  const settled = async () => {
    await settle();
    if (page() !== window.miniwobAgent) await page().settle();
  };

  const read = () => {
    const utterance = core.getUtterance();
    return {
      goal: utterance.utterance ?? utterance,
      done: WOB_DONE_GLOBAL,
      reward: WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : 0,
      elements: WOB_DONE_GLOBAL ? [] : page().leaves(),
    };
  };

  // Images that only a rule such as :hover brings in. Unless they are there before the pointer is,
  // the element has no size while its image loads, and the click goes through it.
  const preload = () => {
    for (const sheet of document.styleSheets) {
      if (sheet.href) continue; // not readable from file://; jquery-ui's, backgrounds only
      for (const { cssText } of sheet.cssRules) {
        for (const [, url] of cssText.matchAll(/url\("([^"]+)"\)/g)) {
          const image = new Image();
          image.src = url;
          images.push(image); // held, or the browser would drop it again
        }
      }
    }
  };

  // The pointer, for people who watch the window. It is not in the body, which is what is read, and
  // nothing can be pointed at through it but what is below.
  let arrow = null;
  const point = (x, y) => {
    if (!arrow) {
      arrow = document.createElement("miniwob-pointer");
      arrow.attachShadow({ mode: "closed" }).innerHTML = `<svg width="18" height="26" \
style="display: block" fill="#e11" stroke="#fff" stroke-width="1.5" stroke-linejoin="round">\
<path d="M1 1 L1 20 L5.5 16 L9 24 L12 22.5 L8.8 15 L15 15 Z"/></svg>`;
    }
    arrow.style = "all: initial; position: fixed; z-index: 2147483647; pointer-events: none; "
      + `left: ${x - 1}px; top: ${y - 1}px`;
    document.documentElement.append(arrow);
  };

  window.miniwobAgent = {
    // Generate the problem and read it.
    start: async (seed) => {
      preload();
      await loaded();
      await pass(SETTLE); // what the page's own scripts put off until it is loaded
      core.EPISODE_MAX_TIME = 2 ** 31 - 1;
      core.setDataMode?.("train");
      Math.seedrandom(seed);
      core.startEpisodeReal();
      while (!WOB_TASK_READY) await new Promise(realFrame); // a flight task's frame loads
      await settled();
      return read();
    },
    // Read what an action led to; the browser turns a wheel with its next frame.
    read: async (wheel) => {
      if (wheel) await frames();
      await settled();
      return read();
    },
    // The visible page as HTML, and the ids in it.
    html: () => WOB_DONE_GLOBAL ? ["", []] : page().markup(),
    // Ask the document that shows the task how to carry out an action.
    ask: (what, ...about) => page()[what](...about),
    point,
    // What a picture has to show, the task's area and elements beyond it, and what is at some points.
    view: async (points) => {
      arrow?.remove(); // it is no part of the page
      // What was drawn last may be a frame behind on a busy machine, and a picture would show that.
      for (let frames = 0; frames < 2; frames++) await new Promise(realFrame);
      const { seen, at } = page().boxes(points);
      const right = Math.max(160, ...seen.map(([left, , width]) => left + width));
      const bottom = Math.max(210, ...seen.map(([, top, , height]) => top + height));
      return { size: [Math.min(right, innerWidth), Math.min(bottom, innerHeight)], boxes: at };
    },
    // The boxes of the innermost elements in sight, and of those at some points: left, top, width,
    // height.
    boxes: (points) => {
      const box = (element) => {
        const { left, top, right, bottom } = element.getBoundingClientRect();
        const [x, y] = [Math.floor(left), Math.floor(top)];
        return [x, y, Math.ceil(right) - x, Math.ceil(bottom) - y];
      };
      const seen = [...byId.values()].filter((one) => one.isConnected && visible(one) && target(one)
        && ![...one.querySelectorAll("*")].some((inner) => ids.has(inner)));
      const at = points.flatMap(([x, y]) => {
        let hit = document.elementFromPoint(x, y);
        while (hit && !ids.has(hit)) hit = hit.parentElement;
        return hit ? [hit] : [];
      });
      return { seen: seen.map(box), at: at.map(box) };
    },
    settle,
    leaves: () => leaves(document.body),
    markup: () => {
      const shown = [];
      return [markup(document.body, shown), shown];
    },
    // Scroll an element into sight; the point to click, or null where it can't be brought there.
    reach: async (id) => {
      const element = byId.get(id);
      if (!element?.isConnected || !visible(element)) return null;
      let point = null;
      for (let tries = 0; tries < 5 && !point; tries++) {
        element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
        await frames();
        point = target(element);
      }
      if (point) return point;
      const { left, top, width, height } = element.getBoundingClientRect();
      const middle = [Math.floor(left + width / 2), Math.floor(top + height / 2)];
      return inViewport(middle) ? middle : null;
    },
    aim,
    range,
    option,
    marked,
    copied: () => clipboard,
  };
})();
