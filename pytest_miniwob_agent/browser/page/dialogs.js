// Dialogs, other windows and the position of the machine: nobody is there to answer or to look.

(() => {
  const { remark } = Visit;
  const { add } = Clock;

  window.alert = window.print = () => undefined;
  window.confirm = () => false;
  window.prompt = () => null;
  window.open = (url) => {
    remark(`a window was not opened: ${url}`);
    return null;
  };
  // The answer of a browser that denies access, but by the page's clock.
  navigator.geolocation.getCurrentPosition = navigator.geolocation.watchPosition = (_, failed) =>
    add(() => failed?.({ code: 1, message: "User denied Geolocation" }), 1, false, []);
})();
