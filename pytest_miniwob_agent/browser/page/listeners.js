// Listeners of the window, in both worlds. A script that writes the document anew takes them away:
// `listenAgain` adds those that are gone.

const add = window.addEventListener.bind(window);
export const options = { __proto__: null, capture: true, passive: false };
const heard = [];
export const listenAgain = () => {
  for (let at = 0; at < heard.length; at++) add(heard[at].type, heard[at].run, options);
};
export const listen = (type, run) => {
  heard[heard.length] = { type, run };
  add(type, run, options);
};
