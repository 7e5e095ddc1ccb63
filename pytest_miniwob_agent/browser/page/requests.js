// Requests of scripts on your own pages: those that the task itself answers (`api`), and what was asked.
// Python hands them over (gate.py), in the order in which they were made.

import {
  Array, Arrays, Bodies, Bytes, JSON, Map, Nodes, Object, Patterns, Promise, Response, Targets, URL,
  URLPattern, fromBase64,
} from "./saved.js";
import {
  Fault, declared, goesOn, leaving, own, remark, shownError, tell, trial,
} from "./trial.js";
import { interrupted, interrupts } from "./perturb.js";
import { add, clock, framed, frames, heard, idle, remove, work, worked } from "./clock.js";

const state = goesOn("state", {}, () => state); // of the backend, for the length of a trial
const made = goesOn("made", [], () => made); // the requests of the trial: method, path and body

// The requests that a page makes before the trial begins wait for this.
let begin;
const begun = new Promise((resolve) => { begin = resolve; });
export const beginAnswers = () => begin();
if (own && trial.seed !== null) begin();

// The parameters in the path of an address; null if it is not that of a route or pattern.
const params = (pattern, url) => {
  const { 1: origin = location.origin, 2: pathname } = Patterns.exec(/^(https?:\/\/[^/]+)?(.*)$/, pattern);
  if (new URL(origin).origin !== url.origin) return null;
  return new URLPattern({ pathname }).exec({ pathname: url.pathname })?.pathname.groups ?? null;
};

// Why the path of a route is no pattern; empty if it is one.
const faultOf = (name) => {
  try {
    const { 1: path } = name.split(" ");
    params(path, new URL(path, location.href));
    return "";
  } catch (error) {
    return error.message;
  }
};

const ROUTE = /^[A-Z]+ (\/|https?:\/\/)\S*$/;

// The routes of the task, checked when a trial begins.
export const routes = () => Object.entries(declared()?.api ?? {});
export const checkRoutes = () => {
  Arrays.forEach(routes(), ({ 0: name, 1: handler }) => {
    if (!Patterns.exec(ROUTE, name) || typeof handler !== "function") {
      throw new Fault(`task.api has ${JSON.stringify(name)}: a route is a method and a path, such `
        + 'as "POST /api/cart", and its value a function of the request');
    }
    const fault = faultOf(name);
    if (fault) throw new Fault(`task.api has ${JSON.stringify(name)}: its path is no URLPattern: ${fault}`);
  });
};
export const routed = (method, address) => {
  const url = new URL(address, Nodes.baseURI(document));
  return routes().map(([name, handler]) => {
    const [verb, path] = name.split(" ");
    const fits = verb === method.toUpperCase() && !faultOf(name);
    return { name, handler, params: fits ? params(path, url) : null };
  }).find((route) => route.params);
};

// What a request has sent: JSON as it is, the fields of a form, or text.
const sent = async (type, bytes) => {
  const body = new Response(bytes, { headers: { "content-type": type } });
  if (/form-data|urlencoded/.test(type)) return Object.fromEntries(await body.formData());
  const text = await body.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return text;
  }
};

// An answer for Python, once all of it is there.
const packed = async (response) => {
  const bytes = Bodies.arrayBuffer(response);
  const { status, headers } = response;
  const whole = await (clock.streamed.has(response) ? bytes : work(null, bytes));
  return { status, headers: [...headers], body: Bytes.toBase64(new Uint8Array(whole)) };
};

// What a handler returns. Time passes meanwhile.
const MOST_ANSWER = 10; // seconds of the page's clock
const handled = async (handler, request, signal) => {
  const whole = async () => {
    const said = await handler(request);
    if (said instanceof Response) return packed(said);
    return packed(said === undefined ? new Response(null, { status: 204 }) : Response.json(said));
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
const answerRequest = async (method, address, headers, body, signal) => {
  const url = new URL(address);
  const path = url.origin === location.origin ? url.pathname : url.origin + url.pathname;
  const instead = interrupts() ? await interrupted({ method, path, body, state }) : null;
  if (instead) return packed(instead);
  made.push({ method, path, body });
  const route = routed(method, url);
  if (!route) return null;
  const query = Object.fromEntries(url.searchParams);
  try {
    return await handled(route.handler, { method, path, params: route.params, query, body,
      headers, state, seed: trial.seed }, signal);
  } catch (error) {
    if (!signal.aborted) {
      const what = error instanceof Fault ? error.message : `threw ${shownError(error)}`;
      trial.fault ??= `task.api["${route.name}"] ${what}`;
    }
    return { status: 500, headers: [], body: "" };
  }
};

// Requests are answered one after the other, but for answers that timers have to pass for.
/** @type {Promise<any>} */
let last = Promise.resolve();
const inTurn = (reply) => {
  const answer = last.then(reply);
  last = last.then(worked);
  return answer;
};

const asking = new Map(); // number of a request that is not answered -> what gives it up
export const giveUp = (number) => asking.get(number)?.abort();

// Answer a request of Python's, or have it answer: one that blocks the page has its answer already.
export const handle = async (number, { method, url, headers, body }, blocks) => {
  if (document.readyState === "loading") {
    await new Promise((resolve) => Targets.addEventListener(document, "readystatechange", resolve));
  }
  const fields = await work(null, sent(headers["content-type"] ?? "", body && fromBase64(body)));
  if (blocks) {
    made.push({ method, path: new URL(url).pathname, body: fields });
    if (routed(method, url)) remark(`the task can't answer a synchronous request: ${method} ${url}`);
    return;
  }
  const later = () => { if (asking.has(number)) tell({ request: number, later: true }); };
  const controller = new AbortController();
  asking.set(number, controller);
  if (trial.seed === null && routed(method, url)) {
    later();
    await begun;
  }
  const told = inTurn(() => answerRequest(method, url, headers, fields, controller.signal));
  last.then(later);
  const said = await told;
  asking.delete(number);
  tell({ request: number, answer: said });
};

// Have the task answer a form; the address to which its answer leads, if any.
export const post = async (url, fields) => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { signal } = new AbortController();
  const said = await inTurn(() =>
    answerRequest("POST", url, headers, Object.fromEntries(fields), signal));
  return said.headers.find(([name]) => name === "location")?.[1];
};

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

// The number of requests so far, and with it that of all that Python has told of them.
export const line = { count: 0, told: 0 };

// Wait until an own page has got what it asked for, and has drawn.
export const quiet = async () => {
  let known;
  do {
    await idle();
    known = line.count;
    // What hears of a frame may change the page, and hear of that with the next; or ask for more.
    if (framed()) await frames(2);
    await heard();
    await idle(5);
  } while (line.count > known && !leaving.now);
};
