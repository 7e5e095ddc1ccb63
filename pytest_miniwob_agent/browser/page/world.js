// Our own world of a document, which reads it where no script of the page can replace anything. The
// page's world has its functions (page/served.js): they are called by events on a node that only the two
// have (page/line.js), and what they get and return is copied.

export class Fault extends Error {} // an own page can't be a task; the message says why

const line = document.createElementNS("http://www.w3.org/1999/xhtml", "div");
const ends = line.attachShadow({ mode: "open" });

let count = 0;
const answers = new Map(); // number of a call -> what settles its promise, or its answer
const opened = ({ value, error, fault }) => {
  if (fault) throw new Fault(error);
  if (error !== undefined) throw new Error(error);
  return value;
};
ends.addEventListener("answer", (/** @type {any} */ { detail }) => {
  const settle = answers.get(detail.number);
  if (settle) settle(() => opened(detail));
  else answers.set(detail.number, detail);
});
const binding = (detail) => /** @type {any} */ (window)[Constants.BINDING]?.(detail);
ends.addEventListener("tell", (/** @type {any} */ { detail }) => binding(detail));
performance.dispatchEvent(new MouseEvent("miniwob-agent", { relatedTarget: line }));

// Call a function: what it returns, or a promise of that if it takes time.
const call = (name, values) => {
  const number = ++count;
  const detail = { number, name, values };
  if (ends.dispatchEvent(new CustomEvent("call", { detail, cancelable: true }))) {
    if (outer) return outer.Main[name](...values); // in a frame no script of the page may run
    throw new Error("the scripts of this document's own world have not run");
  }
  const answer = answers.get(number);
  if (answer) {
    answers.delete(number);
    return opened(answer);
  }
  return new Promise((resolve) => answers.set(number, resolve))
    .finally(() => answers.delete(number)).then((open) => open());
};

/** @type {import("./served.js").Served} */
export const Main = new Proxy(/** @type {any} */ ({}), { get: (_, name) => (...values) => call(name, values) });

// An element as its class has it: the names of a form's fields hide properties of the form.
export const plain = (element) => !(element instanceof HTMLFormElement) ? element : new Proxy({}, {
  get: (_, name) => {
    const found = Reflect.get(HTMLFormElement.prototype, name, element);
    return typeof found === "function" ? found.bind(element) : found;
  },
});

// True for a page of your own, or of an app; what the page around this one shares with it, in a frame of such a page.
export const own = window === top
  && (Constants.APP ? /^https?:$/.test(location.protocol) : location.host === Constants.OWN_HOST);
const shared = () => {
  try {
    return window === top ? null : parent.miniwobAgent?.inside ?? null;
  } catch {
    return null; // it is of another origin
  }
};
export const outer = shared();

// The trial of this document, in the page's own world (page/trial.js). How the page is read is set by this
// world alone, once in a trial, and asked for so often that it is kept here: a call takes some 0.1 ms.
/** @type {Set<any>} */
const KEPT = new Set(["full", "tree"]);
const kept = {};
/** @type {import("./trial.js").Trial} */
export const trial = new Proxy(/** @type {any} */ ({}), {
  get: (_, name) => KEPT.has(name) ? kept[name] ??= Main.trial(name) : Main.trial(name),
  set: (_, name, value) => {
    Main.setTrial({ [name]: value });
    return true;
  },
});
// Have a page that was just loaded read in one way, and perturbed in another.
export const prepare = (reading, kind) => {
  Object.assign(kept, reading);
  Main.prepare(reading, kind);
};

// True if core.js runs the page's episode, and if another page is about to come. Pages of the package
// are always, and never, which saves the call.
export const inCore = () => !own || Main.inCore();
export const isLeaving = () => own && Main.isLeaving();
