// The two forms in which a page sets a task and judges it: MiniWoB++'s core.js, in which all pages
// of the package are, and `window.task = {goal, setup(seed), reward(seed)}`, for your own pages.

const Judgement = (() => {
  const { SETTLE } = Constants;
  const { own, HANDED, remarks, shownError } = Visit;
  const { Fault, UNDECLARED, declared, inCore } = Task;
  const { nextFrame, pass, queued } = Clock;
  const { seedRandom } = Random;
  const { survey } = Times;
  const { FINE_FRAME, loaded, preload } = Settle;
  const { squeeze } = Leaves;
  const { goal } = Goal;

  const beginInCore = async () => {
    core.EPISODE_MAX_TIME = 2 ** 31 - 1;
    core.setDataMode?.("train");
    Math.seedrandom(Visit.seed);
    if (Visit.full) Clock.frame = FINE_FRAME;
    core.startEpisodeReal();
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

  const beginDeclared = async () => {
    seedRandom(Visit.seed);
    if (Visit.full) Clock.frame = FINE_FRAME;
    if (typeof declared().reward !== "function") {
      throw new Fault("task.reward is not a function: it must return a number from -1 to 1, 0 while "
        + "the task is not decided");
    }
    Backend.check();
    let done = false;
    const name = `task.setup(${Visit.seed})`;
    const setup = part(name, () => asked("setup")).finally(() => { done = true; });
    setup.catch(() => null); // awaited below, after the time that it may need
    Backend.begin();
    await queued();
    for (const end = Clock.now + MOST_SETUP; !done && !Visit.leaving && Clock.now < end;) {
      await loaded();
      await pass(200);
    }
    if (!done && !Visit.leaving) throw new Fault(`${name} does not come to an end`);
    if (done) await setup;
    const said = asked("goal");
    if (typeof said !== "string" || !squeeze(said)) {
      throw new Fault("task.goal must be a text, or a function of the seed that returns one; it is "
        + (said === undefined ? "missing" : JSON.stringify(said) ?? String(said)));
    }
    Visit.goal = squeeze(said);
  };

  // Begin a trial on an own page.
  const beginOwn = async () => {
    if (declared()) return beginDeclared();
    if (!inCore()) throw new Fault(UNDECLARED);
    if (typeof genProblem !== "function") {
      throw new Fault("genProblem is not defined, which core.js calls");
    }
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

  // The goal in the page's words; that of the trial's first page where a page has none.
  const goalNow = () => {
    if (!own) return goal(Visit.full);
    if (inCore() && document.getElementById("query")) Visit.goal = goal(Visit.full);
    if (!Visit.goal && Visit.seed !== null) {
      throw new Fault("it has no goal: core.js expects it in an element with the id query");
    }
    return Visit.goal;
  };

  // Hand the trial over to the page that comes next.
  const handOver = () => {
    if (Visit.forgotten) return;
    try {
      judge();
    } catch (error) {
      Visit.fault = error.message;
    }
    sessionStorage.setItem(HANDED, JSON.stringify({
      now: Clock.now, random: Random.state, nextId: Leaves.counter.next, clipboard: PageClipboard.text,
      seed: Visit.seed, full: Visit.full, goal: Visit.goal, verdict: Visit.verdict,
      state: Backend.state, made: Backend.made, remarks, fault: Visit.fault,
      count: Visit.count + 1, witness: Visit.witness,
    }));
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
    Style.dress(document);
    if (Visit.fault) throw new Fault(Visit.fault);
    if (Visit.seed === null) return;
    if (Visit.full) Clock.frame = FINE_FRAME;
    preload();
    await loaded();
    await pass(SETTLE); // for scripts of the page that wait until it is loaded
    if (inCore() && Visit.verdict === null) await goOnInCore();
  };

  // A function that reads the page, for Python: on an own page with what its author should know,
  // and with `leaving` where another page is about to come.
  const visited = (reading) => async (...values) => {
    if (!own) return reading(...values);
    try {
      await arrive();
      const found = await reading(...values);
      if (Visit.fault) throw new Fault(Visit.fault);
      if (Visit.leaving && !found?.done) return { leaving: true };
      Visit.count = 0;
      return { ...found, remarks: remarks.splice(0) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { fault: error.message, path: location.pathname, remarks: remarks.splice(0) };
    }
  };

  return { beginInCore, beginOwn, judge, isOver, goalNow, handOver, visited };
})();
