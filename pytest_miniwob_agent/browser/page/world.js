// Our own world of a document, which reads it where no script of the page can replace anything. The
// page's world has its functions (page/served.js): they are called by events on an object that both
// worlds have, and what they get and return is copied.

class Fault extends Error {} // an own page can't be a task; the message says why

const Main = (() => {
  const { CALL, ANSWER, KEY } = Constants;

  let count = 0;
  const answers = new Map(); // number of a call -> what settles its promise, or its answer
  const opened = ({ value, error, fault }) => {
    if (fault) throw new Fault(error);
    if (error !== undefined) throw new Error(error);
    return value;
  };
  performance.addEventListener(ANSWER, (event) => {
    const { detail } = event;
    if (detail.key !== KEY) return;
    event.stopImmediatePropagation();
    const settle = answers.get(detail.number);
    if (settle) settle(() => opened(detail));
    else answers.set(detail.number, detail);
  }, true);

  // Call a function: what it returns, or a promise of that where it takes time.
  const call = (name, values) => {
    const number = ++count;
    const detail = { key: KEY, number, name, values };
    if (performance.dispatchEvent(new CustomEvent(CALL, { detail, cancelable: true }))) {
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

  return new Proxy({}, { get: (_, name) => (...values) => call(name, values) });
})();

// An element as its class has it: the names of a form's fields hide properties of the form.
const plain = (element) => !(element instanceof HTMLFormElement) ? element : new Proxy({}, {
  get: (_, name) => {
    const found = Reflect.get(HTMLFormElement.prototype, name, element);
    return typeof found === "function" ? found.bind(element) : found;
  },
});

// The visit of this document (page/visit.js). Whether it is a page of your own and what the page
// around it shares with it is known here; the rest changes there.
const Visit = (() => {
  let outer = null;
  try {
    outer = window === top ? null : parent.miniwobAgent?.inside ?? null;
  } catch {
    // it is of another origin
  }
  const known = { own: window === top && location.host === Constants.OWN_HOST, outer };
  return new Proxy(known, {
    get: (_, name) => (name in known ? known[name] : Main.visit(name)),
    set: (_, name, value) => Main.keep(name, value),
  });
})();
