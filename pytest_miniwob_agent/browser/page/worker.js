// Runs first in every worker of your own pages and of apps: its clock stands still at the instant of the
// page's at which it was started, and its random numbers begin with `SEED`.

import { follow } from "./clocks.js";

const { NOW, SEED } = Constants;
const RealDate = Date;
self.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [NOW], newTarget),
  apply: () => new RealDate(NOW).toString(),
  get: (target, name) => (name === "now" ? () => NOW : target[name]),
});
RealDate.prototype.constructor = self.Date;
performance.now = () => 0;
let state = SEED;
Math.random = () => {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
};
follow(() => NOW, NOW);

// Say once the worker's own script has run: what it sends by itself has gone by then.
const { postMessage } = self; // a shared one has none
self.addEventListener("message", (event) => {
  if (event.data !== Constants.BEGUN) return;
  event.stopImmediatePropagation();
  postMessage(Constants.BEGUN);
});
