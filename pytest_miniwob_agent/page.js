// Runs in every new document, before the task's own scripts: fixes how the page looks and how it is
// read. `FONT` and `BUDGET` are filled in by browser.py.
(() => {
  "use strict";
  const family = "miniwob-agent";
  const bytes = Uint8Array.from(atob(FONT), (c) => c.charCodeAt(0));
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
  }`);
  document.adoptedStyleSheets = [sheet];

  // Frames come in real time, which the virtual clock does not rule; timers it does. Nobody watches
  // an animation, so that ten frames a second will do.
  window.requestAnimationFrame = (callback) => setTimeout(() => callback(performance.now()), 100);
  window.cancelAnimationFrame = (id) => clearTimeout(id);

  const IGNORED_IDS = new Set(["reward-display", "sync-task-cover", "click-canvas", "query"]);
  const IGNORED_TAGS = new Set(["script", "style", "br", "hr", "template", "defs", "title", "wbr"]);
  const ids = new WeakMap(); // element -> id
  const byId = new Map(); // id -> element
  let nextId = 1;
  let settled = null;

  // The virtual clock stands still; this promise is kept once it has been advanced by BUDGET ms.
  const arm = () => {
    settled = new Promise((resolve) => setTimeout(resolve, BUDGET));
  };

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

  const squeeze = (text) => text.replace(/\s+/g, " ").trim();

  const text = (node, parent) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    if (!visible(parent) || !reachable(rect, parent)) return [];
    const [x, y] = place(rect, parent);
    return [{ id: null, tag: "text", text: squeeze(node.data), x, y, point: null }];
  };

  const leaf = (element, content) => {
    if (!visible(element)) return [];
    if (!ids.has(element)) {
      ids.set(element, nextId);
      byId.set(nextId++, element);
    }
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
      id: ids.get(element), tag, text: content, value, x, y, point: target(element),
      classes: squeeze(element.getAttribute("class") ?? ""),
      dom_id: element.id,
      placeholder: element.placeholder ?? "",
    }];
  };

  // The visible leaves below an element, or the element itself if no element below it shows. A box
  // around nothing but hidden elements is no leaf, unless it is something to use.
  const leaves = (element) => {
    if (IGNORED_IDS.has(element.id) || IGNORED_TAGS.has(element.tagName.toLowerCase())) return [];
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

  const read = () => {
    const utterance = core.getUtterance();
    const seen = {
      goal: utterance.utterance ?? utterance,
      done: WOB_DONE_GLOBAL,
      reward: WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : 0,
      elements: WOB_DONE_GLOBAL ? [] : leaves(document.body),
    };
    arm();
    return seen;
  };

  // Images that only a rule such as :hover brings in. Unless they are there before the pointer is,
  // the element has no size while its image loads, and the click goes through it.
  const preload = () => {
    const images = [];
    for (const sheet of document.styleSheets) {
      if (sheet.href) continue; // not readable from file://; jquery-ui's, backgrounds only
      for (const { cssText } of sheet.cssRules) {
        for (const [, url] of cssText.matchAll(/url\("([^"]+)"\)/g)) {
          const image = new Image();
          image.src = url;
          images.push(image);
        }
      }
    }
    return images;
  };

  window.miniwobAgent = {
    // Generate the problem. The page's clock is already frozen; from here on it starts at the
    // same instant every time.
    start: (seed, now) => {
      const RealDate = Date;
      const skew = now - RealDate.now();
      window.Date = class Date extends RealDate {
        constructor(...args) {
          super(...(args.length ? args : [RealDate.now() + skew]));
        }
        static now() {
          return RealDate.now() + skew;
        }
      };
      core.EPISODE_MAX_TIME = 2 ** 31 - 1;
      core.setDataMode?.("train");
      window.miniwobAgent.images = preload(); // held, or they would be dropped again
      Math.seedrandom(seed);
      core.startEpisodeReal();
      arm();
    },
    read: () => settled.then(read),
    // Scroll an element into sight; the point to click, or null where it has left the page.
    reveal: (id) => {
      const element = byId.get(id);
      if (!element?.isConnected || !visible(element)) return null;
      element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const rect = element.getBoundingClientRect();
      return target(element)
        ?? [Math.floor(rect.left + rect.width / 2), Math.floor(rect.top + rect.height / 2)];
    },
  };
})();
