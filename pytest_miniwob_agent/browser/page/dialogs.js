// Dialogs wait for their answer if somebody is there to give it. Other windows, the position of the
// machine and workers of a site: nobody is there to look, and the page stays. So does that of a flight
// task, which is in a frame.

import {
  DOMException, Element, Elements, Events, HTMLInputElement, JSON, Promise, URL, XMLHttpRequest, apply, navigation,
} from "./saved.js";
import { outer, own, remark, trial } from "./trial.js";
import { listen } from "./listeners.js";
import { add } from "./clock.js";
import { answered } from "./witness.js";

const asking = (/** @type {string} */ name, otherwise) => {
  const ask = window[name];
  window[name] = (...texts) => {
    const message = `${texts[0] ?? ""}`;
    if (!trial.asked) {
      remark(`nobody was there to answer: ${name}(${JSON.stringify(message)})`);
      return otherwise;
    }
    const answer = apply(ask, window, texts);
    answered(message, answer);
    return answer;
  };
};
asking("alert", undefined);
asking("confirm", false);
asking("prompt", null);
window.print = () => undefined;
const { close } = window;
if (!Constants.APP) window.open = (url) => {
  remark(`a window was not opened: ${url}`);
  return null;
};
window.close = () => {
  if (trial.opened) apply(close, window, []);
  else remark("the page's window was not closed");
};
// It would not come to an end in real time, and no click would land any more.
Element.prototype.requestPointerLock = () => {
  remark("the pointer was not locked");
  return Promise.reject(new DOMException("it can't be locked", "NotSupportedError"));
};
// What the browser shows to pick a date from is on no screen, begins with the machine's day, and gets the keys.
if ((own || outer) && Constants.SCREENS >= 2) {
  const PICKED = "[type=color], [type=date], [type=datetime-local], [type=month], [type=time], [type=week]";
  const isPicked = (node) => node instanceof HTMLInputElement && Elements.matches(node, PICKED);
  const { showPicker } = HTMLInputElement.prototype;
  HTMLInputElement.prototype.showPicker = function () { if (!isPicked(this)) apply(showPicker, this, []); };
  const refuse = (event) => { if (isPicked(Events.composedPath(event)[0])) Events.preventDefault(event); };
  listen("click", refuse);
  listen("keydown", (event) => {
    const key = Events.key(event);
    if (key === " " || key === "F4" || (key === "ArrowDown" && Events.altKey(event))) refuse(event);
  });
}
// The answer of a browser that denies access, but by the page's clock.
navigator.geolocation.getCurrentPosition = navigator.geolocation.watchPosition = (_, failed) =>
  add(() => failed?.(/** @type {any} */ ({ code: 1, message: "User denied Geolocation" })), 1, false, []);

// What is before the first page of a trial is not part of it; once it is loaded, the browser forgets it.
const { go } = History.prototype;
History.prototype.go = function (by = 0) {
  if (!own || trial.seed !== null || !(by < 0)) apply(go, this, [by]);
};
History.prototype.back = function () { this.go(-1); };

// The browser finds nothing at the address if a frame asks before this runs in it.
if ((Constants.APP || location.host === Constants.OWN_HOST) && navigator.serviceWorker) {
  ServiceWorkerContainer.prototype.register = (script) => {
    remark(`a service worker was refused: ${new URL(script, location.href).pathname}`);
    return Promise.reject(new DOMException("service workers are refused", "SecurityError"));
  };
}

// Two things in the frame of a flight task would depend on real time. Its list of airports is loaded
// when it is first needed: load it synchronously. A link to another page ends the trial once that page
// is loaded: end the trial at once.
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
