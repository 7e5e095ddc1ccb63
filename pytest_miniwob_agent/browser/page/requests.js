// Requests of scripts on your own pages: those that the task itself answers (`api`), and what was asked.
// They are answered in the order in which they were made.

import {
  Array, Arrays, Bodies, Documents, JSON, Math, Nodes, Object, Patterns, Promise, Request,
  Response, Set, String, URL, URLPattern, URLSearchParams, WeakMap, XMLHttpRequest, apply,
  performance,
} from "./saved.js";
import {
  Fault, declared, goesOn, leaving, outer, own, remark, shownError, trial,
} from "./trial.js";
import { interrupted, interrupts } from "./perturb.js";
import { add, clock, end, framed, idle, nextFrame, queued, remove, start, work } from "./clock.js";

const { ANSWERED, ECHO } = Constants;

const state = goesOn("state", {}, () => state); // of the backend, for the length of a trial
const made = goesOn("made", [], () => made); // the requests of the trial: method, path and body

// The requests that a page makes before the trial begins wait for this.
let begin;
export const begun = outer?.begun ?? new Promise((resolve) => { begin = resolve; });
export const beginAnswers = () => begin();
if (own && trial.seed !== null) begin();

// The parameters in the path of an address; null if it is not that of a route or pattern.
const params = (pattern, url) => {
  const { origin, pathname } = new URL(pattern, location.origin);
  if (origin !== url.origin) return null;
  return new URLPattern({ pathname }).exec({ pathname: url.pathname })?.pathname.groups ?? null;
};

const ROUTE = /^[A-Z]+ (\/|https?:\/\/)\S*$/;

// The routes of the task, checked where a trial begins.
export const routes = () => Object.entries(declared()?.api ?? {});
export const checkRoutes = () => {
  Arrays.forEach(routes(), ({ 0: name, 1: handler }) => {
    if (!Patterns.exec(ROUTE, name) || typeof handler !== "function") {
      throw new Fault(`task.api has ${JSON.stringify(name)}: a route is a method and a path, such `
        + 'as "POST /api/cart", and its value a function of the request');
    }
  });
};
export const routed = outer?.routed ?? ((method, address) => {
  const url = new URL(address, Nodes.baseURI(document));
  return routes().map(([name, handler]) => {
    const [verb, path] = name.split(" ");
    return { name, handler, params: verb === method.toUpperCase() ? params(path, url) : null };
  }).find((route) => route.params);
});

// True if the task answers a request, but only once the trial has begun.
export const waits = outer?.waits
  ?? ((method, address) => trial.seed === null && Boolean(routed(method, address)));

// What a request has sent, of which this is a copy: JSON as it is, the fields of a form, or text.
const sent = async (request) => {
  const type = request.headers.get("content-type") ?? "";
  if (/form-data|urlencoded/.test(type)) return Object.fromEntries(await request.formData());
  const text = await request.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return text;
  }
};

// What a handler returns, once all of it is there. Time passes meanwhile.
const MOST_ANSWER = 10; // seconds of the page's clock
const handled = async (handler, request, signal) => {
  const whole = async () => {
    const said = await handler(request);
    if (said instanceof Response) {
      const bytes = Bodies.arrayBuffer(said.clone());
      await (clock.streamed.has(said) ? bytes : work(null, bytes));
    }
    return said;
  };
  let late; // recurs, as the page does not move by it
  clock.due++;
  try {
    return await new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason));
      late = add(() => reject(new Fault(`did not answer within ${MOST_ANSWER} seconds of the page's `
        + "clock")), MOST_ANSWER * 1000, true, []);
      whole().then(resolve, reject);
    });
  } finally {
    clock.due--;
    remove(late);
  }
};

