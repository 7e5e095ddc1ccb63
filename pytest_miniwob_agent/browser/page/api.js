// The functions that Python calls, as `window.miniwobAgent`.

// The document that shows the task: this one, or the one in the frame of a flight task, whose
// coordinates are those of the viewport.
const page = () => document.querySelector("iframe#wrap")?.contentWindow.miniwobAgent
  ?? window.miniwobAgent;

const settled = async () => {
  await settle();
  if (page() !== window.miniwobAgent) await page().settle();
};

const read = () => {
  const utterance = core.getUtterance();
  return {
    goal: utterance.utterance ?? utterance,
    done: WOB_DONE_GLOBAL,
    reward: WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : 0,
    elements: WOB_DONE_GLOBAL ? [] : page().leaves(),
    focus: WOB_DONE_GLOBAL ? null : page().focused(),
  };
};

// Generate the problem and read it.
const start = async (seed) => {
  preload();
  await loaded();
  await pass(SETTLE); // for scripts of the page that wait until it is loaded
  core.EPISODE_MAX_TIME = 2 ** 31 - 1;
  core.setDataMode?.("train");
  Math.seedrandom(seed);
  core.startEpisodeReal();
  while (!WOB_TASK_READY) await new Promise(realFrame); // a flight task's frame loads
  await settled();
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
  // The visible page as HTML, and the ids in it.
  html: () => WOB_DONE_GLOBAL ? ["", []] : page().markup(),
  view,
  point,
  // Call one of the functions below in the document that shows the task.
  ask: (name, ...values) => page()[name](...values),
  settle,
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
