// The backend of your own pages: requests that the task itself answers (`api`), and what was asked.

const Backend = (() => {
  const { own, outer, handed, shownError } = Visit;
  const { Fault, declared } = Task;
  const { add, common, remove, work } = Clock;
  if (outer) return outer.Backend;

  const state = handed?.state ?? {}; // of the backend, for the length of a trial
  const made = handed?.made ?? []; // the requests of the trial: method, path and body

  // The requests that a page makes before the trial begins wait for this.
  let begin;
  const begun = new Promise((resolve) => { begin = resolve; });
  if (Visit.seed !== null) begin();

  // The parameters in the path of an address; null if it is not that of a route or pattern.
  const params = (pattern, url) => {
    const { origin, pathname } = new URL(pattern, location.origin);
    if (origin !== url.origin) return null;
    return new URLPattern({ pathname }).exec({ pathname: url.pathname })?.pathname.groups ?? null;
  };

  const ROUTE = /^[A-Z]+ (\/|https?:\/\/)\S*$/;

  // The routes of the task, checked where a trial begins.
  const routes = () => Object.entries(declared()?.api ?? {});
  const check = () => {
    Arrays.forEach(routes(), ({ 0: name, 1: handler }) => {
      if (!Patterns.exec(ROUTE, name) || typeof handler !== "function") {
        throw new Fault(`task.api has ${JSON.stringify(name)}: a route is a method and a path, such `
          + 'as "POST /api/cart", and its value a function of the request');
      }
    });
  };
  const routed = (method, address) => {
    const url = new URL(address, Nodes.baseURI(document));
    return routes().map(([name, handler]) => {
      const [verb, path] = name.split(" ");
      return { name, handler, params: verb === method.toUpperCase() ? params(path, url) : null };
    }).find((route) => route.params);
  };

  // True if the task answers a request, but only once the trial has begun.
  const waits = (method, address) => Visit.seed === null && Boolean(routed(method, address));

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
      if (said instanceof Response) await Bodies.arrayBuffer(said.clone());
      return said;
    };
    let late; // recurs, as the page does not move by it
    common.due++;
    try {
      return await new Promise((resolve, reject) => {
        signal.throwIfAborted();
        signal.addEventListener("abort", () => reject(signal.reason));
        late = add(() => reject(new Fault(`did not answer within ${MOST_ANSWER} seconds of the page's `
          + "clock")), MOST_ANSWER * 1000, true, []);
        whole().then(resolve, reject);
      });
    } finally {
      common.due--;
      remove(late);
    }
  };

  // Note a request, and return the task's answer to it; null if it has none.
  const answer = async (request) => {
    const url = new URL(request.url);
    if (!own || !url.protocol.startsWith("http")) return null;
    const path = url.origin === location.origin ? url.pathname : url.origin + url.pathname;
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    const body = await work(null, sent(request));
    made.push({ method, path, body });
    const route = routed(method, url);
    if (!route) return null;
    const query = Object.fromEntries(url.searchParams);
    try {
      const said = await handled(route.handler, { method, path, params: route.params, query, body,
        headers, state, seed: Visit.seed }, request.signal);
      if (said instanceof Response) return said;
      return said === undefined ? new Response(null, { status: 204 }) : Response.json(said);
    } catch (error) {
      if (request.signal.aborted) throw error;
      const what = error instanceof Fault ? error.message : `threw ${shownError(error)}`;
      Visit.fault ??= `task.api["${route.name}"] ${what}`;
      return Response.json(null, { status: 500 });
    }
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

  return { state, made, begun, begin, check, routed, waits, answer, tools: { asked, state } };
})();