// Note a request, and return the task's answer to it; null if it has none.
export const answerRequest = outer?.answerRequest ?? (async (request) => {
  const url = new URL(request.url);
  if (!own || !url.protocol.startsWith("http")) return null;
  const path = url.origin === location.origin ? url.pathname : url.origin + url.pathname;
  const { method } = request;
  const headers = Object.fromEntries(request.headers);
  const body = await work(null, sent(request));
  const instead = interrupts() ? await interrupted({ method, path, body, state }) : null;
  if (instead) return instead;
  made.push({ method, path, body });
  const route = routed(method, url);
  if (!route) return null;
  const query = Object.fromEntries(url.searchParams);
  try {
    const said = await handled(route.handler, { method, path, params: route.params, query, body,
      headers, state, seed: trial.seed }, request.signal);
    if (said instanceof Response) return said;
    return said === undefined ? new Response(null, { status: 204 }) : Response.json(said);
  } catch (error) {
    if (request.signal.aborted) throw error;
    const what = error instanceof Fault ? error.message : `threw ${shownError(error)}`;
    trial.fault ??= `task.api["${route.name}"] ${what}`;
    return Response.json(null, { status: 500 });
  }
});

// True if a value has all that is wanted of it, other fields aside.
const covers = (value, wanted) => {
  if (wanted === null || typeof wanted !== "object") return value === wanted;
  return value !== null && typeof value === "object"
    && Array.isArray(value) === Array.isArray(wanted)
    && (!Array.isArray(wanted) || value.length === wanted.length)
    && Object.entries(wanted).every(([name, part]) => covers(value[name], part));
};

// True if a request was made in this trial, with these fields among what it sent.
const asked = (method, path, body) => made.some((one) => one.method === method
  && params(path, new URL(one.path, location.origin))
  && (body === undefined || covers(one.body, body)));
export const tools = { asked, state };

const { send: plainSend } = XMLHttpRequest.prototype; // for our own requests
// `count` is the number of requests; the next one is answered after `last`.
export const line = outer?.line ?? { count: 0, last: Promise.resolve() };
const plainFetch = window.fetch;
const { open: plainOpen, setRequestHeader: plainHeader, abort: plainAbort } =
  XMLHttpRequest.prototype;

// A request that the task answers, as a program that has the page is to see it in the network: it
// takes the answer to the server, which sends it back. Null where that is not possible.
const MOST_CARRIED = 100_000; // bytes
const carried = async (request, said) => {
  const { url, method, signal } = request;
  const bytes = new Uint8Array(await Bodies.arrayBuffer(said.clone()));
  const near = new URL(url).origin === location.origin && Math.trunc(said.status / 100) !== 3;
  if (!trial.watched || !near || bytes.length > MOST_CARRIED) return null;
  const body = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const headers = new Headers(request.headers);
  headers.set(ANSWERED, JSON.stringify({ status: said.status, headers: [...said.headers], body }));
  const bodyless = /^(GET|HEAD)$/.test(method);
  return { method, signal, headers, body: bodyless ? null : await request.arrayBuffer() };
};

// A response as the page expects it, of which all has arrived.
const arrived = async (found, url) => {
  const body = [101, 204, 205, 304].includes(found.status) ? null : await Bodies.arrayBuffer(found);
  const { status, statusText, headers, redirected } = found;
  return Object.defineProperties(new Response(body, { status, statusText, headers }),
    { url: { value: url }, redirected: { value: redirected } });
};

