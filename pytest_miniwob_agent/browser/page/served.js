// The functions that our own world calls (page/world.js): `now` are answered at once, `later` once
// they come to an end. Frames of own pages and programs find what they need as `miniwobAgent`.

(() => {
  const { CALL, ANSWER } = Constants;
  const { own, outer, remark, remarks } = Visit;
  const { Fault, inCore } = Task;
  const { nextFrame, pass, queued, rest, restless } = Clock;
  const { quiet } = Requests;
  const { begin, settingUp, goOn, words, judged, isOver } = Judgement;
  const { watch, stirred, taken, traverse } = Witness;

  const now = {
    visit: (name) => Visit[name],
    keep: (name, value) => {
      Visit[name] = value;
      return true;
    },
    remark,
    takeRemarks: () => remarks.splice(0),
    time: () => Clock.now,
    fired: () => Clock.common.fired,
    frame: () => Clock.frame,
    setFrame: (ms) => { Clock.frame = ms; },
    requested: () => Requests.line.count,
    over: () => Boolean(top.WOB_DONE_GLOBAL),
    slider: (index) => {
      const options = window.jQuery?.(document.querySelectorAll(".ui-slider")[index])
        .slider("instance")?.options;
      if (!options) return null;
      const { value, values, min, max, step } = options;
      return { value, values, min, max, step };
    },
    dress: () => Style.dress(document),
    restless, settingUp, inCore, words, judged, isOver, watch, stirred, taken,
  };
  const later = { pass, queued, rest, quiet, begin, goOn };

  const answer = (detail) => performance.dispatchEvent(new CustomEvent(ANSWER, { detail }));
  const failed = (error) => ({
    error: error instanceof Fault ? error.message : String(error), fault: error instanceof Fault,
  });
  const answerLater = async (number, run, values) => {
    await null; // not in the event, which scripts of the page would find as `window.event`
    try {
      answer({ number, value: await run(...values) });
    } catch (error) {
      answer({ number, ...failed(error) });
    }
  };
  performance.addEventListener(CALL, (event) => {
    event.preventDefault();
    const { number, name, values } = event.detail;
    if (name in later) return void answerLater(number, later[name], values);
    try {
      answer({ number, value: now[name](...values) });
    } catch (error) {
      answer({ number, ...failed(error) });
    }
  });

  Object.defineProperty(window, "miniwobAgent", {
    value: {
      // What documents in frames of your own pages have in common with this one.
      inside: own || outer ? { Clock, random: Math.random, Backend, Requests } : null,
      watch,
      traverse,
      // Let time pass while a program that the page is handed over to waits for it.
      linger: async (ms, count) => {
        for (; count > 0; count--) await nextFrame();
        if (Visit.witness && ms) await pass(ms);
        await queued();
      },
    },
  });
})();
