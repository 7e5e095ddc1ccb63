// WebSockets, event sources and streamed answers on your own pages and those of apps. Python has their other end, the
// app's or the tape's; what comes is delivered when nothing else is under way (page/network.js).

import {
  Arrays, Bytes, DOMException, Map, Nodes, Number, Object, Set, String, Targets, URL, WeakMap, apply,
  fromBase64,
} from "./saved.js";
import { goesOn, outer, own, tell } from "./trial.js";
import { add, queued, remove, work } from "./clock.js";
import { listen } from "./listeners.js";
import "./work.js";

const { ArrayBuffer, Blob, CloseEvent, Event, EventTarget, MessageEvent, ReadableStream, Response,
  TypeError, Uint8Array, fetch } = window;

// What takes messages, in this document and the frames in it, by numbers, which go on from page to
// page. `early` are messages of answers that the page has not got yet.
export const wires = outer?.wires
  ?? { count: goesOn("sockets", 0, () => wires.count), takers: new Map(), early: [] };

const keys = []; // of this document alone

export const deliver = async (messages) => {
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    const take = wires.takers.get(message.socket);
    if (take) take(message);
    else Arrays.push(wires.early, message);
    await queued(1);
  }
};

const encoded = (data) => {
  if (ArrayBuffer.isView(data)) {
    return { bytes: Bytes.toBase64(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) };
  }
  return /ArrayBuffer$/.test(data?.[window.Symbol.toStringTag])
    ? { bytes: Bytes.toBase64(new Uint8Array(data)) } : { text: String(data).toWellFormed() };
};

const parts = new WeakMap(); // what sockets and event sources have that they do not show
const say = (self, does, more) => {
  const { key, kind, url } = parts.get(self);
  tell({ __proto__: null, socket: key, kind, does, url, ...more });
};
const connect = (self, asked, take) => {
  parts.get(self).key = ++wires.count;
  wires.takers.set(wires.count, take);
  Arrays.push(keys, wires.count);
  say(self, "OPEN", { origin: location.origin, agent: navigator.userAgent, ...asked });
};
const invalid = (address) =>
  new DOMException(`The URL '${address}' or a subprotocol is invalid.`, "SyntaxError");
const resolved = (address) => {
  try {
    return new URL(address, Nodes.baseURI(document));
  } catch {
    throw invalid(address);
  }
};
const hear = (self, event) => void Targets.dispatchEvent(self, event);

class Wire extends EventTarget {
  get url() { return parts.get(this).url; }
  get readyState() { return parts.get(this).state; }
}

class WebSocket extends Wire {
  binaryType = "blob";

  constructor(address, protocols = []) {
    super();
    const url = resolved(address);
    url.protocol = { "http:": "ws:", "https:": "wss:" }[url.protocol] ?? url.protocol;
    const named = Arrays.concat([], protocols);
    if (!/^wss?:$/.test(url.protocol) || url.hash || new Set(named).size < named.length) {
      throw invalid(address);
    }
    parts.set(this, { kind: "WebSocket", url: url.href, origin: url.origin, state: 0, handlers: {} });
    connect(this, { protocols: named.join(","), cookies: true }, (message) => this.#take(message));
  }

  get protocol() { return parts.get(this).protocol ?? ""; }
  get extensions() { return ""; }
  get bufferedAmount() { return 0; }

  #take(/** @type {any} */ { type, data, binary, protocol, code, reason }) {
    const part = parts.get(this);
    if (part.state === 3 || (part.state === 2 && type === "message")) return;
    if (type === "open") Object.assign(part, { state: 1, protocol });
    if (type === "close") {
      part.state = 3;
      const wasClean = code !== 1006;
      hear(this, new CloseEvent(type, { code: part.plain && wasClean ? 1005 : code, reason, wasClean }));
    } else if (type === "message") {
      const bytes = binary ? fromBase64(data).buffer : data;
      const content = binary && this.binaryType === "blob" ? new Blob([bytes]) : bytes;
      hear(this, new MessageEvent(type, { data: content, origin: part.origin }));
    } else hear(this, new Event(type));
  }

  send(data) {
    const part = parts.get(this);
    if (part.state === 0) throw new DOMException("Still in CONNECTING state.", "InvalidStateError");
    if (part.state > 1) return;
    const isFile = data instanceof Blob;
    if (!isFile && !part.last) return void say(this, "SEND", encoded(data));
    const { last: before } = part; // a file is read first; what is sent later comes after it
    const read = isFile ? data.arrayBuffer() : encoded(data);
    const sent = work(null, (async () => {
      const what = isFile ? encoded(await read) : read;
      await before;
      if (part.state < 3) say(this, "SEND", what);
      if (part.last === sent) part.last = null;
    })());
    part.last = sent;
  }

