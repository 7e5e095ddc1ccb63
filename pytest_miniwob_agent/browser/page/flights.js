// The page of a flight task, which is in a frame. Two things in it would depend on real time. Its
// list of airports is loaded when it is first needed: load it synchronously. A link to another page
// ends the trial once that page is loaded: end the trial at once.

(() => {
  const { frameElement } = window;
  if (frameElement && Elements.matches(frameElement, "iframe#wrap") && parent.core) {
    const { open } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (method, url) { open.call(this, method, url, false); };
    navigation.addEventListener("navigate", (event) => {
      if (event.hashChange) return;
      event.preventDefault();
      parent.core.endEpisode(-1, false, "navigated away");
    });
  }
})();
