// The frozen clock: timers, animation frames and dates by the page's own time, which stands still
// until `pass` moves it on. `EPOCH` is where it starts; it goes on from page to page in a trial.

import {
  Arrays, Channels, Documents, Elements, Function, Map, Math, MessageChannel, Number, Object, Ports, Promise,
  Rects, Refs, Targets, WeakMap, WeakRef, apply, console, performance,
} from "./saved.js";
import { goesOn, leaving, outer, own, remark, shownError, trial } from "./trial.js";

const { EPOCH, SETTLE } = Constants;

const RealDate = Date;
export const realFrame = window.requestAnimationFrame.bind(window);
const realTimeout = window.setTimeout.bind(window);
const stopTimeout = window.clearTimeout.bind(window);
export const began = outer?.began ?? goesOn("now", EPOCH, () => clock.now);
// Of this document and those in its frames; timers: id -> { at, id, run, every, turn }; `turn` counts
// the timers in a row of which each has set the next, up to this one or the one that runs;
// `fired` counts those that do not recur; `tasks` are the work that is under way,
// `due` counts answers of the task itself for which time is to pass, and `framed` is true if
// scripts hear of the browser's frames; `watched` are the elements of whose places and sizes they hear
// with these, and `streamed` has responses that come from a stream of the page,
// at any time.
export const clock = outer?.clock ?? { now: began, nextTimer: 1, timers: new Map(), turn: 0, frame: 100,
  fired: 0, due: 0, tasks: new Map(), waiting: [], last: new Map(), framed: false,
  watched: [], streamed: new WeakMap() };
const { timers, tasks } = clock;

// What moves by the clock beside timers, on your own pages.
let motion = null;
export const moveWith = (found) => { motion = found; };
// Events that come with a frame of the browser.
export const FRAMED = ["close", "fullscreenchange", "resize", "scroll", "scrollend", "select"];
const WITH_FRAMES = `${Arrays.map(FRAMED, (type) => `[on${type}]`)}, [loading=lazy], [autofocus]`;
// True if the next frame brings something that scripts may notice.
export const framed = () => clock.framed ||= motion?.moves()
  || Documents.querySelector(document, WITH_FRAMES) !== null;
// Wait for so many frames of the browser, in real time.
const nextFrame = () => motion?.nextFrame() ?? new Promise(realFrame);
export const frames = async (count) => { for (; count > 0; count--) await nextFrame(); };

// Note an element that an observer watches, from version 2 of screens on.
export const observed = (element) => {
  if (Constants.SCREENS >= 2) Arrays.push(clock.watched, { ref: new WeakRef(element), place: null });
};
// Wait for the frames of the browser with which observers hear that something is elsewhere, or of another
// size, than at the last one; and of what they change themselves.
const MOST_FRAMES = 10;
export const heard = async () => {
  let count = 0;
  const moved = () => {
    let found = false;
    clock.watched = Arrays.filter(clock.watched, (one) => {
      const element = Refs.deref(one.ref);
      if (!element) return false;
      const rect = Elements.getBoundingClientRect(element);
      const place = `${Rects.x(rect)},${Rects.y(rect)},${Rects.width(rect)},${Rects.height(rect)}`;
      found ||= place !== one.place;
      one.place = place;
      return true;
    });
    return found;
  };
  for (; count < MOST_FRAMES && clock.watched.length && moved(); count++) {
    await frames(1);
    await idle();
  }
  return count > 0;
};

export const add = (callback, delay, every, args) => {
  const run = typeof callback === "function" ? () => apply(callback, window, args) : new Function(callback);
  const wait = Math.max(every ? 4 : 1, Math.ceil(Number(delay) || 0));
  const id = clock.nextTimer++;
  timers.set(id, { at: clock.now + wait, id, run, every: every ? wait : 0, turn: clock.turn + 1 });
  return id;
};
export const remove = (id) => void timers.delete(id);
window.setTimeout = (callback, delay, ...args) => add(callback, delay, false, args);
window.setInterval = (callback, delay, ...args) => add(callback, delay, true, args);
window.requestAnimationFrame = (callback) =>
  add(() => callback(performance.now()), clock.frame, false, []);
window.requestIdleCallback = (callback) =>
  add(() => callback({ didTimeout: false, timeRemaining: () => 50 }), 1, false, []);
window.clearTimeout = window.clearInterval = remove;
window.cancelAnimationFrame = window.cancelIdleCallback = remove;
performance.now = () => clock.now - began;
window.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length ? args : [clock.now], newTarget),
  apply: () => new RealDate(clock.now).toString(),
  get: (target, name) => (name === "now" ? () => clock.now : target[name]),
});
RealDate.prototype.constructor = window.Date;

// Work of the browser, such as a file to be read, takes real time, and no time of the page: it is
// waited for before any passes. A task is any object, from `start` to `end`; one without a name
// always ends.
export const start = (task, name = null) => void tasks.set(task, name);
export const end = (task) => {
  if (!tasks.delete(task)) return;
  task.over?.();
  if (!tasks.size) Arrays.forEach(Arrays.splice(clock.waiting, 0), (resolve) => resolve());
};
// A promise of such work; those of one name settle in the order in which the work began.
export const work = async (name, promise) => {
  const task = {};
  const before = clock.last.get(name);
  clock.last.set(name, new Promise((resolve) => { task.over = resolve; }));
  start(task, name);
  try {
    return await promise;
  } finally {
    await before;
    end(task);
  }
};

