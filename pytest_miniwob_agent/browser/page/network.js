// Pages of a running app, or of its tape: Python answers their requests (gate.py), and says when none
// is under way. The page's clock waits for that.

import { Map, Promise } from "./saved.js";
import { leaving, own, post, takeBack } from "./trial.js";
import { askNetwork, queued } from "./clock.js";
import { line } from "./requests.js";

const asking = new Map(); // number of a question -> what settles its promise
let questions = 0;
const ask = () => new Promise((resolve) => {
  asking.set(++questions, resolve);
  post({ ask: questions });
});

// Wait until nothing is under way, and no answer has led to another request.
const idle = async () => {
  for (let count = -1; count !== line.count && !leaving.now;) {
    count = line.count;
    line.count = await ask();
    if (line.count !== count) await queued(2); // for what follows from the answers
  }
};
if (own && Constants.APP) askNetwork(idle);

// An answer of Python: the number of requests so far.
export const told = (question, count) => {
  asking.get(question)?.(count);
  asking.delete(question);
};

// No page comes, though one was asked for: there was a download, or nothing.
export const stay = () => {
  leaving.now = false;
  takeBack();
};
