// Fields that take no free text: dates and times, colours, and numbers of a range. A person sets the parts of
// one, or picks from a list that no page has; here a value in the form of HTML is set at once.

import { NEW } from "./sight.js";
import { fieldOf } from "./leaves.js";
import { aim, quote } from "./aim.js";

// A value of each type, for errors.
const EXAMPLES = {
  color: "#00cc88", date: "2024-02-29", "datetime-local": "2024-02-29T13:45", month: "2024-02", range: "",
  time: "13:45", week: "2024-W09",
};

// The type of a field that is set; null for anything else.
export const setType = (id) => {
  const field = fieldOf(id);
  return NEW && field instanceof HTMLInputElement && Object.hasOwn(EXAMPLES, field.type) ? field.type : null;
};

// What a field of this kind would hold of a value.
const held = (field, value) => {
  const copy = /** @type {HTMLInputElement} */ (field.cloneNode());
  copy.value = value;
  return copy.value;
};

// The point of a field that takes a value; an error is a string.
export const settable = async (id, value) => {
  const aimed = await aim([[id, null]]);
  if (typeof aimed === "string") return aimed;
  const field = fieldOf(id);
  const { type } = field;
  if (field.matches(":disabled") || field.readOnly) return `the field with id=${id} can't be changed now`;
  const now = held(field, value);
  const takes = type === "range" ? Number(now) === Number(value)
    : type === "color" ? now === value.toLowerCase() : now !== "";
  if (takes) return aimed[0];
  const form = type === "range" ? `a number from ${field.min || 0} to ${field.max || 100} in steps of ${field.step || 1}`
    : `a text such as ${EXAMPLES[type]}`;
  return `the field with id=${id} takes ${form}, not ${quote(value)}`;
};

// Tell the page that a person has changed a field.
export const changed = (field) => {
  for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true, composed: true }));
};

// Set a field, which gets the focus.
export const set = (id, value) => {
  const field = fieldOf(id);
  field.focus();
  field.value = value;
  changed(field);
};
