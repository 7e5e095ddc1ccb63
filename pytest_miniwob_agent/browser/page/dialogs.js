// Dialogs wait for their answer where somebody is there to give it. Other windows, the position of the
// machine and workers of a site: nobody is there to look, and the page stays.

(() => {
  const { OWN_HOST } = Constants;
  const { own, asks, remark } = Visit;
  const { add } = Clock;

  const asking = (name, otherwise) => {
    const ask = window[name];
    window[name] = (...texts) => {
      const message = `${texts[0] ?? ""}`;
      if (!asks()) {
        remark(`nobody was there to answer: ${name}(${JSON.stringify(message)})`);
        return otherwise;
      }
      const answer = apply(ask, window, texts);
      Visit.answered?.(message, answer);
      return answer;
    };
  };
  asking("alert", undefined);
  asking("confirm", false);
  asking("prompt", null);
  window.print = () => undefined;
  window.open = (url) => {
    remark(`a window was not opened: ${url}`);
    return null;
  };
  window.close = () => remark("the page's window was not closed");
  // It would not come to an end in real time, and no click would land any more.
  Element.prototype.requestPointerLock = () => {
    remark("the pointer was not locked");
    return Promise.reject(new DOMException("it can't be locked", "NotSupportedError"));
  };
  // The answer of a browser that denies access, but by the page's clock.
  navigator.geolocation.getCurrentPosition = navigator.geolocation.watchPosition = (_, failed) =>
    add(() => failed?.({ code: 1, message: "User denied Geolocation" }), 1, false, []);

  // What is before the first page of a trial is none of it; once it is loaded, the browser forgets it.
  const { go } = History.prototype;
  History.prototype.go = function (by = 0) {
    if (!own || Visit.seed !== null || !(by < 0)) apply(go, this, [by]);
  };
  History.prototype.back = function () { this.go(-1); };

  // The server refuses what a frame asks for before this runs in it.
  if (location.host === OWN_HOST && navigator.serviceWorker) {
    ServiceWorkerContainer.prototype.register = (script) => {
      remark(`a service worker was refused: ${new URL(script, location.href).pathname}`);
      return Promise.reject(new DOMException("service workers are refused", "SecurityError"));
    };
  }
})();
