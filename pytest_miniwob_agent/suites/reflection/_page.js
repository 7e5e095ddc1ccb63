// What the pages of this folder share. A trial ends once, by `end(1)` or `end(-1)`, or on a notice
// below which nothing is left to do. What is right follows from the seed, and no screen shows it.

let verdict = 0;
const end = (reward) => { verdict ||= reward; };

const here = (id) => document.getElementById(id);
const draw = (list) => list[Math.floor(Math.random() * list.length)];

const shuffled = (list) => list.map((one) => [Math.random(), one]).sort(([a], [b]) => a - b)
  .map(([, one]) => one);

const make = (tag, text, properties = {}) =>
  Object.assign(document.createElement(tag), { textContent: text, ...properties });

// A button for each text, which calls `press` with it.
const buttons = (texts, press) =>
  texts.map((text) => make("button", text, { onclick: (event) => press(text, event.target) }));

const show = (title, ...content) => here("page").replaceChildren(make("h1", title), ...content);

const close = (...notice) => show("Closed", ...notice.map((text) => make("p", text)));

const declare = (goal, setup) => { window.task = { goal, setup, reward: () => verdict }; };
