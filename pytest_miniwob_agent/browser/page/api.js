// The functions that Python calls, as `miniwobAgent` of our own world.

import { Fault, Main, inCore, isLeaving, outer, own, prepare, trial } from "./world.js";
import { listen, listenAgain } from "./listeners.js";
import { stay } from "./leaving.js";
import { agents, placement, scrolled, survey, viewport } from "./frames.js";
import { useFonts } from "./fonts.js";
import { frames, live, loaded, preload, settle } from "./settle.js";
import { body, hitAt } from "./sight.js";
import { byId, counter, focused, leaves } from "./leaves.js";
import { dragged, marked, range, selected, turned } from "./selection.js";
import { everything } from "./everything.js";
import { tree } from "./tree.js";
import { gone, located, news } from "./locators.js";
import { goalNow, markup } from "./html.js";
import { follow, moves, pending, presume, settleFinely, step, takeChanges, wait, warmUp } from "./waiting.js";
import { seen } from "./seen.js";
import { aim, aimed, caret, option, reach, spinner } from "./aim.js";
import { covered, expect, missed } from "./effect.js";
import { changed, set, setType, settable } from "./fields.js";
import { boxes, point, sights, view } from "./picture.js";

const { SETTLE, FINE_FRAME, BOXED } = Constants;
const SECOND = 1000; // ms
const { begin, isOver, pass, queued, settingUp } = Main;

// The document that shows the task: this one, or the one in the frame of a flight task, whose
// coordinates are those of the viewport.
const page = () => (!own && document.querySelector("iframe#wrap")?.contentWindow.miniwobAgent)
  || window.miniwobAgent;

const settled = async () => {
  const way = trial.full ? "settleFinely" : "settle";
  await window.miniwobAgent[way]();
  if (page() !== window.miniwobAgent) await page()[way]();
};

// Count the events that a program is watched by (page/witness.js), behind who watches.
let heard = 0;
let counts = false;
const count = () => {
  if (!counts) for (const type of Main.watchedEvents()) listen(type, () => { heard++; });
  counts = true;
};

const judged = () => {
  const { words, ...verdict } = Main.judged(heard);
  return { goal: goalNow(words), ...verdict, ...(Constants.APP && { url: location.href }) };
};

// The document that has an element, or the first of several places in elements.
/** @param {any[]} values */
const agentFor = ([first]) => {
  const id = Array.isArray(first) ? first[0]?.[0] : first;
  const inner = typeof id === "number" && agents().find((agent) => agent.has(id));
  return inner || page();
};

// `aim` in several documents.
const aimEach = async (places) => {
  let found = [];
  for (const way of ["aim", "aimed"]) {
    found = [];
    for (const place of places) found.push(await api.ask(way, [place], true));
    const error = found.find((one) => typeof one === "string");
    if (error) return error;
  }
  return found.flat();
};

// Read the page by a function; the next page in this trial goes on with the ids.
const numbered = (reading) => {
  const found = reading();
  if (own) trial.nextId = counter.next;
  return found;
};

const read = () => {
  if (own && trial.seed === null) {
    throw new Fault("the page is gone: a javascript: link has shown what it returned in its place");
  }
  const verdict = judged();
  const reading = trial.tree ? "nested" : trial.full ? "shown" : "leaves";
  return {
    ...verdict,
    elements: verdict.done ? [] : numbered(page()[reading]),
    focus: verdict.done ? null : page().focused(),
  };
};

// What a perturbation hears of on each page of the trial (page/perturb.js).
const EVENTS = ["begin", "shown"];

// Wait until an own page is loaded, and go on with the trial if another page has led to it.
let complete = false;
const arrive = async () => {
  if (complete) return;
  complete = true;
  if (document.readyState !== "complete") {
    await new Promise((resolve) => window.addEventListener("load", resolve, { once: true }));
  }
  await queued();
  Main.dress();
  if (trial.fault) throw new Fault(trial.fault);
  if (trial.seed === null) return;
  if (trial.full) Main.setFrame(FINE_FRAME);
  preload();
  await loaded();
  await pass(SETTLE); // for scripts of the page that wait until it is loaded
  await Main.goOn();
  for (const event of EVENTS) Main.perturb(event);
};

// Remark that letters are boxes that another browser may draw.
const CJK = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Bopo}]/u;
const proofread = () => {
  if (!BOXED || !CJK.test(document.body?.innerText ?? "")) return;
  Main.remark("Chinese, Japanese and Korean are boxes here; in a browser on this machine, but not "
    + "on macOS, pip install 'pytest-miniwob-agent[fonts]' has them drawn");
};

// A function that reads the page, for Python: on an own page with what its author should know,
// and with `leaving` if another page is about to come.
const visited = (reading) => async (...values) => {
  try {
    if (!own) return await reading(...values);
    await arrive();
    const found = await reading(...values);
    window.miniwobAgent.listenAgain();
    if (trial.fault) throw new Fault(trial.fault);
    if (isLeaving() && !found?.done) return { leaving: true };
    trial.count = 0;
    proofread();
    survey();
    return { ...found, remarks: Main.takeRemarks() };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: error.message, path: own ? location.pathname : null, remarks: Main.takeRemarks() };
  }
};