if ((own || outer) && !Constants.APP) {
  // Have a request answered after those before it, but for answers that timers have to pass for.
  const inTurn = (reply) => {
    line.count++;
    const response = line.last.then(reply);
    line.last = line.last.then(() => idle());
    return response;
  };
  const asking = (method, address, reply) =>
    waits(method, address) ? begun.then(() => inTurn(reply)) : inTurn(reply);

  window.fetch = async (input, init) => {
    const request = new Request(input instanceof Request ? input.clone() : input, init);
    const { url, method } = request;
    const deliver = async (said) => {
      const sent = said && await carried(request, said);
      if (sent) return arrived(await plainFetch(url, sent), url);
      return arrived(said ?? await plainFetch(request), url);
    };
    return asking(method, url, async () => work(null, deliver(await answerRequest(request.clone()))));
  };
  navigator.sendBeacon = (url, body) => {
    window.fetch(url, { method: "POST", body }).catch(() => {});
    return true;
  };

  const sent = new Set(); // requests that are under way
  const over = (request) => {
    sent.delete(request);
    end(request);
  };
  const asked = new WeakMap(); // what a request was opened with, and its headers
  XMLHttpRequest.prototype.open = function (method, address, ...rest) {
    asked.set(this, { method, url: new URL(address, Nodes.baseURI(document)).href, headers: [], rest });
    plainOpen.call(this, method, address, ...rest);
    over(this); // what was under way is given up, without an event
  };
  XMLHttpRequest.prototype.setRequestHeader = function (...header) {
    plainHeader.apply(this, header);
    asked.get(this).headers.push(header);
  };
  XMLHttpRequest.prototype.abort = function () {
    plainAbort.call(this);
    over(this);
  };
  // Have the task answer, through the server, which sends back what it gets: nobody else can make
  // an XMLHttpRequest have an answer.
  const sendAnswer = async (xhr, request) => {
    const said = await answerRequest(request.clone());
    if (!sent.has(xhr)) return; // given up meanwhile
    start(xhr);
    const shown = await carried(request, said);
    const body = await Bodies.blob(said);
    const type = said.headers.get("content-type") ?? "";
    if (!sent.has(xhr)) return;
    if (shown) {
      plainOpen.call(xhr, request.method, request.url);
      shown.headers.forEach((value, name) => plainHeader.call(xhr, name, value));
      return void plainSend.call(xhr, shown.body);
    }
    const query = new URLSearchParams({ status: said.status, type });
    plainOpen.call(xhr, "POST", `${ECHO}?${query}`);
    Object.defineProperty(xhr, "responseURL", { value: request.url, configurable: true });
    plainSend.call(xhr, body);
  };
  XMLHttpRequest.prototype.send = function (/** @type {any} */ body) {
    if (!asked.has(this)) return void plainSend.call(this, body); // an error: it is not open
    line.count++;
    const first = !sent.has(this);
    const { method, url, headers, rest: [inBackground = true] } = asked.get(this);
    const bodyless = /^(GET|HEAD)$/i.test(method);
    const request = new Request(url, { method, headers, body: bodyless ? null : body });
    if (first) {
      sent.add(this);
      this.addEventListener("loadend", () => over(this), { once: true });
    }
    if (routed(method, url) && inBackground) {
      if (!waits(method, url)) return void sendAnswer(this, request);
      return void begun.then(() => sendAnswer(this, request));
    }
    if (routed(method, url)) {
      remark(`the task can't answer a synchronous request: ${method} ${url}`);
    } else answerRequest(request); // to note it
    let going = false;
    start(this);
    try {
      plainSend.call(this, body);
      going = this.readyState !== XMLHttpRequest.DONE;
    } finally { // one that is waited for may fail without an event
      if (first && !going) over(this);
    }
  };
}

// The number of files that a page has got, where its modules may load others at any time.
const { getEntriesByType } = performance;
const files = () => Documents.querySelector(document, "script[type=module]")
  ? apply(getEntriesByType, performance, ["resource"]).length : 0;

// Wait until an own page has got what it asked for, and has drawn.
export const quiet = async () => {
  let known;
  if (Constants.APP) {
    do {
      await idle();
      known = line.count;
      if (framed()) await nextFrame(); // what hears of it may ask for more
      await idle();
    } while (line.count > known && !leaving.now);
    return;
  }
  do {
    known = files();
    await idle();
    for (let times = known ? 2 : 1; times > 0; times--) {
      await queued();
      if (known || framed()) await nextFrame();
    }
    await idle(5);
  } while (files() > known && !leaving.now);
};