  close(code, reason = "") {
    const part = parts.get(this);
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code < 5000)) {
      throw new DOMException(`${code} is neither 1000 nor between 3000 and 4999.`, "InvalidAccessError");
    }
    if (part.state > 1) return;
    const opening = part.state === 0;
    Object.assign(part, { state: 2, plain: code === undefined });
    if (opening) {
      say(this, "LEAVE");
      add(() => {
        this.#take({ type: "error" });
        this.#take({ type: "close", code: 1006, reason: "" });
      }, 0, false, []);
      return;
    }
    const leave = () => {
      if (part.state < 3) say(this, "CLOSE", { code: code ?? 1000, reason: String(reason) });
    };
    if (part.last) part.last.finally(leave); // of a file that is read
    else leave();
  }
}

class EventSource extends Wire {
  constructor(address, { withCredentials = false } = {}) {
    super();
    const { href, origin } = resolved(address);
    parts.set(this, { kind: "EventSource", url: href, origin, state: 0, handlers: {}, last: "", retry: 3000,
      withCredentials });
    this.#open();
  }

  get withCredentials() { return parts.get(this).withCredentials; }

  #open() {
    const { last, origin, withCredentials } = parts.get(this);
    connect(this, { last, cookies: withCredentials || origin === location.origin }, (message) => this.#take(message));
  }

  #take({ type, data, name, last, retry, fatal }) {
    const part = parts.get(this);
    if (part.state === 2) return;
    part.last = last ?? part.last;
    part.retry = retry ?? part.retry;
    if (type === "open") part.state = 1;
    if (type === "message") {
      hear(this, new MessageEvent(name, { data, origin: part.origin, lastEventId: part.last }));
      return;
    }
    if (type === "error") {
      part.state = fatal ? 2 : 0;
      const again = () => {
        remove(part.timer);
        this.#open();
      };
      if (!fatal) part.timer = add(again, part.retry, true, []); // recurs, as the page does not move by it
    }
    hear(this, new Event(type));
  }

  close() {
    const part = parts.get(this);
    if (part.state === 2) return;
    part.state = 2;
    remove(part.timer);
    say(this, "CLOSE");
  }
}

// Have a class look as the browser's own: with these states and handlers.
const define = (owner, name, what) =>
  Object.defineProperty(owner, name, { __proto__: null, enumerable: true, configurable: true, ...what });
const replace = (owner, states, events) => {
  const { prototype } = owner;
  Arrays.forEach(states, (name, value) => {
    define(owner, name, { value, configurable: false });
    define(prototype, name, { value, configurable: false });
  });
  Arrays.forEach(events, (type) => define(prototype, `on${type}`, {
    get() { return parts.get(this).handlers[type] ?? null; },
    set(run) {
      const { handlers } = parts.get(this);
      if (!(type in handlers)) {
        Targets.addEventListener(this, type, (event) => { if (handlers[type]) apply(handlers[type], this, [event]); });
      }
      handlers[type] = typeof run === "function" ? run : null;
    },
  }));
  define(prototype, window.Symbol.toStringTag, { value: owner.name, enumerable: false });
  window[owner.name] = owner;
};

// An answer whose parts come as messages of a number, which one of its headers has (gate.py).
const STREAM = "miniwob-stream";
const streamed = (response, signal) => {
  const { status, statusText, headers: given, url, type, redirected } = response;
  const key = Number(given.get(STREAM));
  let stream;
  const leave = () => {
    wires.takers.set(key, () => {});
    tell({ __proto__: null, socket: key, kind: "Fetch", does: "LEAVE", url });
  };
  const body = new ReadableStream({ start: (controller) => { stream = controller; }, cancel: leave });
  const take = (message) => {
    if (message.type === "close") stream.close();
    else if (message.type === "error") stream.error(new TypeError("network error"));
    else stream.enqueue(message.binary ? fromBase64(message.data) : new TextEncoder().encode(message.data));
  };
  wires.takers.set(key, take);
  Arrays.push(keys, key);
  Arrays.forEach(wires.early, (message) => { if (message.socket === key) take(message); });
  signal?.addEventListener("abort", () => {
    stream.error(signal.reason);
    leave();
  });
  const headers = new Headers(given);
  headers.delete(STREAM);
  const values = { url: { value: url }, type: { value: type }, redirected: { value: redirected } };
  return Object.defineProperties(new Response(body, { status, statusText, headers }), values);
};

if (own || outer) {
  replace(WebSocket, ["CONNECTING", "OPEN", "CLOSING", "CLOSED"], ["open", "message", "error", "close"]);
  replace(EventSource, ["CONNECTING", "OPEN", "CLOSED"], ["open", "message", "error"]);
  window.fetch = new Proxy(fetch, { __proto__: null, apply: async (run, self, given) => {
    const response = await apply(run, self, given);
    if (!response.headers.has(STREAM)) return response;
    return streamed(response, given[1]?.signal ?? given[0].signal);
  } });
  // The other end hears of it when this document is left, as it does from the browser.
  listen("pagehide", () => Arrays.forEach(keys, (key) => {
    tell({ __proto__: null, socket: key, kind: "WebSocket", does: "LEAVE", url: location.href });
  }));
}
