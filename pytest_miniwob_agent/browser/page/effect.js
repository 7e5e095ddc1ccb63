// Whether an action has come to what it was for, if that can be checked: text in its field, a tick, a
// choice, the focus, a click on its element, and a form that is sent.

import { outer, plain } from "./world.js";
import { listen } from "./listeners.js";
import { agentOf } from "./frames.js";
import { focusedElement, hitAt, owner, parentOf, visible, within } from "./sight.js";
import { byId, fieldOf, ids } from "./leaves.js";
import { nameOf, roleOf } from "./tree.js";
import { quote, usable } from "./aim.js";

const TICKED = "[role=checkbox], [role=menuitemcheckbox], [role=menuitemradio], [role=radio], [role=switch]";
const WRITTEN = "input:not([type=button], [type=checkbox], [type=file], [type=image], [type=radio], [type=reset],"
  + " [type=submit]), textarea";

// Where the mouse was pressed since the action began.
let pressed = null;
listen("pointerdown", (event) => { if (event.isTrusted) pressed ??= event.composedPath()[0]; });

// The content of what takes text; null for anything else.
const content = (element) => {
  if (element && plain(element).matches(WRITTEN)) return element.value;
  return plain(element)?.isContentEditable ? plain(element).textContent : null;
};

// Whether something is ticked, selected or switched on; null for what can't be.
const ticked = (element) => {
  const known = plain(element);
  if (known.matches("[type=checkbox], [type=radio]")) return known.checked;
  if (known.matches("option")) return known.selected;
  return known.matches(TICKED) ? known.ariaChecked === "true" : null;
};
const stays = (element) => plain(element).matches("[type=radio], option, [role=radio], [role=menuitemradio]");

// What got a click, as the screen names it.
const shownAs = (hit) => {
  let up = hit;
  while (up && !ids.has(up)) up = parentOf(up);
  const known = plain(up ?? hit);
  const name = (up && nameOf(up, roleOf(up))[0]) || known.getAttribute("class") || known.id;
  return [(up && roleOf(up)) || known.localName, name && quote(name), up && `id=${ids.get(up)}`].filter(Boolean).join(" ");
};

// The error of a control whose point belongs to another one; null if it does not. A transparent control
// stands for what is drawn below it, and what is drawn beside it stands for it.
const CONTROL = `a[href], button, input, select, summary, textarea, ${TICKED}, `
  + "[role=button], [role=combobox], [role=link], [role=menuitem], [role=option], [role=slider], [role=tab]";
const controlAt = (node) => {
  let up = node;
  while (up && !plain(up).matches(CONTROL)) up = parentOf(up);
  return up;
};
const DRAWN = { opacityProperty: true, visibilityProperty: true };
export const covered = (id, [x, y]) => {
  const hit = hitAt(x, y);
  const [control, other] = [owner(byId.get(id)), hit].map(controlAt);
  if (!control || !other || !plain(other).checkVisibility(DRAWN)) return null;
  const on = [control, ...control.labels ?? [], ...plain(control).checkVisibility(DRAWN) ? [] : [parentOf(control)]];
  return on.some((one) => within(one, hit)) || within(other, control) ? null
    : `the element with id=${id} is covered by ${shownAs(other)}`;
};

const clicked = (id, element, field, once) => {
  const before = once ? ticked(field) : null;
  return () => {
    const on = [element, field, ...field.labels ?? []];
    if (plain(field).matches(":disabled, [aria-disabled=true]")) return `the element with id=${id} is disabled`;
    if (pressed && !on.some((one) => within(one, pressed) || within(pressed, one))) {
      return `the click went to what covers the element with id=${id}: ${shownAs(pressed)}`;
    }
    if (!pressed && outer) return `the click went to what covers the frame of the element with id=${id}`;
    if (before !== null && ticked(field) === before && !(before && stays(field))) {
      return `the element with id=${id} is still ${before ? "" : "not "}checked`;
    }
    return plain(field).matches(WRITTEN) && focusedElement() !== field
      ? `the field with id=${id} has not got the focus` : null;
  };
};

const written = (id, field, text) => {
  const before = content(field);
  return () => {
    const now = content(field);
    if (id === null && !field) return document.querySelector("canvas") ? null : "no field has the focus";
    if (now === null) return id === null ? null : `the element with id=${id} takes no text`;
    if (now !== before || now.includes(text) || !(id || visible(field))) return null;
    return `the field ${id === null ? "that has the focus" : `with id=${id}`} has not taken the text`;
  };
};

const chosen = (id, list, at) => {
  const { text } = usable(list)[at];
  return () => {
    const now = list.selectedOptions[0]?.text ?? "";
    return now === text ? null : `the list with id=${id} still has ${quote(now)}`;
  };
};

// What the browser says at a field, which has the focus then, instead of sending its form.
let stopped = null;
listen("invalid", (event) => { stopped ??= event; });
const refused = () => {
  const field = stopped && !stopped.defaultPrevented ? focusedElement() : null;
  if (!field || !within(stopped.target, field)) return null;
  const { validationMessage: why } = stopped.target; // which only the scripts of a custom element know
  return `${shownAs(field)} is not valid${why ? `: ${quote(why)}` : ""}`;
};

let unmet = () => null;
/** @type {any} */
let keyed = null; // the frame that keys go to

// Say what the action that comes next is for: a click (`once`, or more often), text, keys, or the option at
// a place among those that can be chosen. Without an id, text is for what has the focus.
export const expect = (id, kind, value) => {
  keyed = kind === "keys" ? agentOf(document.activeElement) : null;
  if (keyed) return keyed.expect(id, kind, value);
  pressed = stopped = null;
  const element = id === null ? focusedElement() : owner(byId.get(id));
  const known = id === null ? element : owner(fieldOf(id));
  const field = known instanceof HTMLLabelElement ? known.control ?? known : known;
  if (kind === "text") unmet = written(id, field, value);
  else if (kind === "keys") unmet = () => null;
  else if (kind === "option") unmet = chosen(id, field, value);
  else unmet = clicked(id, element, field, kind === "once");
  const found = unmet;
  unmet = () => element && !element.isConnected ? null : found();
};

// Why the action has not come to that; null if it has, or if its element is gone.
export const missed = () => {
  if (keyed) return keyed.missed();
  const found = unmet() ?? refused();
  unmet = () => null;
  return found;
};
