// The line to our own world of the document (page/world.js): a node that both worlds have, and no script
// of the page. It is in a shadow tree, as scripts that are called meanwhile would find its events as
// `window.event` otherwise.

import { CustomEvent, Elements, Events, Targets, performance } from "./saved.js";

const ends = { node: null };

// Take the node, before any script of the page runs.
export const connect = (hear) => Targets.addEventListener(performance, "miniwob-agent", (event) => {
  Events.preventDefault(event);
  ends.node = Elements.shadowRoot(Events.relatedTarget(event));
  Targets.addEventListener(ends.node, "call", hear);
}, { __proto__: null, once: true });

export const send = (type, detail) =>
  void Targets.dispatchEvent(ends.node, new CustomEvent(type, { __proto__: null, detail }));
