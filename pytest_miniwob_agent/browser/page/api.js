// The functions that Python calls, as `window.miniwobAgent`.

// The document that shows the task: this one, or the one in the frame of a flight task, whose
// coordinates are those of the viewport.
const page = () => document.querySelector("iframe#wrap")?.contentWindow.miniwobAgent
  ?? window.miniwobAgent;

// True where everything that shows is read, for the length of a trial.
let full = false;

const settled = async () => {
  const way = full ? "settleFinely" : "settle";
  await window.miniwobAgent[way]();
  if (page() !== window.miniwobAgent) await page()[way]();
};

const read = () => ({
  goal: goal(full),
  done: WOB_DONE_GLOBAL,
  reward: WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : 0,
  elements: WOB_DONE_GLOBAL ? [] : page()[full ? "shown" : "leaves"](),
  focus: WOB_DONE_GLOBAL ? null : page().focused(),
});

// Generate the problem and read it. Where everything is read, no time passes before that on a page
// that moves by itself: some give their reward for what is done from the first moment on.
const start = async (seed, everythingShown) => {
  full = everythingShown;
  preload();
  await loaded();
  await pass(SETTLE); // for scripts of the page that wait until it is loaded
  core.EPISODE_MAX_TIME = 2 ** 31 - 1;
  core.setDataMode?.("train");
  Math.seedrandom(seed);
  if (full) frame = FINE_FRAME;
  core.startEpisodeReal();
  while (!WOB_TASK_READY) await new Promise(realFrame); // a flight task's frame loads
  moving = full && restless();
  if (!moving) await settled();
  await loaded();
  return read();
};

// Calls for the document that Python talks to, which is always the outer one.
window.miniwobAgent = {
  start,
  // Read the consequences of an action; the browser turns a wheel with its next frame.
  read: async (wheel) => {
    if (wheel) await frames();
    await settled();
    return read();
  },
  // Let so many ms pass on the page's clock, if any, and read the page as it then is.
  readAfter: async (ms, detailed) => {
    if (ms !== null) await page().wait(ms, detailed);
    return read();
  },
  // The visible page as HTML, and the ids in it.
  html: () => WOB_DONE_GLOBAL ? ["", []] : page().markup(),
  view,
  point,
  // Call one of the functions below in the document that shows the task.
  ask: (name, ...values) => page()[name](...values),
  settle,
  settleFinely,
  wait,
  moves: () => moving,
  frame: () => pass(FINE_FRAME),
  follow,
  shown: () => [...everything(), ...takeChanges()],
  leaves: () => leaves(document.body),
  focused,
  markup: () => {
    const shown = [];
    return [markup(document.body, shown), shown];
  },
  boxes,
  reach,
  aim,
  range,
  option,
  marked,
  copied: () => clipboard,
};
