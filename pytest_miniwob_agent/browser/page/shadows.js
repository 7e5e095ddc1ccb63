// Closed shadow trees on your own pages and apps: our own world reads them as it does open ones, and
// scripts of the page find them closed.

import { Array, Arrays, Element, Events, Node, Nodes, Object, WeakMap, apply, methods } from "./saved.js";
import { outer, own } from "./trial.js";

const closed = new WeakMap();
const { host: hostOf } = methods(ShadowRoot.prototype, "host");

// True for a node that a listener at another one is not told of.
const hidden = (node, from) => {
  if (!(node instanceof Node)) return false;
  const around = [];
  for (let root = from instanceof Node && Nodes.getRootNode(from); root;) {
    Arrays.push(around, root);
    root = root instanceof ShadowRoot && Nodes.getRootNode(hostOf(root));
  }
  for (let root = Nodes.getRootNode(node); root instanceof ShadowRoot; root = Nodes.getRootNode(hostOf(root))) {
    if (closed.has(root) && !Arrays.includes(around, root)) return true;
  }
  return false;
};

const replace = (prototype, name, call) => {
  const given = Object.getOwnPropertyDescriptor(prototype, name);
  const kind = given.get ? "get" : "value";
  Object.defineProperty(prototype, name, {
    ...given, [kind]: new Proxy(given[kind], { __proto__: null, apply: call }),
  });
};
const unlessClosed = (root) => (root && closed.has(root) ? null : root);

if ((own || outer) && Constants.SCREENS >= 2) {
  replace(Element.prototype, "attachShadow", (run, self, values) => {
    const { 0: init } = values;
    if (init?.mode !== "closed") return apply(run, self, values);
    const root = apply(run, self, [{ __proto__: init, mode: "open" }]);
    closed.set(root, true);
    return root;
  });
  replace(Element.prototype, "shadowRoot", (run, self) => unlessClosed(apply(run, self, [])));
  replace(ShadowRoot.prototype, "mode", (run, self) => {
    const mode = apply(run, self, []);
    return closed.has(self) ? "closed" : mode;
  });
  Arrays.forEach([Element, Text], ({ prototype }) => replace(prototype, "assignedSlot", (run, self) => {
    const slot = apply(run, self, []);
    return slot && unlessClosed(Nodes.getRootNode(slot)) && slot;
  }));
  replace(Event.prototype, "composedPath", (run, self) => {
    const from = Events.currentTarget(self);
    return Array.from(Arrays.filter(apply(run, self, []), (node) => !hidden(node, from)));
  });
}
