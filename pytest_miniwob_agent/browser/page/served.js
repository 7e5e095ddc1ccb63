// The functions that our own world calls (page/world.js): `now` are answered at once, `later` once
// they come to an end. Frames of own pages and programs find what they need as `miniwobAgent`.

import {
  CustomEvent, Documents, Error, Events, Object, Targets, apply, detailOf, performance,
} from "./saved.js";
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
import { check, perturb, play } from "./perturb.js";
import { begin, goOn, handOver, isOver, judged, payload, settingUp, words } from "./judgement.js";
import { go, recognize, stirred, taken, traverse, watch } from "./witness.js";

const { CALL, ANSWER, KEY } = Constants;

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
  judged: () => ({ ...judged(), ...taken(), words: words() }),
  isLeaving: () => leaving.now,
  leave: () => {
    leaving.now = true;
    handOver(); // and again on `pagehide`, which a rewritten document does not get
  },
  handOver,
  forget: () => { leaving.forgotten = true; },
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
  ahead, dress, inCore, internals, perturb, isOver, listenAgain, recognize, remark, settingUp, stirred,
  takeRemarks, watch,
};
const later = { __proto__: null, pass, queued, rest, quiet, begin, goOn, post, download };
// With `Pick`, as TypeScript allows any further name in an object of a script.
/** @typedef {Pick<typeof now & typeof later, keyof typeof now | keyof typeof later>} Served */

const answer = (detail) =>
  Targets.dispatchEvent(performance, new CustomEvent(ANSWER, { __proto__: null, detail: { key: KEY, ...detail } }));
const failed = (number, error) => answer({
  number,
  fault: error instanceof Fault,
  error: error instanceof Fault ? error.message : shownError(error),
});
const answerLater = async (number, run, values) => {
  await null; // not in the event, which scripts of the page would find as `window.event`
  try {
    answer({ number, value: await apply(run, null, values) });
  } catch (error) {
    failed(number, error);
  }
};
Targets.addEventListener(performance, CALL, (event) => {
  const { key, number, name, values } = detailOf(event);
  if (key !== KEY) return; // a program may find out the names of events
  Events.preventDefault(event);
  Events.stopImmediatePropagation(event);
  if (name in later) return void answerLater(number, later[name], values);
  try {
    answer({ number, value: apply(now[name], null, values) });
  } catch (error) {
    failed(number, error);
  }
}, true);

Object.defineProperty(window, "miniwobAgent", {
  __proto__: null,
  value: {
    // What documents in frames of your own pages have in common with this one.
    inside: (secret) => secret === KEY && (own || outer)
      ? { began, clock, random: window.Math.random, remark, trees, trial, wires }
      : null,
    handle,
    giveUp,
    go,
    handOver: () => going(true),
    perturb: play,
    stay,
    told,
    watch: (left, state, secret) => secret === KEY && watch(left, state),
    traverse,
    // Let time pass while a program that the page is handed over to waits for it.
    linger: async (ms, count) => {
      await frames(count);
      if (trial.watched && ms) await pass(ms);
      await queued();
    },
  },
});