// Generate the problem and read it. Where everything is read, no time passes before that on a
// page that moves by itself: some give their reward for what is done from the first moment on.
const start = async (given, screen, kind, goal = "", random = given) => {
  prepare({ full: screen !== "compact", tree: screen === "tree" }, kind);
  preload();
  await loaded();
  await warmUp(); // for scripts of the page that wait until it is loaded
  if (isLeaving()) return null; // the page leads to another one at once
  const begun = own && pending();
  await begin(given, goal, random);
  while (own && settingUp()) {
    await loaded();
    await pass(200);
  }
  if (kind) Main.perturb("begin");
  if (!begun && pending()) presume();
  live.moving = trial.full && moves();
  if (!live.moving) await settled();
  await loaded();
  trial.asked = true;
  const found = isLeaving() ? null : read();
  if (own && found?.done) {
    throw new Fault(`the task is over before the first action, with the reward ${found.reward}; `
      + "the reward is 0 while the task is not decided");
  }
  return found && { ...found, ...Main.shown() };
};

// Calls for the document that Python talks to, which is always the outer one.
const api = {
  start: visited(start),
  // Read the consequences of an action; the browser scrolls a list to the option that a key has
  // selected with one of its next frames.
  read: visited(async () => {
    if (document.activeElement?.matches("select[multiple], select[size]")) await frames();
    await Promise.all([page(), ...agents()].map((agent) => agent.turned()));
    await settled();
    return isLeaving() ? null : read();
  }),
  // Let so many ms pass on the page's clock, if any, and read the page as it then is.
  readAfter: visited(async (ms, detailed) => {
    if (ms !== null) await page().wait(ms, detailed);
    return isLeaving() ? null : read();
  }),
  // Hand the page over to a program, or take it back.
  watch: (left) => {
    const strange = Main.watch(left);
    count();
    return strange;
  },
  // Python's answer to a question of the page (page/network.js).
  told: (...answer) => Main.told(...answer),
  hear: () => { trial.asked = true; },
  recognize: (...digests) => Main.recognize(...digests),
  witnessed: visited(async (acted) => {
    if (trial.seed === null) return null; // another page, which the program has opened
    if (!acted && !Main.stirred()) return { still: true };
    const before = Main.time();
    count();
    await settled();
    return isLeaving() ? null : { ...read(), passed: Main.time() - before };
  }),
  // Let time pass for a program that sleeps, or asks the same again: then no longer than until a
  // timer has run that does not recur.
  elapse: async (ms, repeated) => {
    const [began, fired] = [Main.time(), Main.fired()];
    for (let now = began; now < began + ms && !isLeaving(); now = Main.time()) {
      const before = Main.requested();
      await pass(Math.min(SECOND, began + ms - now));
      await queued();
      if (Main.requested() !== before) await loaded();
      if (repeated && Main.fired() !== fired) break;
    }
    return Main.time() - began;
  },
  // True if the trial has begun, false if not; null if another page is about to come.
  begun: () => isLeaving() || !own ? null : trial.seed !== null,
  stay,
  // Hear of everything again if a script has written a document anew.
  listenAgain: () => {
    Main.listenAgain();
    listenAgain();
    for (const agent of agents()) agent.listenAgain();
  },
  // End the trial with the reward of an app's judge.
  decide: (reward) => Main.decide(reward),
  // Hand the trial over to the page that the browser goes to: this one may not hear of that.
  handOver: () => Main.handOver(),
  // The visible or the whole page as HTML, and the ids in it.
  html: (whole) => isOver() ? ["", []] : numbered(() => page().markup(whole)),
  view: (points, wanted) => view(page(), points, wanted),
  point,
  // Put a file, whose content is in Base64, into a file field.
  upload: (field, name, type, content, lastModified) => {
    const bytes = Uint8Array.fromBase64(content);
    const chosen = new DataTransfer();
    chosen.items.add(new File([bytes], name, { type, lastModified }));
    field.files = chosen.files;
    changed(field);
  },
  // Call one of the functions below in the document that shows the task.
  ask: (name, ...values) => {
    const agent = agentFor(values);
    if (name === "aim" && values[0].some((place) => agentFor([[place]]) !== agent)) return aimEach(values[0]);
    return agent === window.miniwobAgent || !agent.inside ? agent[name](...values)
      : agent.ask(name, ...values);
  },
  // True if an element with this id is in this document, or in a frame of it.
  has: (id) => byId.has(id) || agents().some((agent) => agent.has(id)),
  // What documents in frames of your own pages have in common with this one.
  inside: own || outer ? { Main, counter, document, hitAt, placement, scrolled, useFonts, viewport } : null,
  settle,
  settleFinely,
  wait,
  ticks: () => Main.ahead(Infinity) > 0,
  frame: step,
  follow,
  shown: () => [...everything(), ...takeChanges()],
  seen,
  tree,
  nested: () => [...tree(), ...takeChanges()],
  leaves: () => leaves(body()),
  focused,
  markup,
  boxes,
  sights,
  reach,
  aim,
  aimed,
  caret,
  spinner,
  covered,
  expect,
  missed,
  setType,
  settable,
  set,
  dragged,
  selected,
  turned,
  range,
  option,
  marked,
  copied: () => trial.clipboard["text/plain"] ?? "",
  located: (id) => ({ opened: trial.opened, ...located(id) }),
  news: (before, id) => ({ opened: trial.opened, url: location.href, alone: inCore() ? "it is judged by core.js"
    : Main.answered() ? "its page has a backend, task.api" : "", news: news(before), gone: gone(id) }),
};
// A program can add a binding, but none of this name.
Object.defineProperty(window, "miniwobAgent", { value: api, configurable: true });
