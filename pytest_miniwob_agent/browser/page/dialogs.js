// Dialogs, other windows, the position of the machine and workers of a site: nobody is there to answer
// or to look, and the page stays.

(() => {
  const { OWN_HOST } = Constants;
  const { remark } = Visit;
  const { add } = Clock;

  window.alert = window.print = () => undefined;
  window.confirm = () => false;
  window.prompt = () => null;
  window.open = (url) => {
    remark(`a window was not opened: ${url}`);
    return null;
  };
  window.close = () => remark("the page's window was not closed");
  // The answer of a browser that denies access, but by the page's clock.
  navigator.geolocation.getCurrentPosition = navigator.geolocation.watchPosition = (_, failed) =>
    add(() => failed?.({ code: 1, message: "User denied Geolocation" }), 1, false, []);

  // The server refuses what a frame asks for before this runs in it.
  if (location.host === OWN_HOST && navigator.serviceWorker) {
    ServiceWorkerContainer.prototype.register = (script) => {
      remark(`a service worker was refused: ${new URL(script, location.href).pathname}`);
      return Promise.reject(new DOMException("service workers are refused", "SecurityError"));
    };
  }
})();
