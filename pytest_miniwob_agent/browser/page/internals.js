// Roles and states that custom elements have by ElementInternals, of which only their own scripts know.
// Our own world asks for them by an event on the element.

import { Array, Arrays, Events, Object, Patterns, Strings, Targets, apply, methods } from "./saved.js";

const NAMES = Arrays.filter(Object.getOwnPropertyNames(ElementInternals.prototype),
  (name) => Patterns.exec(/^(role|aria[A-Z]\w*(?<!Elements?))$/, name));
const Internals = methods(ElementInternals.prototype, Array.prototype.join.call(NAMES, " "));

let asked = null;
HTMLElement.prototype.attachInternals = new Proxy(HTMLElement.prototype.attachInternals, {
  __proto__: null,
  apply: (run, self, values) => {
    const internals = apply(run, self, values);
    Targets.addEventListener(self, Constants.NAME, (event) => {
      Events.preventDefault(event);
      Events.stopImmediatePropagation(event);
      asked = internals;
    });
    return internals;
  },
});

// What the last element that was asked says, by names of attributes.
export const internals = () => {
  const said = { __proto__: null };
  Arrays.forEach(NAMES, (name) => {
    const value = Internals[name](asked);
    if (typeof value === "string") said[Strings.replace(name, /^aria(.*)$/, (_, rest) => `aria-${rest.toLowerCase()}`)] = value;
  });
  return said;
};