// Wait for the work under way and what follows from it. What takes so long waits for the page.
const MOST_WORK = 5; // wall-clock seconds
const giveUp = () => tasks.forEach((name, task) => {
  if (!name) return;
  remark(`${name} did not end within ${MOST_WORK} seconds of real time, and is not waited for`);
  task.lost?.();
  end(task);
});
let network = null; // waits until no request is under way
export const askNetwork = (wait) => { network = wait; };
const draw = () => { if (tasks.size) realFrame(draw); }; // some work begins after a frame
export const worked = async () => {
  if (tasks.size) {
    const late = realTimeout(giveUp, MOST_WORK * 1000);
    draw();
    await new Promise((resolve) => { Arrays.push(clock.waiting, resolve); });
    stopTimeout(late);
  }
  await queued(2);
};
// The page is idle: no work of the browser and no request is under way, nor what follows from them. Before
// the clock moves on (`pass`), and until an own page has drawn (`quiet`), only this is waited for.
export const idle = async (times = 2) => {
  do {
    await worked();
    if (times > 2) await queued(times - 2);
    await network?.();
  } while (tasks.size && !leaving.now);
};

// Let `duration` ms pass: run the timers that fall due, in order, each with its promises and work.
export const pass = async (duration) => {
  if (tasks.size || network) await idle();
  const until = clock.now + duration;
  while (!leaving.now) {
    const turn = motion ? clock.now + await motion.turn() : Infinity;
    let next = null;
    timers.forEach((timer) => {
      if (timer.at <= Math.min(until, turn) && (!next || timer.at < next.at)) next = timer;
    });
    const now = Math.max(clock.now, next?.at ?? Math.min(until, turn));
    if (now > clock.now && await heard()) continue;
    if (motion) await motion.advance(now - clock.now);
    clock.now = now;
    if (!next && turn > until) break;
    if (!next) continue;
    clock.turn = next.turn;
    if (next.every) Object.assign(next, { at: clock.now + next.every, turn: next.turn + 1 });
    else if (timers.delete(next.id)) clock.fired++;
    try {
      next.run();
    } catch (error) {
      console.error?.(error); // as the browser does with an error in a timer
      remark(`a script failed: ${shownError(error)}`);
    }
    await (own ? idle() : null);
  }
  clock.turn = 0;
};

// The ms until all timers have run that are due within `SETTLE` ms, 0 if none are: the page may move
// until then. What recurs only every quarter of a second or more, such as a clock, is not awaited, nor
// the timers after the first `turns` in a row.
export const ahead = (turns) => {
  let ms = 0;
  timers.forEach(({ at, every, turn }) => {
    const left = at - clock.now;
    if (left <= SETTLE && every < 250 && turn <= turns) ms = Math.max(ms, left, 1);
  });
  return ms;
};

// Let time pass until all motion has ended, the task has answered and the page rests, but for timers
// after the first `turns` in a row; for `most` ms. True if it goes on then, and may until `end`.
export const rest = async (turns, end, most) => {
  const pause = Math.min(end, clock.now + most);
  const moves = () => !leaving.now && clock.now < end
    && (ahead(turns) || clock.due || motion?.busy(end - clock.now));
  while (clock.now < pause && moves()) await pass(clock.frame);
  return moves();
};

// Wait in real time for the tasks that scripts have queued, and those that these queue, so many
// times: frameworks draw in such tasks.
export const queued = async (times = 5) => {
  for (let count = 0; count < times; count++) {
    await new Promise((resolve) => {
      const channel = new MessageChannel();
      const port = Channels.port1(channel);
      Targets.addEventListener(port, "message", () => {
        Ports.close(port);
        resolve(null);
      });
      Ports.start(port);
      Ports.postMessage(Channels.port2(channel), null);
    });
  }
};

// Random numbers before the seed is set: a linear congruential generator, the same every time. On
// your own pages, which need no `core.js`, and on apps from the start, one that mixes: SplitMix32,
// two numbers for the 53 bits of one.
let state = goesOn("random", 1, () => state);
const next = () => {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
};
// One step of SplitMix32: the state that follows one, and the number that a state gives.
export const following = (number) => (number + 0x9e3779b9) | 0;
export const scrambled = (number) => {
  let found = Math.imul(number ^ (number >>> 16), 0x21f0aaad);
  found = Math.imul(found ^ (found >>> 15), 0x735a2d97);
  return (found ^ (found >>> 15)) >>> 0;
};
const mix = () => {
  state = following(state);
  return scrambled(state);
};
const mixed = () => ((mix() >>> 5) * 2 ** 26 + (mix() >>> 6)) / 2 ** 53;
let drawn = Constants.APP || trial.seed !== null ? mixed : next;
window.Math.random = outer?.random ?? (() => drawn());
export const seedRandom = (seed) => {
  state = seed;
  drawn = mixed;
};
