// Motion by the page's clock, on your own pages: CSS transitions and animations, those of scripts, and
// view transitions. The browser's own clock for them stands still (`MOTION` in process.py), and the
// page's moves them on. What has no end stands still.

import {
  Animations, Arrays, Documents, Effects, Element, Elements, Fragments, Lists, Map, Math, Nodes,
  Object, Promise, Roots, WeakMap, apply,
} from "./saved.js";
import { outer, own } from "./trial.js";
import { began, clock, moveWith, queued, realFrame } from "./clock.js";
import { sheet } from "./style.js";

const active = own || Boolean(outer);
const property = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name);
const currentTime = property(Animation, "currentTime");

// The animations of a tree that go on, with the ms of the page's clock until each begins, repeats or
// ends (`turn`), and until it ends: both Infinity for endless ones, which stand still.
const goingIn = (tree, list) => {
  const found = [];
  Arrays.forEach(list(tree), (animation) => {
    const rate = Animations.playbackRate(animation);
    const effect = Animations.effect(animation);
    const now = apply(currentTime.get, animation, []);
    const moves = Animations.playState(animation) === "running" && rate !== 0 && effect;
    if (!moves || typeof now !== "number") return; // it follows scrolling
    const { delay, duration, endTime } = Effects.getComputedTiming(effect);
    if (endTime === Infinity) return void Arrays.push(found, { animation, turn: Infinity, end: Infinity });
    const rounds = Math.floor((now - delay) / duration + 0.001) + 1; // NaN if there is none
    const next = now < delay ? delay : Math.min(endTime, delay + duration * rounds || endTime);
    const until = (time) => Math.max(1, Math.ceil((rate > 0 ? time - now : now) / Math.abs(rate)));
    Arrays.push(found, { animation, rate, now, endTime, turn: until(next), end: until(endTime) });
  });
  return found;
};

// Documents and shadow trees, also those in frames, whose own scripts look (Chromium would crash).
export const trees = outer?.trees ?? new Map();
const move = (tree, list) => void trees.set(tree, (any = false) =>
  any ? list(tree).length > 0 : goingIn(tree, list));
const going = () => {
  let found = [];
  trees.forEach((look, tree) => {
    if (!Documents.defaultView(Nodes.ownerDocument(tree) ?? tree)) trees.delete(tree); // it is gone
    else found = Arrays.concat(found, look());
  });
  return found;
};
// True if something moves, if without end; its events come with frames.
const moves = () => {
  let found = false;
  trees.forEach((look) => { found ||= look(true); });
  return found;
};
const busy = (within) => Arrays.some(going(), ({ end }) => end <= within);

// The start of a view transition, for which the browser takes pictures of the page in real time;
// it draws no frames while it waits (`held`) for the function that changes the page.
let started = null;
let held = false;

// Wait for the browser's next frame, in real time, with which it sends the events of motion.
const nextFrame = async () => {
  for (let begun; begun !== started;) await (begun = started);
  if (!held) await new Promise(realFrame);
};

// The ms until the next turn; Infinity if nothing moves. What has just begun gets its events.
const known = new WeakMap();
const turn = async () => {
  if (started) await nextFrame();
  let soonest;
  let fresh = true;
  for (let count = 0; fresh && count < 5; count++) {
    if (count) await nextFrame();
    soonest = Infinity;
    fresh = false;
    Arrays.forEach(going(), ({ animation, turn: ms }) => {
      soonest = Math.min(soonest, ms);
      fresh ||= !known.has(animation);
      known.set(animation, true);
    });
  }
  return soonest;
};

// Move everything on by so many ms, until the next turn at most, whose events are then sent.
const advance = async (ms) => {
  let turned = false;
  Arrays.forEach(going(), ({ animation, rate, now, endTime, turn: left }) => {
    if (left === Infinity) return;
    const then = Math.max(0, Math.min(endTime, now + rate * ms));
    apply(currentTime.set, animation, [then]);
    turned ||= left <= ms;
  });
  if (turned) await nextFrame();
};

