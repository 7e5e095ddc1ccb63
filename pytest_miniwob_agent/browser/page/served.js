// The functions that our own world calls (page/world.js): `now` are answered at once, `later` once
// they come to an end. Frames of own pages and programs find what they need as `miniwobAgent`.

(() => {
  const { CALL, ANSWER, KEY } = Constants;
  const { own, outer, remark, remarks, shownError } = Visit;
  const { Fault, files, inCore } = Task;
  const { pass, queued, rest, restless } = Clock;
  const { nextFrame } = Motion;
  const { quiet } = Requests;
  const { begin, settingUp, goOn, words, judged, isOver, handOver } = Judgement;
  const { watch, recognize, stirred, taken, traverse } = Witness;

  const now = {
    __proto__: null,
    visit: (name) => Visit[name],
    keep: (name, value) => {
      Visit[name] = value;
      return true;
    },
    listenAgain: Listeners.listenAgain,
    remark,
    takeRemarks: () => Arrays.splice(remarks, 0),
    time: () => Clock.now,
    fired: () => Clock.common.fired,
    frame: () => Clock.frame,
    setFrame: (ms) => { Clock.frame = ms; },
    requested: () => Requests.line.count,
    due: () => Clock.common.due,
    over: () => Boolean(top.WOB_DONE_GLOBAL),
    slider: (index) => {
      const options = window.jQuery?.(Documents.querySelectorAll(document, ".ui-slider")[index])
        .slider("instance")?.options;
      if (!options) return null;
      const { value, values, min, max, step } = options;
      return { value, values, min, max, step };
    },
    dress: Style.dress,
    routed: (method, url) => Boolean(Backend.routed(method, url)),
    files, handOver, restless, settingUp, inCore, words, judged, isOver, watch, recognize, stirred, taken,
  };
  // Have the task answer a form; returns the address to which its answer leads, if any.
  const { fetch } = window;
  const post = async (url, fields) => {
    const body = new FormData();
    Arrays.forEach(fields, (field) => apply(body.append, body, field));
    return (await fetch(url, { method: "POST", body })).headers.get("location");
  };

  const later = { __proto__: null, pass, queued, rest, quiet, begin, goOn, post };

  const answer = (detail) =>
    Targets.dispatchEvent(performance, new CustomEvent(ANSWER, { __proto__: null, detail: { key: KEY, ...detail } }));
  const failed = (number, error) => answer({
    number,
    fault: error instanceof Fault,
    error: error instanceof Fault ? error.message : shownError(error),
  });
  const answerLater = async (number, run, values) => {
    await null; // not in the event, which scripts of the page would find as `window.event`
    try {
      answer({ number, value: await apply(run, null, values) });
    } catch (error) {
      failed(number, error);
    }
  };
  Targets.addEventListener(performance, CALL, (event) => {
    const { key, number, name, values } = detailOf(event);
    if (key !== KEY) return; // a program may find out the names of events
    Events.preventDefault(event);
    Events.stopImmediatePropagation(event);
    if (name in later) return void answerLater(number, later[name], values);
    try {
      answer({ number, value: apply(now[name], null, values) });
    } catch (error) {
      failed(number, error);
    }
  }, true);

  Object.defineProperty(window, "miniwobAgent", {
    __proto__: null,
    value: {
      // What documents in frames of your own pages have in common with this one.
      inside: (secret) => secret === KEY && (own || outer)
        ? { Clock, Motion, random: window.Math.random, Backend, Requests, remark, asks: Visit.asks }
        : null,
      watch: (left, state, secret) => secret === KEY && watch(left, state),
      traverse,
      // Let time pass while a program that the page is handed over to waits for it.
      linger: async (ms, count) => {
        for (; count > 0; count--) await nextFrame();
        if (Visit.witness?.on && ms) await pass(ms);
        await queued();
      },
    },
  });
})();
