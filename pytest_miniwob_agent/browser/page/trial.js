// The trial of a page: its state, which goes on from page to page, and the task, as the page itself
// declares it or in the form of MiniWoB++'s core.js. Pages of the package stay for the whole trial.

import {
  Array, Arrays, Error, ErrorEvent, JSON, Node, Object, Patterns, String, errorOf, messageOf, reasonOf,
} from "./saved.js";
import { send } from "./line.js";
import { listen } from "./listeners.js";

const { APP, DOMAIN, OWN_HOST } = Constants;

// Pages of an app's other origins are read in frames, as far as they may have its domain.
try {
  if (DOMAIN) document.domain = DOMAIN;
} catch {
  // it is another one
}

// True for a page of your own, or of an app.
export const own = window === top
  && (APP ? Boolean(Patterns.exec(/^https?:$/, location.protocol)) : location.host === OWN_HOST);

// Tell Python something (gate.py).
export const tell = (what) => send("tell", JSON.stringify(bare(what)));

// What the page around this one shares with it, if this is in a frame of your own page: nothing that
// decides, as any script has it.
const shared = () => {
  try {
    return window === top ? null : parent.miniwobAgent?.inside?.() ?? null;
  } catch {
    return null; // it is of another origin
  }
};
export const outer = shared();

// What the page before in this trial has handed over, which Python has kept. The first page of a trial, and
// an app's pages in frames of other origins, get the clock and the random numbers with which it begins.
const HANDED = "miniwob-agent";
const carried = () => {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (
    window.performance.getEntriesByType("navigation"));
  const found = entry?.serverTiming.find(({ name }) => name === HANDED);
  return found?.description ? decodeURIComponent(found.description) : null;
};
const handed = own || (APP && !outer) ? JSON.parse(carried()) : null;

// The first page of a trial starts with nothing that an earlier one has stored. Python clears the
// rest, such as cookies and databases, before it loads a page; only a script can clear the storage of
// a session.
if (window === top && (own || location.protocol === "http:") && !handed?.trial) {
  localStorage.clear();
  sessionStorage.clear();
  window.name = "";
}

// Have a value go on to the next page, where `now` returns it by then. Returns what the page before
// has handed over by this name, or `initial`.
const goods = [];
export const goesOn = (name, initial, now) => {
  Arrays.push(goods, { name, now });
  return handed?.[name] ?? initial;
};
// A copy that has no method `toJSON` of the page's prototypes, which some libraries add.
const bare = (value) => {
  const list = Array.isArray(value);
  if (!list && Object.getPrototypeOf(value ?? 0) !== Object.prototype) return value;
  const copy = list ? Object.setPrototypeOf([], null) : { __proto__: null };
  Arrays.forEach(Object.keys(value), (name) => { copy[name] = bare(value[name]); });
  return copy;
};

// Hand all of it on to the page that comes next, or take it back if no page comes.
export const going = (opened = trial.opened) => {
  const values = { __proto__: null };
  Arrays.forEach(goods, ({ name, now }) => { values[name] = bare(now()); });
  values.trial.opened = opened;
  return JSON.stringify(values);
};
export const handOn = (more = false) => tell({ handed: going(), more });
export const takeBack = () => tell({ handed: "" });

const fresh = {
  seed: null, // until the trial has begun
  full: false, // true if everything that shows is read
  tree: false, // true if it is read as a tree
  goal: "", // of an own page
  fault: null, // the reason why a page of this trial can't be a task
  count: 0, // of pages that followed one another since the last reading
  watched: false, // true while a program has the page
  asked: false, // true if dialogs are answered: since the trial has begun, and by programs that hear of them
  nextId: 1, // of elements
  opened: false, // true in a window that a page of an app has opened
  clipboard: /** @type {Record<string, string>} */ ({}), // by media types
  .../** @type {{}} */ (goesOn("trial", null, () => ({ ...trial, count: trial.count + 1 }))),
};
/** @typedef {Pick<typeof fresh, keyof typeof fresh>} Trial */
/** @type {Trial} */
export const trial = outer?.trial ?? fresh; // a frame is in the trial of the page around it

// Once another page is to be loaded, no time passes any more.
export const leaving = { now: false };

// What the author of the page should know, for the next reading.
const remarks = goesOn("remarks", [], () => remarks);
export const remark = outer?.remark
  ?? ((text) => void (Arrays.includes(remarks, text) || Arrays.push(remarks, text)));
export const takeRemarks = () => Arrays.splice(remarks, 0);

// The error that a script of the page has thrown, with its place.
export const shownError = (error) => {
  if (!(error instanceof Error)) return String(error);
  const found = Patterns.exec(/:\/\/[^/\s]+\/([^\s:)]*):(\d+):\d+/, error.stack ?? "");
  const place = found ? ` (line ${found[2]} of ${found[1] || "index.html"})` : "";
  return `${error.name}: ${error.message}${place}`;
};

if (own) {
  listen("error", (event) => {
    if (!(event instanceof ErrorEvent)) return; // a file that is missing
    const error = errorOf(event) || messageOf(event);
    if (error) remark(`a script failed: ${shownError(error)}`);
  });
  listen("unhandledrejection", (event) => {
    remark(`a promise was rejected: ${shownError(reasonOf(event))}`);
  });
}

// An own page can't be a task; the message says why.
export class Fault extends Error {}

// The task that an own page declares, in whatever way its script does; null if it does not.
export const declared = () => {
  if (!own || APP) return null;
  let found = null;
  try {
    found = task;
  } catch {
    return null; // there is no such name
  }
  const isTask = found && typeof found === "object" && !(found instanceof Node)
    && ("goal" in found || "setup" in found || "reward" in found);
  return isTask ? found : null;
};

// The paths of files that can be uploaded.
export const files = () => {
  const named = declared()?.files ?? [];
  if (Array.isArray(named) && Arrays.every(named, (path) => typeof path === "string")) return named;
  throw new Fault("task.files must be a list of paths of files");
};

// True if core.js runs the page's episode.
export const inCore = () => !own || (!APP && !declared() && typeof window.core?.endEpisode === "function");
