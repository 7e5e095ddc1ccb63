// Points at which an action meets its elements, and the option of a drop-down list that keys choose; or
// an error if there are none.

import { plain } from "./world.js";
import { frames } from "./settle.js";
import {
  NEW, aimedAt, clipperOf, closedList, extent, inViewport, owner, parentOf, target, targetInSight, visible,
} from "./sight.js";
import { byId, squeeze } from "./leaves.js";

const CENTRE = { block: "center", inline: "center", behavior: "instant" };

// The whole pixel at a place in an element, or its middle without a place.
const spot = (element, at = null) => {
  if (!at) {
    const { left, top, width, height } = extent(element);
    return target(element) ?? [Math.floor(left + width / 2), Math.floor(top + height / 2)];
  }
  const { left, top, right, bottom } = extent(element);
  return [Math.min(Math.ceil(left + at[0]), Math.ceil(right) - 1),
    Math.min(Math.ceil(top + at[1]), Math.ceil(bottom) - 1)];
};

// The error of an element, or of a place in it; empty if there is none.
const fault = (id, at) => {
  const element = byId.get(id);
  if (!plain(element)?.isConnected || !visible(element)) {
    return `the element with id=${id} can't be brought into sight`;
  }
  const { width, height } = extent(element);
  if (!at || (at[0] >= 0 && at[1] >= 0 && at[0] < width && at[1] < height)) return "";
  return `the place ${at} is not inside the element with id=${id}, `
    + `which is ${Math.ceil(width)} x ${Math.ceil(height)} pixels`;
};

// True if a point in an element shows: nothing that scrolls has it out of sight.
const inSight = (node, point) => {
  if (!inViewport(point)) return false;
  const [x, y] = point;
  for (let up = clipperOf(node); up; up = clipperOf(up)) {
    const { left, top, right, bottom } = extent(up);
    if (x < left || y < top || x >= right || y >= bottom) return false;
  }
  return true;
};

// The items of a list, which a drag puts in another order.
const ITEM = "li, tr, [role=listitem], [role=option], [role=row], [draggable=true], [aria-roledescription]";
const itemOf = (node, goesUp) => {
  let up = owner(node);
  while (up && !plain(up).matches(ITEM)) up = !goesUp || goesUp(up) ? parentOf(up) : null;
  return up;
};

// True for what stands for all that is around it: its text is the only one there.
const standsForAll = (element) => {
  const [text, around] = [element, parentOf(element)].map((one) => squeeze(plain(one)?.textContent ?? ""));
  return text && text === around && !plain(element).matches("a, button, [role=button], [tabindex]");
};

// The way to the place of another item of a list: across its middle, towards the side on which that
// one makes room. Null for a drag to anything else, such as a handle or a cell in the other item.
const BEYOND = 3; // pixels
const across = (from, to) => {
  const [moved, other] = [itemOf(from), itemOf(to, NEW && standsForAll)];
  if (!moved || !other || moved === other || parentOf(moved) !== parentOf(other)) return null;
  const [was, is] = [extent(moved), extent(other)];
  const [x, y] = spot(to);
  const later = moved.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const way = [later ? -BEYOND : BEYOND, later ? BEYOND : -BEYOND].map((by) => [
    Math.round(was.left === is.left ? x : is.left + is.width / 2 + by),
    Math.round(was.top === is.top ? y : is.top + is.height / 2 + by),
  ]);
  return way.every((point) => inSight(other, point)) ? way : null;
};

// The point that only puts the caret into a field: in the middle of a narrow field for numbers are
// the buttons that change it.
const SPIN = 24; // pixels, with the field's edge
export const caret = (id, [x, y]) => {
  const field = byId.get(id);
  if (!(field instanceof HTMLInputElement) || field.type !== "number") return [x, y];
  const { left, right, width } = extent(field);
  return [right - x < SPIN ? Math.floor(left + width / 4) : x, y];
};

