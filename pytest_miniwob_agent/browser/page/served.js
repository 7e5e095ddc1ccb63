// The functions that our own world calls (page/world.js): `now` are answered at once, `later` once
// they come to an end. Frames of own pages and programs find what they need as `miniwobAgent`.

import { Documents, Error, Events, Object, apply, detailOf } from "./saved.js";
import { connect, send } from "./line.js";
import { listenAgain } from "./listeners.js";
import {
  Fault, files, going, inCore, leaving, outer, own, remark, shownError, takeRemarks, trial,
} from "./trial.js";
import { ahead, began, clock, frames, pass, queued, rest } from "./clock.js";
import { dress, trees } from "./motion.js";
import { giveUp, handle, line, post, quiet, routed, routes } from "./requests.js";
import { download, stay, told } from "./network.js";
import { wires } from "./sockets.js";
import { internals } from "./internals.js";
import "./dialogs.js";
import "./shadows.js";
import { check, perturb, play } from "./perturb.js";
import {
  begin, decide, goOn, handOver, isOver, judged, payload, settingUp, words,
} from "./judgement.js";
import { EVENTS, answered, go, recognize, stirred, taken, traverse, watch } from "./witness.js";

const now = {
  __proto__: null,
  trial: (name) => trial[name],
  setTrial: (values) => { Object.assign(trial, values); },
  prepare: (reading, kind) => {
    if (trial.seed !== null) throw new Error("the trial before goes on here");
    check(kind);
    Object.assign(trial, reading);
  },
  // The verdict, what a program has done, and the goal in the words of core.js, if it has any.
  judged: (all) => ({ ...judged(), ...taken(all), words: words() }),
  watchedEvents: () => EVENTS,
  isLeaving: () => leaving.now,
  leave: () => {
    leaving.now = true;
    handOver(!Constants.APP);
    if (!Constants.APP) handOverLast();
  },
  handOver: () => handOver(),
  time: () => clock.now,
  fired: () => clock.fired,
  frame: () => clock.frame,
  setFrame: (ms) => { clock.frame = ms; },
  requested: () => line.count,
  due: () => clock.due,
  over: () => Boolean(top.WOB_DONE_GLOBAL),
  slider: (index) => {
    const options = window.jQuery?.(Documents.querySelectorAll(document, ".ui-slider")[index])
      .slider("instance")?.options;
    if (!options) return null;
    const { value, values, min, max, step } = options;
    return { value, values, min, max, step };
  },
  // The trial has begun, and its first page is read: what Python is told besides.
  shown: () => {
    perturb("shown");
    return { files: files(), payload: payload() };
  },
  routed: (method, url) => Boolean(routed(method, url)),
  answered: () => routes().length > 0,
  ahead, decide, dress, inCore, internals, perturb, isOver, listenAgain, recognize, remark, settingUp, stirred,
  stay, takeRemarks, told, watch,
};
const later = { __proto__: null, pass, queued, rest, quiet, begin, goOn, post, download };
// With `Pick`, as TypeScript allows any further name in an object of a script.
/** @typedef {Pick<typeof now & typeof later, keyof typeof now | keyof typeof later>} Served */

// The script that leads to another page goes on to its end, and may still change something.
const handOverLast = async () => {
  await queued();
  if (leaving.now) handOver();
};

const answer = (detail) => send("answer", detail);
const failed = (number, error) => answer({
  number,
  fault: error instanceof Fault,
  error: error instanceof Fault ? error.message : shownError(error),
});
const answerLater = async (number, run, values) => {
  await null; // not in the event, whose listeners end at once
  try {
    answer({ number, value: await apply(run, null, values) });
  } catch (error) {
    failed(number, error);
  }
};
connect((event) => {
  const { number, name, values } = detailOf(event);
  Events.preventDefault(event);
  if (name in later) return void answerLater(number, later[name], values);
  try {
    answer({ number, value: apply(now[name], null, values) });
  } catch (error) {
    failed(number, error);
  }
});

// What the documents in frames read of the trial, and the one thing that they change.
const shared = Object.freeze({
  __proto__: null,
  get full() { return trial.full; },
  get tree() { return trial.tree; },
  get seed() { return trial.seed; },
  get asked() { return trial.asked; },
  get opened() { return trial.opened; },
  get clipboard() { return trial.clipboard; },
  set clipboard(held) { trial.clipboard = held; },
});

Object.defineProperty(window, "miniwobAgent", {
  __proto__: null,
  value: Object.freeze({
    __proto__: null,
    // What documents in frames of your own pages have in common with this one.
    inside: () => own || outer
      ? { answered, began, clock, random: window.Math.random, remark, trees, trial: shared, wires }
      : null,
    handle,
    giveUp,
    go,
    handOver: () => going(true),
    perturb: play,
    stay,
    traverse,
    // Let time pass while a program that the page is handed over to waits for it.
    linger: async (ms, count) => {
      await frames(count);
      if (trial.watched && ms) await pass(ms);
      await queued();
    },
  }),
});
