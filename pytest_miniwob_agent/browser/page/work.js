// Your own pages: work that ends later without a timer. A delay follows the page's clock. Real work
// of the browser is waited for, and no page time passes meanwhile.

import {
  Arrays, DOMException, Element, Events, Number, Object, Patterns, Promise, String, Strings, Targets, WeakMap,
  XMLHttpRequest, apply, construct, methods, navigation,
} from "./saved.js";
import { outer, own, remark, trial } from "./trial.js";
import { FRAMED, add, began, clock, end, observed, remove, start, work } from "./clock.js";
import { follow } from "./clocks.js";

if (own || outer) {
  const {
    AbortController, Atomics, Blob, BroadcastChannel, FormData, HTMLImageElement, ProgressEvent, ReadableStream,
    URLSearchParams,
  } = window;

  const each = (names, run) => Arrays.forEach(names.split(" "), run);
  // Have a function of the browser called by `run` of it, `this` and the values.
  const replace = (owner, name, run) => {
    owner[name] = new Proxy(owner[name], { __proto__: null, apply: run });
  };
  // Have a class of the browser's tell `made` of each object, and of the values that it is made of.
  const replaceClass = (name, made) => {
    window[name] = new Proxy(window[name], { __proto__: null, construct: (...given) => {
      const object = apply(construct, null, given);
      made(object, given[1]);
      return object;
    } });
  };

  // Functions that return promises of work.
  const { streamed } = clock;
  const counted = (run, self, values) => {
    const found = apply(run, self, values);
    if (typeof found?.next === "function") replace(found, "next", counted);
    return found instanceof Promise && !streamed.has(self) ? work(run.name, found) : found;
  };
  const watch = (owner, names = window.Reflect.ownKeys(owner)) => Arrays.forEach(names, (name) => {
    const { value } = Object.getOwnPropertyDescriptor(owner, name) ?? {};
    if (typeof value === "function" && name !== "constructor") replace(owner, name, counted);
  });
  if (window.isSecureContext) {
    FileSystemWritableFileStream.prototype.close = WritableStream.prototype.close;
    // As for actions (page/selection.js), the clipboard is the page's own.
    const { ClipboardItem } = window;
    Clipboard.prototype.readText = async () => trial.clipboard["text/plain"] ?? "";
    Clipboard.prototype.writeText = async (text) => { trial.clipboard = { "text/plain": `${text}` }; };
    Clipboard.prototype.read = async () =>
      Object.keys(trial.clipboard).length ? [new ClipboardItem(trial.clipboard)] : [];
    Clipboard.prototype.write = async ({ 0: item }) => {
      const held = {};
      const texts = Arrays.filter(item.types, (type) => Patterns.exec(/^text\//, type));
      await Promise.all(Arrays.map(texts, async (type) => { held[type] = await (await item.getType(type)).text(); }));
      trial.clipboard = held;
    };
  }
  each("BaseAudioContext Blob Cache CacheStorage Clipboard CookieStore FileSystemDirectoryHandle "
    + "FileSystemFileHandle FileSystemHandle FileSystemWritableFileStream FontFace FontFaceSet "
    + "HTMLImageElement IDBFactory MediaCapabilities MediaDevices NavigatorUAData OffscreenCanvas "
    + "OfflineAudioContext Permissions Response StorageManager SubtleCrypto",
  (name) => window[name] && watch(window[name].prototype)); // pages by plain HTTP lack some
  watch(Document.prototype, ["exitFullscreen"]);
  watch(Element.prototype, ["requestFullscreen"]);
  watch(Navigator.prototype, ["getBattery"]);
  watch(Notification, ["requestPermission"]);
  watch(Scheduler.prototype, ["yield"]);
  watch(WebAssembly, ["compile", "compileStreaming", "instantiate", "instantiateStreaming"]);
  watch(window, ["createImageBitmap"]);
  replaceClass("Response", (response, { 0: body }) => {
    if (body instanceof ReadableStream) streamed.set(response, true);
  });
  replace(Blob.prototype, "stream", (run, self, values) => {
    const reader = apply(run, self, values).getReader();
    return new ReadableStream({
      __proto__: null,
      type: "bytes",
      pull: async (stream) => {
        const { done, value } = await work("stream", reader.read());
        if (!done) return stream.enqueue(value);
        stream.close();
        stream.byobRequest?.respond(0);
      },
      cancel: (reason) => reader.cancel(reason),
    });
  });

  // What ends with an event: of what a function returns, or of what it is called on.
  const until = (task, name, events) => {
    start(task, name);
    each(events, (event) => Targets.addEventListener(task, event, () => end(task)));
  };
  const expect = (owner, events, names) => each(names, (name) => {
    replace(owner, name, (run, self, values) => {
      const found = apply(run, self, values);
      until(found ?? self, name, events);
      return found;
    });
  });
  expect(IDBFactory.prototype, "success error blocked", "open deleteDatabase");
  expect(IDBDatabase.prototype, "complete abort", "transaction");
  expect(FileReader.prototype, "loadend",
    "readAsArrayBuffer readAsBinaryString readAsDataURL readAsText");
  const traverse = (name, steps) => replace(History.prototype, name, (run, self, values) => {
    const entry = navigation.entries()[navigation.currentEntry.index + steps(values)];
    if (entry) until(navigation, name, "currententrychange navigateerror");
    apply(run, self, values);
  });
  traverse("forward", () => 1);
  traverse("go", ({ 0: steps = 0 }) => steps || NaN);

  // What the browser tells with its next frame, of where things are: `quiet` waits for one then.
  each("IntersectionObserver PerformanceObserver ResizeObserver", (name) => {
    replaceClass(name, () => { clock.framed = true; });
    replace(window[name].prototype, "observe", (run, self, values) => {
      if (values[0] instanceof Element) observed(values[0]);
      return apply(run, self, values);
    });
  });
  // Of the elements that listen for clicks, our own world asks which do by an event that they answer.
  const PRESSES = ["click", "mousedown", "pointerdown"];
  const listened = (target, type) => {
    clock.framed ||= Arrays.includes(FRAMED, type);
    const pressed = Arrays.includes(PRESSES, type) && target instanceof Element;
    if (pressed) Targets.addEventListener(target, `${Constants.NAME} press`, Events.preventDefault);
  };
  replace(EventTarget.prototype, "addEventListener", (run, self, values) => {
    listened(self, `${values[0]}`);
    apply(run, self, values);
  });
  [Element.prototype, HTMLElement.prototype, SVGElement.prototype, Document.prototype, window].forEach((owner) => {
    Arrays.forEach(Arrays.concat(FRAMED, PRESSES), (type) => {
      const name = `on${type}`;
      const { set, ...rest } = Object.getOwnPropertyDescriptor(owner, name) ?? {};
      if (set) Object.defineProperty(owner, name, { ...rest, set(value) {
        if (value) listened(this, type);
        apply(set, this, [value]);
      } });
    });
  });

  // The size of a frame, unlike that of the page, may change with the page.
  if (outer) replace(window, "matchMedia", (run, self, values) => {
    clock.framed = true;
    return apply(run, self, values);
  });

  // What is loaded because a script asks for it; images in the document are waited for anyway.
  const load = async (element) => {
    await null; // it is inserted
    const { complete, isConnected, loading, rel = "" } = element;
    const loads = element instanceof HTMLImageElement ? !complete && loading !== "lazy"
      : isConnected && Patterns.exec(/^$|stylesheet|preload/, rel);
    if (loads) until(element, "loading a file", "load error");
  };
  replace(Element.prototype, "setAttribute", (run, self, values) => {
    apply(run, self, values);
    if (self instanceof HTMLImageElement || self instanceof HTMLScriptElement) load(self);
  });
  /** @type {any[][]} */
  const ADDRESSES = [[HTMLImageElement, "src"], [HTMLImageElement, "srcset"],
    [HTMLLinkElement, "href"], [HTMLScriptElement, "src"]];
  ADDRESSES.forEach(([{ prototype }, name]) => {
    const { set, ...rest } = Object.getOwnPropertyDescriptor(prototype, name);
    Object.defineProperty(prototype, name, { ...rest, set(value) {
      apply(set, this, [value]);
      load(this);
    } });
  });

  // What ends with the call of a function.
  const call = (run, self, values) => {
    const task = {};
    const { 0: callback } = values;
    if (typeof callback === "function") {
      values[0] = function (...given) {
        end(task);
        return apply(callback, this, given);
      };
    }
    const found = apply(run, self, values);
    start(task, run.name);
    values[1]?.signal?.addEventListener("abort", () => end(task));
    return found;
  };
  replace(HTMLCanvasElement.prototype, "toBlob", call);
  replace(Scheduler.prototype, "postTask", (run, self, values) => {
    const { 0: callback, 1: options } = values;
    const { delay, signal } = options ?? {};
    if (!(delay > 0) || signal?.aborted) return call(run, self, values);
    return new Promise((resolve, reject) => {
      const timer = add(() => resolve(self.postTask(callback, { __proto__: options, delay: 0 })),
        delay, false, []);
      signal?.addEventListener("abort", () => {
        remove(timer);
        reject(signal.reason);
      });
    });
  });

  // Workers run in real time. One is waited for until its script has run, and if it answers each message once.
  const { data: dataOf } = methods(MessageEvent.prototype, "data");
  each("SharedWorker Worker", (name) => replaceClass(name, (worker, { 0: address }) => {
    remark(`a worker was started, which runs in real time: ${
      `${address}`.replace(/^blob:.*/, "a blob")}`);
    const port = worker.port ?? worker;
    const questions = [];
    let patient = true;
    const answered = (count) => Arrays.forEach(Arrays.splice(questions, 0, count), end);
    const begun = {};
    if (port === worker) {
      start(begun, "a worker");
      worker.postMessage(Constants.BEGUN);
    }
    Targets.addEventListener(port, "message", (event) => {
      if (dataOf(event) !== Constants.BEGUN) return answered(1);
      Events.stopImmediatePropagation(event);
      end(begun);
    });
    Targets.addEventListener(worker, "error", () => {
      answered(1);
      end(begun);
    });
    replace(port, "postMessage", (run, self, values) => {
      apply(run, self, values);
      if (!patient) return;
      const question = { lost: () => { patient = false; } };
      Arrays.push(questions, question);
      start(question, "a worker");
    });
    if (port === worker) replace(port, "terminate", (run, self, values) => {
      apply(run, self, values);
      answered(Infinity);
      end(begun);
    });
  }));

  // What another part of the browser decides in order, so that an answer of its comes later.
  const { query } = window.LockManager?.prototype ?? {};
  if (query) replace(LockManager.prototype, "request", async (run, self, values) => {
    const ask = () => work("request", apply(query, self, []));
    const held = apply(run, self, values);
    ask();
    try {
      return await held;
    } finally {
      ask(); // who waits for the lock has it then
    }
  });
  let channels = null;
  const messages = [];
  replace(BroadcastChannel.prototype, "postMessage", (run, self, values) => {
    apply(run, self, values);
    if (!channels) {
      const name = `${Constants.NAME} ${clock.nextTimer++}`;
      channels = [new BroadcastChannel(name), new BroadcastChannel(name)];
      channels[0].onmessage = () => end(Arrays.splice(messages, 0, 1)[0]);
    }
    const message = {};
    Arrays.push(messages, message);
    start(message, run.name);
    apply(run, channels[1], [null]);
  });

  // Delays.
  replace(AbortSignal, "timeout", (run, self, values) => {
    apply(run, self, values); // for its errors
    const controller = new AbortController();
    const late = new DOMException("signal timed out", "TimeoutError");
    add(() => controller.abort(late), values[0], false, []);
    return controller.signal;
  });
  replace(Atomics, "waitAsync", (run, self, values) => {
    const { 3: delay } = values;
    if (!(delay > 0 && delay < Infinity)) return apply(run, self, values);
    values[3] = Infinity;
    const found = apply(run, self, values);
    const { value } = found;
    if (found.async) {
      found.value = new Promise((resolve) => {
        add(() => resolve("timed-out"), delay, false, []);
        value.then(resolve);
      });
    }
    return found;
  });

  // A request's time-out follows the page's clock. What it uploads has arrived when its answer comes, as the
  // browser itself sends nothing.
  const uploads = new WeakMap(); // request -> the bytes
  const limits = new WeakMap(); // request -> ms
  const size = (body) => {
    if (body instanceof FormData) return [...body.values()].reduce((sum, value) => sum + size(value), 0);
    return new Blob([body instanceof URLSearchParams ? `${body}` : body]).size;
  };
  const told = (target, type, loaded = 0) => Targets.dispatchEvent(target,
    new ProgressEvent(type, { lengthComputable: loaded > 0, loaded, total: loaded }));
  replaceClass("XMLHttpRequest", (request) => {
    Targets.addEventListener(request, "readystatechange", () => {
      if (request.readyState < 2 || !uploads.has(request)) return;
      const bytes = uploads.get(request);
      uploads.delete(request);
      if (request.readyState === 2) each("progress load loadend", (type) => told(request.upload, type, bytes));
    });
    Targets.addEventListener(request, "abort", (event) => {
      if (!limits.get(request)?.over) return;
      Events.stopImmediatePropagation(event);
      told(request, "timeout");
    });
  });
  Object.defineProperty(XMLHttpRequest.prototype, "timeout", {
    get() { return limits.get(this)?.ms ?? 0; },
    set(ms) { limits.set(this, { ms: Number(ms) || 0, over: false }); },
  });
  replace(XMLHttpRequest.prototype, "send", (run, self, values) => {
    const { 0: body } = values;
    const limit = limits.get(self);
    apply(run, self, values);
    if (typeof body === "string" ? body : body && !(body instanceof Document)) uploads.set(self, size(body));
    if (!limit?.ms) return;
    limit.over = false;
    const timer = add(() => {
      limit.over = true;
      self.abort();
    }, limit.ms, false, []);
    Targets.addEventListener(self, "loadend", () => remove(timer));
  });

  // What an app sends may be rewritten for the page: the digests of its scripts and styles are not checked.
  if (Constants.APP) each("HTMLLinkElement HTMLScriptElement", (name) =>
    Object.defineProperty(window[name].prototype, "integrity", { value: "", writable: true }));

  // The browser's other clocks use the page's clock too.
  Object.defineProperty(document, "lastModified", { value: "01/01/2020 00:00:00" });
  Object.defineProperty(IntersectionObserverEntry.prototype, "time", { get: () => clock.now - began });
  follow(() => clock.now, began);
  const { connection } = /** @type {any} */ (navigator);
  if (connection) Object.defineProperties(Object.getPrototypeOf(connection), { // measured, too
    downlink: { get: () => 10 }, rtt: { get: () => 50 },
  });

  // Cookies that scripts set last as long as the trial, unless they have ended by the page's clock.
  const { parse } = window.Date;
  const cookies = Object.getOwnPropertyDescriptor(Document.prototype, "cookie");
  const lasting = (text) => Strings.replace(text, /; *expires=([^;]*)/gi, (whole, date) =>
    parse(date) <= clock.now && !Patterns.exec(/; *max-age=/i, text) ? "; max-age=0" : "");
  Object.defineProperty(Document.prototype, "cookie", { ...cookies, set(text) {
    apply(cookies.set, this, [lasting(String(text))]);
  } });
  if (window.CookieStore) replace(CookieStore.prototype, "set", (run, self, values) => {
    const { 0: cookie } = values;
    if (cookie?.expires) values[0] = { ...cookie, expires: cookie.expires > clock.now ? null : 1 };
    return apply(run, self, values);
  });
}
