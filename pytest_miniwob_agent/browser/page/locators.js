// How a Playwright script names an element: calls of its locators, such as ["get_by_role", "button", {
// name: "Save" }], which find that element alone. By role and name, else by label, text or test id; where
// several are alike, within what is around it, and at last by number. What is compared with what is
// that of https://playwright.dev/python/docs/locators.

import { outer, plain } from "./world.js";
import { childrenOf, owner, parentOf, visible, within } from "./sight.js";
import { IGNORED_TAGS, byId, squeeze } from "./leaves.js";
import { optionsOf, usable } from "./aim.js";
import { labels, nameOf, roleOf, said } from "./tree.js";

const NO_ROLE = /^(canvas|iframe|video|)$/; // which others know no role by
const ACTING = new RegExp("^(button|checkbox|combobox|link|menuitem|menuitemcheckbox|menuitemradio|option|radio"
  + "|spinbutton|switch|tab|textbox|treeitem)$");
const CONTENT = /^(cell|gridcell)$/; // named by their content, too
const AROUND = new RegExp("^(alertdialog|article|banner|complementary|contentinfo|dialog|form|group|listitem|main"
  + "|navigation|region|row|search|table|tabpanel)$");
const MOST = 50; // texts that are looked at

// All elements of a document, or of an element, in order; with those in open shadow trees.
const elementsOf = (root) => {
  const found = [];
  const left = [root];
  while (left.length) {
    const node = left.pop();
    if (node !== root) found.push(node);
    const kids = node instanceof HTMLSlotElement ? [...node.childNodes] : node.shadowRoot
      ? [...node.shadowRoot.children, ...node.children] : [...node.childNodes];
    left.push(...kids.filter((kid) => kid instanceof Element).reverse());
  }
  return found;
};
const exposed = (element) => {
  for (let up = element; up; up = parentOf(up)) if (plain(up).ariaHidden === "true") return false;
  return element instanceof HTMLOptionElement || plain(element).checkVisibility({ visibilityProperty: true })
    || getComputedStyle(element).display === "contents";
};

const named = (element, role) => nameOf(element, role)[0]
  || (CONTENT.test(role) ? said(element) : "");
const worded = (element) => plain(element).matches("input[type=submit], input[type=button]")
  ? plain(element).value : squeeze(plain(element).textContent);
const has = (text, part) => text.toLowerCase().includes(part.toLowerCase());

