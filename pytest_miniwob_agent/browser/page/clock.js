// The frozen clock: timers, animation frames and dates by the page's own time, which stands still
// until `pass` moves it on. `EPOCH` is where it starts; it goes on from page to page in a trial.

const Clock = (() => {
  const { EPOCH, SETTLE } = Constants;
  const { own, outer, handed, remark, shownError } = Visit;

  const RealDate = Date;
  const { realFrame } = Motion;
  const realTimeout = window.setTimeout.bind(window);
  const stopTimeout = window.clearTimeout.bind(window);
  const began = outer?.Clock.began ?? handed?.now ?? EPOCH;
  // Of this document and those in its frames; timers: id -> { at, id, run, every };
  // `fired` counts those that do not recur; `tasks` are the work that is under way,
  // and `due` counts answers of the task itself for which time is to pass.
  const common = outer?.Clock.common ?? { now: began, nextTimer: 1, timers: new Map(), frame: 100,
    fired: 0, due: 0, tasks: new Map(), waiting: [], last: new Map() };
  const { timers, tasks } = common;

  const add = (callback, delay, every, args) => {
    const run = typeof callback === "function" ? () => apply(callback, window, args) : new Function(callback);
    const wait = Math.max(every ? 4 : 1, Math.ceil(Number(delay) || 0));
    const id = common.nextTimer++;
    timers.set(id, { at: common.now + wait, id, run, every: every ? wait : 0 });
    return id;
  };
  const remove = (id) => void timers.delete(id);
  window.setTimeout = (callback, delay, ...args) => add(callback, delay, false, args);
  window.setInterval = (callback, delay, ...args) => add(callback, delay, true, args);
  window.requestAnimationFrame = (callback) =>
    add(() => callback(performance.now()), Clock.frame, false, []);
  window.requestIdleCallback = (callback) =>
    add(() => callback({ didTimeout: false, timeRemaining: () => 50 }), 1, false, []);
  window.clearTimeout = window.clearInterval = remove;
  window.cancelAnimationFrame = window.cancelIdleCallback = remove;
  performance.now = () => common.now - began;
  window.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length ? args : [common.now], newTarget),
    apply: () => new RealDate(common.now).toString(),
    get: (target, name) => (name === "now" ? () => common.now : target[name]),
  });

  // Work of the browser, such as a file to be read, takes real time, and none of the page's: it is
  // waited for before any passes. A task is any object, from `start` to `end`; one without a name
  // always ends.
  const start = (task, name = null) => void tasks.set(task, name);
  const end = (task) => {
    if (!tasks.delete(task)) return;
    task.over?.();
    if (!tasks.size) Arrays.forEach(Arrays.splice(common.waiting, 0), (resolve) => resolve());
  };
  // A promise of such work; those of one name settle in the order in which the work began.
  const work = async (name, promise) => {
    const task = {};
    const before = common.last.get(name);
    common.last.set(name, new Promise((resolve) => { task.over = resolve; }));
    start(task, name);
    try {
      return await promise;
    } finally {
      await before;
      end(task);
    }
  };

  // Wait for the work under way and what follows from it. What takes so long waits for the page.
  const MOST_WORK = 5; // real seconds
  const giveUp = () => tasks.forEach((name, task) => {
    if (!name) return;
    remark(`${name} did not end within ${MOST_WORK} seconds of real time, and is not waited for`);
    task.lost?.();
    end(task);
  });
  const draw = () => { if (tasks.size) realFrame(draw); }; // some work begins after a frame
  const idle = async (times = 2) => {
    do {
      if (tasks.size) {
        const late = realTimeout(giveUp, MOST_WORK * 1000);
        draw();
        await new Promise((resolve) => { Arrays.push(common.waiting, resolve); });
        stopTimeout(late);
      }
      await queued(times);
    } while (tasks.size && !Visit.leaving);
  };

  // Let `duration` ms pass: run the timers that fall due, in order, each with its promises and work.
  const pass = async (duration) => {
    if (tasks.size) await idle();
    const until = common.now + duration;
    while (!Visit.leaving) {
      const turn = Motion.active ? common.now + await Motion.turn() : Infinity;
      let next = null;
      timers.forEach((timer) => {
        if (timer.at <= Math.min(until, turn) && (!next || timer.at < next.at)) next = timer;
      });
      const now = Math.max(common.now, next?.at ?? Math.min(until, turn));
      if (Motion.active) await Motion.advance(now - common.now);
      common.now = now;
      if (!next && turn > until) break;
      if (!next) continue;
      if (next.every) next.at = common.now + next.every;
      else if (timers.delete(next.id)) common.fired++;
      try {
        next.run();
      } catch (error) {
        console.error?.(error); // as the browser does with an error in a timer
        remark(`a script failed: ${shownError(error)}`);
      }
      await (own ? idle() : null);
    }
  };

  // True if the page moves or is about to: a timer is due within `SETTLE` ms. What recurs only
  // every quarter of a second or more, such as a clock, is not awaited.
  const restless = () => {
    let due = false;
    timers.forEach(({ at, every }) => { due ||= at <= common.now + SETTLE && every < 250; });
    return due;
  };

  // Let time pass until all motion has ended, the task has answered and, unless it moves by itself
  // anyway, the page rests; for `most` ms. True if it goes on then, and may until `end`.
  const rest = async (moving, end, most) => {
    const pause = Math.min(end, common.now + most);
    const moves = () => !Visit.leaving && common.now < end
      && ((!moving && restless()) || common.due || Motion.busy(end - common.now));
    while (common.now < pause && moves()) await pass(Clock.frame);
    return moves();
  };

  // Wait in real time for the tasks that scripts have queued, and those that these queue, so many
  // times: frameworks draw in such tasks.
  const queued = async (times = 5) => {
    for (let count = 0; count < times; count++) {
      await new Promise((resolve) => {
        const channel = new MessageChannel();
        const port = Channels.port1(channel);
        Targets.addEventListener(port, "message", () => {
          Ports.close(port);
          resolve();
        });
        Ports.start(port);
        Ports.postMessage(Channels.port2(channel), null);
      });
    }
  };

  return {
    add,
    began,
    end,
    idle,
    pass,
    queued,
    remove,
    rest,
    restless,
    start,
    work,
    common,
    // ms; nobody watches an animation, so ten frames a second are enough
    get frame() { return common.frame; },
    set frame(duration) { common.frame = duration; },
    get now() { return common.now; },
  };
})();