// The points of places in elements, if all are in sight; or an error, as a string. A drag goes along them.
// It does not begin on a button of a field for numbers by itself: the browser would repeat that by real time.
export const aimed = (places, several = places.length > 1) => {
  const points = places.map(([id, at]) => spot(byId.get(id), at));
  if (!places[0][1]) points[0] = caret(places[0][0], points[0]);
  const out = points.findIndex((point, index) => !inSight(byId.get(places[index][0]), point));
  const [[from], [to, end] = [from, true]] = places;
  if (out < 0) return [points[0], ...(!end && across(byId.get(from), byId.get(to))) || points.slice(1)];
  return `the element with id=${places[out][0]} can't be brought into sight`
    + (several ? " together with the other" : " there");
};

// The same, with the places scrolled into sight.
export const aim = async (places) => {
  for (const [id, at] of places) {
    const error = fault(id, at);
    if (error) return error;
    if (inSight(byId.get(id), spot(byId.get(id), at))) continue;
    plain(owner(aimedAt(byId.get(id))[0])).scrollIntoView(CENTRE);
    await frames();
  }
  return aimed(places);
};

// The point to click of an element, scrolled into sight; null if that is impossible. What stays in its place
// when the page scrolls, such as a header, may cover it in the middle of the page, or at its edge.
/** @type {ScrollLogicalPosition[]} */
const TRIES = NEW ? ["center", "start", "end", "center", "center"] : Array(5).fill("center");
export const reach = async (id) => {
  const element = byId.get(id);
  if (!plain(element)?.isConnected || !visible(element)) return null;
  for (const block of TRIES) {
    plain(owner(aimedAt(element)[0])).scrollIntoView({ ...CENTRE, block });
    await frames();
    if (target(element)) break;
  }
  const point = target(element) ?? (NEW ? targetInSight(element) : null) ?? spot(element);
  return inViewport(point) ? point : null;
};

// The number at which a spinner stands; null for anything else.
export const spinner = (id) => {
  const element = byId.get(id);
  if (!(element instanceof Element) || !plain(element).matches("[role=spinbutton]")) return null;
  const value = element instanceof HTMLInputElement ? element.value : element.getAttribute("aria-valuenow");
  return Number.isFinite(Number(value)) ? Number(value) : null;
};

// The beginning of a string, for errors.
export const quote = (text) => `"${text.length > 80 ? `${text.slice(0, 80)}...` : text}"`;

// The options of a drop-down list that can be chosen.
export const usable = (list) =>
  [...list.options].filter((option) => !option.matches(":disabled") && !option.hidden);

// Their strings, each with its group, and with a number if several are alike.
export const optionsOf = (list) => {
  const options = usable(list);
  const texts = options.map((option) => squeeze(option.text));
  if (!NEW) return texts;
  const names = options.map((option, at) => {
    const group = squeeze(option.closest("optgroup")?.label ?? "");
    return group ? `${group}: ${texts[at]}` : texts[at];
  });
  const places = Map.groupBy(names.keys(), (at) => names[at]);
  return names.map((name, at) => {
    const alike = places.get(name);
    return alike.length > 1 ? `${name} (${alike.indexOf(at) + 1})` : name;
  });
};

// The input that chooses an option, by its name or its text alone: the point to click and the number of steps
// down from the first option, and whether the list is open. An error is a string.
export const option = async (id, wanted) => {
  const aimed = await aim([[id, null]]);
  if (typeof aimed === "string") return aimed;
  const element = byId.get(id);
  if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1) {
    return `the element with id=${id} is no drop-down list`;
  }
  if (element.matches(":disabled")) return `the list with id=${id} can't be used now`;
  const names = optionsOf(element);
  const texts = usable(element).map((one) => squeeze(one.text));
  const at = names.indexOf(squeeze(wanted));
  const alike = texts.flatMap((text, place) => text === squeeze(wanted) ? [place] : []);
  const open = !closedList(element);
  if (at >= 0 || alike.length === 1) return { point: aimed[0], open, down: at >= 0 ? at : alike[0] };
  const few = (alike.length ? alike.map((place) => names[place]) : names).slice(0, 20).map(quote).join(", ");
  if (alike.length) return `the list with id=${id} has several options ${quote(wanted)}: ${few}`;
  return `the list with id=${id} has no option ${quote(wanted)}; it has ${few}`
    + (names.length > 20 ? ` and ${names.length - 20} more` : "");
};
