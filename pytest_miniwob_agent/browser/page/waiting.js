// Time that passes while everything that shows is watched: until the page rests, for `Wait`, and while
// the pointer follows an element. What goes on and off meanwhile is told as a person would see it.

import { Main, isLeaving, own, plain, trial } from "./world.js";
import { hover, live, loaded, whileAsking } from "./settle.js";
import { NEW, body, childrenOf, extent, owner, parentOf, shows, target } from "./sight.js";
import { byId, ignored, squeeze } from "./leaves.js";
import { everything } from "./everything.js";
import { seen } from "./seen.js";
import { tree } from "./tree.js";

const { SETTLE, FINE_FRAME } = Constants;
const { ahead, frame, pass, rest, time } = Main;

const WATCH = 50; // ms between two looks
const MOST_CHANGES = 40;
const changes = []; // lines for the next reading

// The attributes by which an element is seen to change; places are not among them.
const FLEETING = new Set(["background", "fill", "stroke", "color", "image", "name", "value"]);
const signature = (/** @type {any} */ { tag, text, classes, value, details }) => new Map([
  ["tag", tag], ["class", classes ?? ""], ["value", String(value ?? "")], ["text", text],
  ...details.filter(([name]) => FLEETING.has(name)),
]);
const signatures = () => new Map((trial.tree ? tree() : everything()).filter(({ id }) => id !== null)
  .map((line) => [line.id, signature(line)]));

const changed = (before, after) => {
  if (!after) return [["gone", before.get("tag")]];
  if (!before) return [["new", after.get("tag")], ...[...after].slice(1)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => [name, after.get(name) || "none"]);
};

// Returns a function that notes what has changed since it was last called.
const watchChanges = () => {
  const began = time();
  let before = signatures();
  return () => {
    const after = signatures();
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const details = changed(before.get(id), after.get(id)).filter(([, value]) => value);
      if (!details.length) continue;
      const head = [["at", `${(time() - began) / 1000} s`], ["of", `id=${id}`]];
      changes.push({ id: null, tag: "change", text: "", x: 0, y: 0, point: null,
        details: [...head, ...details], ...(trial.tree && { role: "change" }) });
    }
    before = after;
  };
};

// The strings that show, by their elements, in their order.
const words = () => {
  const [found, open] = [new Map(), [body()]];
  while (open.length) {
    const node = open.pop();
    if (node instanceof Element && !ignored(node)) open.push(...childrenOf(node).reverse());
    if (!(node instanceof Text) || !node.data.trim() || !shows(owner(node))) continue;
    found.set(owner(node), `${found.get(owner(node)) ?? ""} ${node.data}`);
  }
  return found;
};

// Note which strings show at a moment between two readings of an own page.
let before = new Map();
const fleeting = new Map(); // element -> text
const glance = () => {
  if (!own) return;
  words().forEach((text, element) => {
    if (!before.has(element)) fleeting.set(element, text);
  });
};

// What such moments showed that neither reading shows, as lines: a text for all that went together.
const gone = () => {
  const texts = new Map();
  before = words();
  fleeting.forEach((text, element) => {
    if (before.has(element)) return;
    let whole = element;
    for (let up = parentOf(whole); up && !shows(up); up = parentOf(up)) whole = up;
    texts.set(whole, `${texts.get(whole) ?? ""} ${text}`);
  });
  fleeting.clear();
  return [...texts.values()].map((text) => ({ id: null, tag: "change", text: squeeze(text),
    x: 0, y: 0, point: null, details: [["state", "came and went"]] }));
};

// The changes since the last reading, the latest if there are many.
export const takeChanges = () => {
  if (own) changes.push(...gone());
  return changes.splice(0).slice(-MOST_CHANGES);
};

// From the second version of screens on, a page moves if what is seen of it has changed, until all timers
// that it then has have run once more.
const GLANCE = 250; // ms
const sight = { seen: "", moves: -Infinity, rests: null }; // a string, and times: it moves until, and rested at
const span = () => Math.max(GLANCE, ahead(Infinity));
export const presume = () => { sight.moves = time() + span(); };
export const moves = () => ahead(Infinity) > 0 && (!NEW || time() < sight.moves);
// Let a frame pass in the midst of an action, which does not tell whether the page moves.
export const step = async () => {
  sight.moves += frame();
  await pass(frame());
};
const look = () => {
  const before = sight.seen;
  sight.seen = seen();
  return sight.seen !== before;
};
const watch = async () => {
  if (!NEW || !ahead(Infinity)) return;
  await loaded();
  if (look()) presume();
};

// Timers that set one another in a row, such as frames, are awaited only so many times: more often if what
// is seen changes.
const TURNS = NEW ? 5 : Infinity;
export const pending = () => ahead(TURNS) > 0;

// Let a page that was just loaded run for a while.
export const warmUp = async () => {
  if (!NEW || !own || !trial.full) return await pass(SETTLE);
  await pass(SETTLE / 2);
  look();
  for (const ms of [SETTLE / 2 - GLANCE, GLANCE]) {
    await pass(ms);
    await watch();
  }
};

// Settle for readers of everything that shows, who can wait themselves (`wait`): time passes only
// until the page rests. Where it moved before the action, by itself, just a frame passes and
// the motion that it begins, or what moves would be gone before it could be clicked.
const pause = async (turns, end) => { while (await rest(turns, end, GLANCE)) glance(); };
const still = async () => {
  const end = time() + 2 * SETTLE;
  for (;;) {
    await pause(live.moving ? 0 : TURNS, end);
    const looked = !NEW || live.moving || sight.rests === time() || time() >= end;
    if (looked || !ahead(Infinity)) return;
    await loaded();
    look();
    await pause(Infinity, Math.min(end, time() + span()));
    await loaded();
    if (look()) presume();
    else sight.rests = time();
  }
};
export const settleFinely = () => whileAsking(async () => {
  Main.setFrame(FINE_FRAME);
  await loaded();
  glance();
  sight.rests = null;
  if (NEW && live.moving) look();
  for (let count = 0; count < 2; count++) {
    if (live.moving && count === 0) await pass(frame());
    await still();
    if (count === 0) await hover();
  }
  await loaded();
  if (NEW && live.moving && look()) presume();
  live.moving = moves();
});

// Let exactly so many ms pass; if everything that shows is read, with the changes meanwhile.
export const wait = async (duration, detailed) => {
  const note = detailed ? watchChanges() : null;
  if (detailed) await watch();
  for (const end = time() + duration; time() < end && !isLeaving();) {
    await pass(detailed ? Math.min(WATCH, end - time()) : duration);
    note?.();
    if (detailed && end - time() <= GLANCE) await watch();
  }
  await hover();
  await loaded();
  live.moving = moves();
};

// Let up to so many ms pass while the pointer is near the middle of an element that moves.
// Returns the rest of them and the point to move to; null if all have passed or the element is
// gone.
export const follow = async (id, left) => {
  const element = byId.get(id);
  while (left > 0 && !isLeaving() && !Main.over()) {
    const aimed = plain(element).isConnected ? target(element) : null;
    if (!aimed) break;
    const { width, height } = extent(element);
    const [x, y] = live.pointer ?? [Infinity, Infinity];
    const away = Math.hypot(aimed[0] - x, aimed[1] - y);
    if (away > Math.min(width, height) / 4) return [left, aimed];
    const step = Math.min(frame(), left);
    await pass(step);
    left -= step;
  }
  return [left, null];
};
