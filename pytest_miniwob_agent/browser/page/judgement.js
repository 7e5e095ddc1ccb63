// The two forms in which a page sets a task and judges it: MiniWoB++'s core.js, in which all pages
// of the package are, and `window.task = {goal, setup(seed), reward(seed)}`, for your own pages.

const Judgement = (() => {
  const { FINE_FRAME } = Constants;
  const { listen } = Listeners;
  const { own, HANDED, remarks, shownError } = Visit;
  const { Fault, UNDECLARED, declared, inCore } = Task;
  const { pass, queued } = Clock;
  const { nextFrame } = Motion;
  const { seedRandom } = Random;

  const beginInCore = async () => {
    core.EPISODE_MAX_TIME = 2 ** 31 - 1;
    core.setDataMode?.("train");
    window.Math.seedrandom(Visit.seed);
    if (Visit.full) Clock.frame = FINE_FRAME;
    Visit.beginning = true;
    core.startEpisodeReal();
    Visit.beginning = false;
    while (!WOB_TASK_READY) await nextFrame(); // a flight task's frame loads
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
      return declared()[name](Visit.seed, Backend.tools);
    } catch (error) {
      throw new Fault(`task.${name}(${Visit.seed}) threw ${shownError(error)}`);
    }
  };

  const MOST_SETUP = 10_000; // ms of the page's clock
  let setup = null; // of the declared task, while it runs

  const beginDeclared = async () => {
    seedRandom(Visit.seed);
    if (Visit.full) Clock.frame = FINE_FRAME;
    if (typeof declared().reward !== "function") {
      throw new Fault("task.reward is not a function: it must return a number from -1 to 1, 0 while "
        + "the task is not decided");
    }
    Backend.check();
    const end = Clock.now + MOST_SETUP;
    setup = { name: `task.setup(${Visit.seed})`, end, done: false, error: null };
    setUp();
    Backend.begin();
    await queued();
  };
  const setUp = async () => {
    try {
      await part(setup.name, () => asked("setup"));
    } catch (error) {
      setup.error = error;
    }
    setup.done = true;
  };

  // True while the task is set up, which may need time; after that the task has its goal.
  const settingUp = () => {
    if (!setup) return false;
    const { name, end, done, error } = setup;
    if (error) throw error;
    if (!done && !Visit.leaving) {
      if (Clock.now < end) return true;
      throw new Fault(`${name} does not come to an end`);
    }
    setup = null;
    const said = asked("goal");
    if (typeof said !== "string" || !Strings.trim(said)) {
      throw new Fault("task.goal must be a text, or a function of the seed that returns one; it is "
        + (said === undefined ? "missing" : JSON.stringify(said) ?? String(said)));
    }
    Visit.goal = said;
    return false;
  };

  // Begin a trial, whose seed is set.
  const begin = async () => {
    if (!own) return await beginInCore();
    if (declared()) return await beginDeclared();
    if (!inCore()) throw new Fault(UNDECLARED);
    if (typeof genProblem !== "function") {
      throw new Fault("genProblem is not defined, which core.js calls");
    }
    if (core.cover_div === null) core.startEpisode();
    return await part("genProblem", beginInCore);
  };

  // Go on with a trial on another page than its first: core.js needs an episode of its own there.
  const goOn = async () => {
    if (!inCore() || Visit.verdict !== null) return;
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

  // Ask an own page whether the task is decided.
  const judge = () => {
    if (!own || Visit.verdict !== null || Visit.seed === null) return;
    if (declared()) {
      if (typeof declared().reward !== "function") return; // a page that only leads to others
      Visit.verdict = rewarded(asked("reward"), `task.reward(${Visit.seed}) returned`) || null;
    } else if (inCore() && WOB_DONE_GLOBAL) {
      Visit.verdict = rewarded(WOB_RAW_REWARD_GLOBAL, "core.endEpisode was called with");
    }
  };

  const isOver = () => Visit.verdict !== null || (!own && WOB_DONE_GLOBAL);

  const judged = () => {
    judge();
    const reward = () => Visit.verdict ?? WOB_RAW_REWARD_GLOBAL;
    return { done: isOver(), reward: isOver() ? reward() : 0 };
  };

  // The goal as core.js has it.
  const words = () => {
    const said = core.getUtterance();
    return said.utterance ?? said;
  };

  // A copy that has no method `toJSON` of the page's prototypes, which some libraries add.
  const bare = (value) => {
    const list = Array.isArray(value);
    if (!list && Object.getPrototypeOf(value ?? 0) !== Object.prototype) return value;
    const copy = list ? Object.setPrototypeOf([], null) : { __proto__: null };
    Arrays.forEach(Object.keys(value), (name) => { copy[name] = bare(value[name]); });
    return copy;
  };

  // Hand the trial over to the page that comes next.
  const handOver = () => {
    if (Visit.forgotten) return;
    try {
      judge();
    } catch (error) {
      Visit.fault = error.message;
    }
    Stores.setItem(sessionStorage, HANDED, JSON.stringify(bare({
      now: Clock.now, random: Random.state, nextId: Visit.nextId, clipboard: Visit.clipboard,
      seed: Visit.seed, full: Visit.full, tree: Visit.tree, goal: Visit.goal, verdict: Visit.verdict,
      state: Backend.state, made: Backend.made, remarks, fault: Visit.fault,
      count: Visit.count + 1, asked: Visit.asked, witness: Visit.witness && { ...Visit.witness, known: null },
    })));
  };
  if (own) {
    listen("pagehide", handOver);
    const { intercept } = NavigateEvent.prototype;
    NavigateEvent.prototype.intercept = function (...options) { // the page shows the next one itself
      apply(intercept, this, options);
      Visit.leaving = false;
      Stores.removeItem(sessionStorage, HANDED);
    };
  }

  return { begin, settingUp, goOn, judge, judged, isOver, words, handOver };
})();