if (active) {
  moveWith({ advance, busy, moves, nextFrame, turn });
  // The browser does not list what waits for its end.
  let ending = [];
  const unended = () => (ending = Arrays.filter(ending, (one) => Animations.playState(one) === "running"));
  move(document, (tree) => Arrays.concat(Documents.getAnimations(tree), unended()));
  // The two clocks differ by the page's time.
  const shift = () => clock.now - began;
  const moved = (time, by) => (typeof time === "number" ? time + by : time);
  const timelineTime = property(AnimationTimeline, "currentTime");
  Object.defineProperty(AnimationTimeline.prototype, "currentTime", {
    ...timelineTime,
    get() { return moved(apply(timelineTime.get, this, []), shift()); },
  });
  const startTime = property(Animation, "startTime");
  Object.defineProperty(Animation.prototype, "startTime", {
    ...startTime,
    get() { return moved(apply(startTime.get, this, []), shift()); },
    set(time) { apply(startTime.set, this, [moved(time, -shift())]); },
  });

  // What takes no time, as if motion is reduced, ends a ms later: with a frame of the browser otherwise.
  const ends = (animation) => {
    const effect = Animations.effect(animation);
    if (!effect) return animation;
    const { endTime, endDelay } = Effects.getComputedTiming(effect);
    if (endTime === 0) Effects.updateTiming(effect, { endDelay: 1 });
    if (endTime === 0 || endDelay > 0) Arrays.push(ending, animation);
    return animation;
  };
  const { animate } = Element.prototype;
  Element.prototype.animate = function (...options) { return ends(apply(animate, this, options)); };
  const { play } = Animation.prototype;
  Animation.prototype.play = function () {
    apply(play, this, []);
    ends(this);
  };

  const { startViewTransition } = Document.prototype;
  const settled = async (promise) => {
    try {
      await promise;
    } catch {
      // the page is told
    }
  };
  Document.prototype.startViewTransition = function (given = {}) {
    const update = typeof given === "function" ? given : given.update;
    let called;
    const change = async () => {
      held = true;
      queued(1).then(called);
      try {
        await update?.();
      } finally {
        held = false;
        started = ready;
      }
    };
    const options = typeof given === "function" ? change : { ...given, update: change };
    clock.framed = true; // it comes to its end with frames
    const transition = apply(startViewTransition, this, [options]);
    const ready = settled(transition.ready);
    started = Promise.race([ready, new Promise((resolve) => { called = resolve; })]);
    return transition;
  };
}

// A page that gives its document other sheets keeps ours.
if (active && Constants.SCREENS >= 2) {
  const adopted = Object.getOwnPropertyDescriptor(Document.prototype, "adoptedStyleSheets");
  Object.defineProperty(Document.prototype, "adoptedStyleSheets", {
    ...adopted,
    set(value) {
      const others = Arrays.filter(Arrays.concat([], value), (one) => one !== sheet);
      apply(adopted.set, this, [Arrays.concat([sheet], others)]);
    },
  });
}

// Shadow trees have styles of their own: `dress` gives ours to those that a parser has made.
const sheets = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, "adoptedStyleSheets");
const give = (root, others) => {
  move(root, Roots.getAnimations);
  apply(sheets.set, root, [Arrays.concat([], others, sheet)]);
};
export const dress = () => {
  const lists = [Documents.querySelectorAll(document, "*")];
  for (let at = 0; at < lists.length; at++) {
    for (let number = 0; number < Lists.length(lists[at]); number++) {
      const root = Elements.shadowRoot(lists[at][number]);
      if (!root) continue;
      give(root, Arrays.filter(apply(sheets.get, root, []), (one) => one !== sheet));
      Arrays.push(lists, Fragments.querySelectorAll(root, "*"));
    }
  }
};
if (active) {
  const { attachShadow } = Element.prototype;
  Object.defineProperty(ShadowRoot.prototype, "adoptedStyleSheets", {
    ...sheets,
    set(value) { give(this, value); },
  });
  Element.prototype.attachShadow = function (...options) {
    const root = apply(attachShadow, this, options);
    give(root, []);
    return root;
  };
}
