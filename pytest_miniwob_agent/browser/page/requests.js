// Requests of scripts on your own pages, which are answered in the order in which they were made.

const Requests = (() => {
  const { ANSWERED, ECHO } = Constants;
  const { own, outer, remark } = Visit;
  const { end, idle, queued, start, work } = Clock;
  const { nextFrame } = Motion;
  const { begun, routed, waits, answer } = Backend;

  const { send: plainSend } = XMLHttpRequest.prototype; // for our own requests
  // `count` is the number of requests; the next one is answered after `last`.
  const line = outer?.Requests.line ?? { count: 0, last: Promise.resolve() };
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
    if (!Visit.witness?.on || !near || bytes.length > MOST_CARRIED) return null;
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

  if (own || outer) {
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
      return asking(method, url, async () => work(null, deliver(await answer(request.clone()))));
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
      const said = await answer(request.clone());
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
    XMLHttpRequest.prototype.send = function (body) {
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
      } else answer(request); // to note it
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
  const quiet = async () => {
    let known;
    do {
      known = files();
      await idle();
      for (let times = known ? 2 : 1; times > 0; times--) {
        await queued();
        await nextFrame();
      }
      await idle(5);
    } while (files() > known && !Visit.leaving);
  };

  return { line, plainSend, quiet };
})();
