// The two forms in which a page sets a task and judges it: MiniWoB++'s core.js, in which all pages
// of the package are, and `window.task = {goal, setup(seed), reward(seed)}`, for your own pages.

import {
  Arrays, Documents, JSON, Math, Promise, String, Strings, apply,
} from "./saved.js";
import {
  Fault, declared, goesOn, handOn, inCore, leaving, own, shownError, takeBack, trial,
} from "./trial.js";
import { clock, frames, queued, seedRandom } from "./clock.js";
import { effect, perturb } from "./perturb.js";
import { beginAnswers, checkRoutes, tools } from "./requests.js";

const { APP, FINE_FRAME } = Constants;

const UNDECLARED = "it declares no task: set window.task = {goal, setup(seed), reward(seed)} in a "
  + "script, or load /core/core.js and define genProblem as MiniWoB++'s pages do";

// True while an episode of core.js is begun for the trial.
export const beginning = { now: false };

const beginInCore = async () => {
  core.EPISODE_MAX_TIME = 2 ** 31 - 1;
  core.setDataMode?.("train");
  window.Math.seedrandom(trial.seed);
  if (trial.full) clock.frame = FINE_FRAME;
  beginning.now = true;
  core.startEpisodeReal();
  beginning.now = false;
  while (!WOB_TASK_READY) await frames(1); // a flight task's frame loads
};

// Run a part of an own page; an error in it is the page's fault.
const part = async (name, run) => {
  try {
    return await run();
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(`${name} threw ${shownError(error)}`);
  }
};

// A part of the declared task: a value, or what a function of the seed returns.
const asked = (name, task = declared(), said = task[name]) => {
  if (typeof said !== "function") return said;
  try {
    return apply(said, task, [trial.seed, tools]);
  } catch (error) {
    throw new Fault(`task.${name}(${trial.seed}) threw ${shownError(error)}`);
  }
};

const MOST_SETUP = 10_000; // ms of the page's clock
let setup = null; // of the declared task, while it runs

const beginDeclared = async () => {
  seedRandom(trial.seed);
  if (trial.full) clock.frame = FINE_FRAME;
  if (declared().reward !== null && typeof declared().reward !== "function") {
    throw new Fault("task.reward is not a function: it must return a number from -1 to 1, 0 while "
      + 'the task is not decided; or it is null, for items with reward="graders" in their marker');
  }
  checkRoutes();
  const end = clock.now + MOST_SETUP;
  setup = { name: `task.setup(${trial.seed})`, end, done: false, error: null };
  setUp();
  beginAnswers();
  await queued();
};
const setUp = async () => {
  try {
    await part(setup.name, () => {
      const done = asked("setup");
      perturb("setUp", trial.seed, tools);
      return done;
    });
  } catch (error) {
    setup.error = error;
  }
  setup.done = true;
};

// True while the task is set up, which may need time; after that the task has its goal.
export const settingUp = () => {
  if (!setup) return false;
  const { name, end, done, error } = setup;
  if (error) throw error;
  if (!done && !leaving.now) {
    if (clock.now < end) return true;
    throw new Fault(`${name} does not come to an end`);
  }
  setup = null;
  const said = asked("goal");
  if (typeof said !== "string" || !Strings.trim(said)) {
    throw new Fault("task.goal must be a text, or a function of the seed that returns one; it is "
      + (said === undefined ? "missing" : JSON.stringify(said) ?? String(said)));
  }
  trial.goal = said;
  return false;
};

// What an attack on the agent says, for the search of prompts.
export const payload = () => {
  const said = declared() ? asked("payload") ?? "" : "";
  if (typeof said === "string") return said;
  throw new Fault("task.payload must be a text, or a function of the seed that returns one");
};

// Begin a trial. The goal and the state of random numbers are those of an app's task; any other page has
// its own.
export const begin = async (seed, goal, random) => {
  trial.seed = seed;
  trial.goal = goal;
  if (!own) return await beginInCore();
  if (APP) return seedRandom(random);
  if (declared()) return await beginDeclared();
  if (!inCore()) throw new Fault(UNDECLARED);
  if (typeof genProblem !== "function") {
    throw new Fault("genProblem is not defined, which core.js calls");
  }
  if (core.cover_div === null) core.startEpisode();
  return await part("genProblem", beginInCore);
};

// Go on with a trial on another page than its first: core.js needs an episode of its own there.
export const goOn = async () => {
  if (!inCore() || decision.reward !== null) return;
  window.genProblem ??= () => undefined;
  if (core.cover_div === null) core.startEpisode();
  await part("genProblem", beginInCore);
};

const rewarded = (reward, what) => {
  if (typeof reward === "number" && Math.abs(reward) <= 1) return reward;
  const shown = reward instanceof Promise ? "a promise" : JSON.stringify(reward) ?? String(reward);
  throw new Fault(`${what} ${typeof reward === "number" ? reward : shown}; `
    + "a reward is a number from -1 to 1, and 0 while the task is not decided");
};

// The reward that ended the trial; null until then.
export const decision = {
  reward: /** @type {number | null} */ (goesOn("reward", null, () => decision.reward)),
};
export const decide = (reward) => { decision.reward = reward; };

// What judges on this page: once a program has it, what did at that moment.
const judges = () => ({ task: declared(), reward: declared()?.reward, core: inCore() });
let kept = null;
export const keepJudge = () => { kept = judges(); };
// True if it is not what it was, or has decided by the globals of core.js, which anybody may set.
export const isReplaced = () => kept !== null && (declared()?.reward !== kept.reward
  || (kept.core && WOB_DONE_GLOBAL && decision.reward === null));

// Ask an own page whether the task is decided.
export const judge = () => {
  if (!own || APP || decision.reward !== null || trial.seed === null) return;
  const { task, reward, core } = kept ?? judges();
  if (task) {
    if (typeof reward !== "function") return; // a page that only leads to others
    decide(rewarded(asked("reward", task, reward), `task.reward(${trial.seed}) returned`) || null);
  } else if (core && !kept && WOB_DONE_GLOBAL) {
    decide(rewarded(WOB_RAW_REWARD_GLOBAL, "core.endEpisode was called with"));
  }
};

export const isOver = () => decision.reward !== null || (!own && !kept && WOB_DONE_GLOBAL);

export const judged = () => {
  judge();
  const reward = () => decision.reward ?? WOB_RAW_REWARD_GLOBAL;
  return { done: isOver(), reward: isOver() ? reward() : 0, ...effect() };
};

// The goal as core.js has it; null on a page without it.
export const words = () => {
  if (own && !(inCore() && Documents.querySelector(document, "#query"))) return null;
  const said = core.getUtterance();
  return said.utterance ?? said;
};

// Hand the trial over to the page that comes next; `more` is true if more is to follow.
export const handOver = (more = false) => {
  try {
    judge();
  } catch (error) {
    trial.fault = error.message;
  }
  handOn(more);
};
if (own) {
  Arrays.forEach(["intercept", "preventDefault"], (name) => { // the page stays, or shows the next one itself
    const run = NavigateEvent.prototype[name];
    NavigateEvent.prototype[name] = function (...options) {
      apply(run, this, options);
      leaving.now = false;
      takeBack();
    };
  });
}
