// Your own pages, and those of an app: Python answers their requests (gate.py), and says when none is
// under way. The page's clock waits for that.

import { Bodies, Bytes, Documents, Map, Object, Patterns, Promise } from "./saved.js";
import { leaving, own, takeBack, tell } from "./trial.js";
import { listen } from "./listeners.js";
import { add, askNetwork, clock, queued, work } from "./clock.js";
import { line } from "./requests.js";
import { deliver } from "./sockets.js";

const asking = new Map(); // number of a question -> what settles its promise
let questions = 0;
const ask = () => new Promise((resolve) => {
  asking.set(++questions, resolve);
  tell({ ask: questions, now: clock.now });
});

// Wait until nothing is under way, and nothing that came has led to another request: also until the next
// page is there, or does not come.
const answered = async () => {
  for (let before = -1; before !== line.told;) {
    before = line.told;
    const { messages, ...counts } = await ask();
    Object.assign(line, counts);
    await deliver(messages);
    if (messages.length) before = -1;
    if (line.told !== before) await queued(2); // for what follows from it
  }
};
// A document that another one is to replace after some seconds: by the page's clock (gate.py).
const AFTER = /^\s*([\d.]+)(?:\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']*))?/i;
const refresh = () => {
  const meta = Documents.querySelector(document, "meta[http-equiv=miniwob-refresh i]");
  const found = meta && Patterns.exec(AFTER, meta.content);
  if (found) add(() => location.replace(found[2] || location.href), found[1] * 1000, false, []);
};

if (own) {
  askNetwork(answered);
  listen("DOMContentLoaded", refresh);
}

// An answer of Python: the numbers of requests so far, and of answers that came later; and messages for
// sockets.
export const told = (question, count, later, messages) => {
  asking.get(question)?.({ count, told: count + later, messages });
  asking.delete(question);
};

// No page comes, though one was asked for: there was a download, or nothing.
export const stay = () => {
  leaving.now = false;
  takeBack();
};

// Give Python what a script or link of an app's page downloads.
const { fetch } = window;
export const download = (url, name) => work("a download", (async () => {
  const bytes = await Bodies.arrayBuffer(await fetch(url));
  tell({ download: url, name, body: Bytes.toBase64(new Uint8Array(bytes)) });
})());