// True if a style sheet adds letters to an element, such as icons of a font: Playwright takes them for
// its name, and not its title.
const decorated = (element) => [element, ...plain(element).querySelectorAll("*")].some((one) =>
  ["::before", "::after"].some((part) => /^"./.test(getComputedStyle(one, part).content)));

// True for the innermost elements whose text contains, or is, a string.
const shows = (text, exact) => (element) => {
  const fits = (one) => !IGNORED_TAGS.has(plain(one).localName)
    && (exact ? worded(one) === text : has(worded(one), text));
  return fits(element) && !childrenOf(element).some((one) => one instanceof Element && fits(one));
};

// The ways to name an element, best first, each with a test of all elements.
const ways = function* (element, text) {
  const role = roleOf(element);
  const name = NO_ROLE.test(role) || plain(element).type === "file" ? "" : named(element, role);
  const title = squeeze(plain(element).title ?? "");
  const alike = (one) => roleOf(one) === role && exposed(one);
  if (name && (name !== title || !decorated(element))) {
    const call = ["get_by_role", role, { name }];
    yield { call, fits: (one) => alike(one) && has(named(one, role), name) };
    const exact = ["get_by_role", role, { name, exact: true }];
    yield { call: exact, fits: (one) => alike(one) && named(one, role) === name };
  }
  const titled = (one) => squeeze(plain(one).title ?? "");
  if (title) yield { call: ["get_by_title", title], fits: (one) => has(titled(one), title) };
  const labelled = (one) =>
    squeeze([...plain(one).labels ?? labels(one)].map((each) => said(each, one)).join(" "));
  const label = labelled(element);
  if (label) {
    yield { call: ["get_by_label", label], fits: (one) => has(labelled(one), label) };
    yield { call: ["get_by_label", label, { exact: true }], fits: (one) => labelled(one) === label };
  }
  if (text) {
    yield { call: ["get_by_text", text], fits: shows(text, false) };
    yield { call: ["get_by_text", text, { exact: true }], fits: shows(text, true) };
  }
  const id = plain(element).getAttribute("data-testid");
  if (id) yield { call: ["get_by_test_id", id], fits: (one) => plain(one).getAttribute("data-testid") === id };
  if (!name && !NO_ROLE.test(role)) yield { call: ["get_by_role", role], fits: alike };
};

// What is around an element and can be told from others of its kind: by its name, or for rows and
// items of lists by a text in it that they don't have.
const scopes = function* (element, all) {
  for (let up = parentOf(element); up; up = parentOf(up)) {
    const role = roleOf(up);
    if (!AROUND.test(role) || !exposed(up)) continue;
    const alike = all.filter((one) => roleOf(one) === role && exposed(one));
    const name = nameOf(up, role)[0];
    if (alike.length === 1) yield [up, [["get_by_role", role]]];
    else if (!/^(row|listitem)$/.test(role)) {
      if (name && alike.filter((one) => has(nameOf(one, role)[0], name)).length === 1) {
        yield [up, [["get_by_role", role, { name }]]];
      }
    } else {
      const nodes = [up, ...elementsOf(up)].flatMap((one) => [...plain(one).childNodes]);
      const texts = nodes.filter((node) => node instanceof Text).map(({ data }) => squeeze(data));
      const own = texts.find((text) => text
        && alike.filter((one) => has(worded(one), text)).length === 1);
      if (own) yield [up, [["get_by_role", role], ["filter", { has_text: own }]]];
    }
  }
};

// The frame that this document is in, from the page on.
const frame = () => {
  if (!outer) return [];
  const known = ["id", "name", "title", "src"].find((name) => frameElement.getAttribute(name));
  const css = known ? `iframe[${known}=${JSON.stringify(frameElement.getAttribute(known))}]` : "iframe";
  return [["frame_locator", css]];
};

// Calls as code of Python.
const written = (calls) => [...frame(), ...calls].map(([name, ...values]) => {
  const given = values.flatMap((value) => typeof value !== "object" ? [JSON.stringify(value)]
    : Object.entries(value).map(([key, part]) => `${key}=${part === true ? "True" : JSON.stringify(part)}`));
  return `.${name}(${given.join(", ")})`;
}).join("");

// The calls that find an element alone, and the test that it alone passes on the page; neither if
// there are none.
const alone = (element, text = worded(element)) => {
  const all = elementsOf(document);
  const found = [...ways(element, text)];
  for (const { call, fits } of found) if (all.filter(fits).length === 1) return { calls: [call], fits };
  for (const [around, path] of scopes(element, all)) {
    const inner = elementsOf(around);
    for (const { call, fits } of found) if (inner.filter(fits).length === 1) return { calls: [...path, call] };
  }
  const last = found.find(({ call }) => call[2]?.exact) ?? found[0];
  const at = last ? all.filter(last.fits).findIndex((one) => within(element, one)) : -1;
  return at < 0 ? {} : { calls: [last.call, ["nth", at]] };
};

const tests = new Map(); // of the elements that actions were about, by id

// What a script must know of an element to act on it: its calls, and what it is. What is in a button or
// the like is that.
export const located = (id) => {
  let element = owner(byId.get(id));
  if (!element) return {};
  for (let up = element; up; up = parentOf(up)) {
    if (!ACTING.test(roleOf(up))) continue;
    element = up;
    break;
  }
  const { calls, fits } = alone(element);
  tests.set(id, fits);
  const { type = "", checked = null, value = "" } = plain(element);
  const field = plain(element).matches("input, textarea") && !plain(element).list
    && !plain(element).matches("[role=combobox], [aria-autocomplete]");
  const options = element instanceof HTMLSelectElement ? usable(element) : [];
  const numbers = options.map((option, at) => [optionsOf(element)[at], option.index])
    .filter(([name], at) => name !== squeeze(options[at].text));
  return { id, text: worded(element), type, checked, value, plain: field, numbers: Object.fromEntries(numbers),
    code: calls ? written(calls) : "" };
};

// True if an element that was alone is gone, and none like it has come.
export const gone = (id) => Boolean(tests.get(id)) && !elementsOf(document).some(tests.get(id));

// The texts that show, and the values of fields, but for those in `before`; each with the role of the
// message or heading that it is, and its code.
const MESSAGE = "[role=alert], [role=status], h1, h2, h3, h4, h5, h6, [role=heading], output";
export const news = (before) => elementsOf(document).flatMap((element) => {
  if (!visible(element) || !exposed(element)) return [];
  const field = plain(element).matches("textarea, input:not([type=password])");
  const own = (field ? [plain(element).value] : [...plain(element).childNodes]
    .filter((node) => node instanceof Text).map(({ data }) => squeeze(data)))
    .filter((text) => text && !before.includes(text));
  if (!own.length || (!field && ACTING.test(roleOf(element)))) return [];
  const text = field || plain(element).querySelector("button, input, select") ? own[0] : worded(element);
  return field || shows(text, false)(element) ? [{ element, text, field }] : [];
}).slice(0, MOST).flatMap(({ element, text, field }) => {
  const message = plain(element).closest(MESSAGE);
  const { calls } = alone(element, field ? "" : text);
  return calls ? [{ role: message ? roleOf(message) : "", text, field, code: written(calls) }] : [];
});
