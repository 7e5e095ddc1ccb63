// The two forms in which a page sets a task and judges it: MiniWoB++'s core.js, in which all pages of
// the package are, and `window.task = {goal, setup(seed), reward(seed)}`, for pages of one's own.

// An own page can't be a task; the message says why.
class Fault extends Error {}

// Of the trial: its seed once it has begun, its goal, and the reward that ended it.
let seed = handed?.seed ?? null;
let ownGoal = handed?.goal ?? "";
let verdict = handed?.verdict ?? null;

// The task that an own page declares, in whatever way its script does; null if it does not.
const declared = () => {
  if (!own) return null;
  let found = null;
  try {
    found = task;
  } catch {
    return null; // there is no such name
  }
  const isTask = found && typeof found === "object" && !(found instanceof Node)
    && ["goal", "setup", "reward"].some((name) => name in found);
  return isTask ? found : null;
};

// True if core.js runs the page's episode.
const inCore = () => !own || (!declared() && typeof window.core?.endEpisode === "function");

const beginInCore = async () => {
  core.EPISODE_MAX_TIME = 2 ** 31 - 1;
  core.setDataMode?.("train");
  Math.seedrandom(seed);
  if (full) frame = FINE_FRAME;
  core.startEpisodeReal();
  while (!WOB_TASK_READY) await new Promise(realFrame); // a flight task's frame loads
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
const asked = (name) => {
  const said = declared()[name];
  if (typeof said !== "function") return said;
  try {
    return declared()[name](seed);
  } catch (error) {
    throw new Fault(`task.${name}(${seed}) threw ${shownError(error)}`);
  }
};

const MOST_SETUP = 10_000; // ms of the page's clock

const beginDeclared = async () => {
  seedRandom(seed);
  if (full) frame = FINE_FRAME;
  if (typeof declared().reward !== "function") {
    throw new Fault("task.reward is not a function: it must return a number from -1 to 1, 0 while "
      + "the task is not decided");
  }
  let done = false;
  const setup = part(`task.setup(${seed})`, () => asked("setup")).finally(() => { done = true; });
  setup.catch(() => null); // awaited below, after the time that it may need
  await queued();
  for (const end = now + MOST_SETUP; !done && !leaving && now < end;) {
    await loaded();
    await pass(200);
  }
  if (!done && !leaving) throw new Fault(`task.setup(${seed}) does not come to an end`);
  if (done) await setup;
  const said = asked("goal");
  if (typeof said !== "string" || !squeeze(said)) {
    throw new Fault("task.goal must be a text, or a function of the seed that returns one; it is "
      + (said === undefined ? "missing" : JSON.stringify(said) ?? String(said)));
  }
  ownGoal = squeeze(said);
};

const UNDECLARED = "it declares no task: set window.task = {goal, setup(seed), reward(seed)} in a "
  + "script, or load /core/core.js and define genProblem as MiniWoB++'s pages do";

// Begin a trial on an own page.
const beginOwn = async () => {
  if (declared()) return beginDeclared();
  if (!inCore()) throw new Fault(UNDECLARED);
  if (typeof genProblem !== "function") throw new Fault("genProblem is not defined, which core.js calls");
  if (core.cover_div === null) core.startEpisode();
  return part("genProblem", beginInCore);
};

// Go on with a trial on another page than its first: core.js needs an episode of its own there.
const goOnInCore = async () => {
  window.genProblem ??= () => undefined;
  if (core.cover_div === null) core.startEpisode();
  await part("genProblem", beginInCore);
};

const rewarded = (reward, what) => {
  if (typeof reward === "number" && Math.abs(reward) <= 1) return reward;
  const shown = reward instanceof Promise ? "a promise" : JSON.stringify(reward) ?? String(reward);
  throw new Fault(`${what} ${typeof reward === "number" ? reward : shown}; a reward is a number from `
    + "-1 to 1, and 0 while the task is not decided");
};

// Ask an own page whether the task is decided.
const judge = () => {
  if (!own || verdict !== null || seed === null) return;
  if (declared()) {
    if (typeof declared().reward !== "function") return; // a page that only leads to others
    verdict = rewarded(asked("reward"), `task.reward(${seed}) returned`) || null;
  } else if (inCore() && WOB_DONE_GLOBAL) {
    verdict = rewarded(WOB_RAW_REWARD_GLOBAL, "core.endEpisode was called with");
  }
};

const isOver = () => own ? verdict !== null : WOB_DONE_GLOBAL;

// The goal in the page's words; that of the trial's first page where a page has none.
const goalNow = () => {
  if (!own) return goal(full);
  if (inCore() && document.getElementById("query")) ownGoal = goal(full);
  if (!ownGoal && seed !== null) throw new Fault("it has no goal: core.js expects it in an element with the id query");
  return ownGoal;
};

// Hand the trial over to the page that comes next.
let forgotten = false;
const handOver = () => {
  if (forgotten) return;
  try {
    judge();
  } catch (error) {
    broken = error.message;
  }
  sessionStorage.setItem(HANDED, JSON.stringify({ now, random: state, seed, full, goal: ownGoal,
    verdict, nextId, clipboard, remarks, fault: broken, visits: visits + 1 }));
};
if (own) window.addEventListener("pagehide", handOver, true);

// Wait until an own page is loaded, and go on with the trial if another page has led to it.
let complete = false;
const arrive = async () => {
  if (complete) return;
  complete = true;
  if (document.readyState !== "complete") {
    await new Promise((resolve) => window.addEventListener("load", resolve, { once: true }));
  }
  await queued();
  survey();
  if (broken) throw new Fault(broken);
  if (seed === null) return;
  if (full) frame = FINE_FRAME;
  preload();
  await loaded();
  await pass(SETTLE); // for scripts of the page that wait until it is loaded
  if (inCore() && verdict === null) await goOnInCore();
};

// A function that reads the page, for Python: on an own page with what its author should know, and
// with `leaving` where another page is about to come.
const visited = (reading) => async (...values) => {
  if (!own) return reading(...values);
  try {
    await arrive();
    const found = await reading(...values);
    if (broken) throw new Fault(broken);
    if (leaving && !found?.done) return { leaving };
    visits = 0;
    return { ...found, remarks: remarks.splice(0) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: error.message, path: location.pathname, remarks: remarks.splice(0) };
  }
};
