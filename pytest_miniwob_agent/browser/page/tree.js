// The page as a tree of what has a role or a text, as people and assistive technology see it. Roles and
// names are those of ARIA in HTML (https://www.w3.org/TR/html-aria/) and accname
// (https://www.w3.org/TR/accname-1.2/).

import { Main, outer, plain } from "./world.js";
import { agentOf } from "./frames.js";
import {
  NEW, aims, body, childrenOf, closedList, extent, focusedElement, folding, owner, parentOf, place, target, visible,
} from "./sight.js";
import { IGNORED_TAGS, described, idOf, ignored, squeeze } from "./leaves.js";
import { edits, spaced, written } from "./editors.js";
import { CONTROLS, distinguish, outlined } from "./outline.js";
import {
  FORMATS, beginning, choices, covered, inSight, limits, painted, pictured, scrollState,
  scrolls, wholePage,
} from "./everything.js";

const BY_TAG = {
  article: "article", aside: "complementary", button: "button", canvas: "canvas", details: "group",
  dialog: "dialog", fieldset: "group", figure: "figure", h1: "heading", h2: "heading",
  h3: "heading", h4: "heading", h5: "heading", h6: "heading", iframe: "iframe", li: "listitem",
  main: "main", menu: "list", meter: "meter", nav: "navigation", ol: "list", optgroup: "group",
  option: "option", output: "status", progress: "progressbar", search: "search",
  summary: "button", table: "table", td: "cell", textarea: "textbox", tr: "row", ul: "list",
  video: "video",
};
const BY_TYPE = {
  button: "button", checkbox: "checkbox", file: "button", image: "button", number: "spinbutton",
  radio: "radio", range: "slider", reset: "button", search: "searchbox", submit: "button",
};
const NAMED_BY_CONTENT = new Set(("button canvas checkbox columnheader heading link menuitem "
  + "menuitemcheckbox menuitemradio option radio rowheader switch tab tooltip treeitem").split(" "));
const NO_ROLE = /^(generic|none|presentation)$/;
const NOTHING = /^(generic|none|presentation|rowgroup)$/; // as the parts of a <table>

const labelled = (element) => plain(element).matches("[aria-label], [aria-labelledby], [title]");
const WIDE = 100; // px, as of a diagram or chart
const wide = (svg) => !svg.ownerSVGElement && Math.min(extent(svg).width, extent(svg).height) >= WIDE;
const topmost = (element) => !plain(element).closest("article, aside, main, nav, section");
const IMPLICIT = {
  a: (element) => plain(element).hasAttribute("href") ? "link" : "",
  area: (element) => plain(element).hasAttribute("href") ? "link" : "",
  footer: (element) => topmost(element) ? "contentinfo" : "",
  form: (element) => labelled(element) ? "form" : "",
  header: (element) => topmost(element) ? "banner" : "",
  img: (element) => plain(element).getAttribute("alt") === "" && !labelled(element) ? "" : "img",
  input: (element) => BY_TYPE[plain(element).type] ?? (plain(element).list ? "combobox" : "textbox"),
  section: (element) => labelled(element) ? "region" : "",
  select: (element) => element.multiple || element.size > 1 ? "listbox" : "combobox",
  svg: (element) => labelled(element) || element.matches(":has(> title)") || (NEW && wide(element)) ? "img" : "",
  th: (element) => element.scope.startsWith("row")
    || (!element.scope && plain(element).matches(":has(~ td)")) ? "rowheader" : "columnheader",
};

// What a custom element says of itself (page/internals.js), by the names of attributes.
const internals = new Map(); // element -> that, within a task of the browser
const attribute = (element, name) => {
  const given = plain(element).getAttribute(name);
  if (given !== null || !NEW || !plain(element).localName.includes("-")) return given;
  if (!internals.size) queueMicrotask(() => internals.clear());
  if (!internals.has(element)) {
    const asked = !element.dispatchEvent(new Event(Constants.NAME, { cancelable: true }));
    internals.set(element, asked ? Main.internals() : {});
  }
  return internals.get(element)[name] ?? null;
};

// The role of an element, empty for a generic one.
export const roleOf = (element) => {
  const [role] = /[a-z]+(-[a-z]+)*/.exec(plain(element).getAttribute("role") ?? "") ?? [];
  if (role && !NO_ROLE.test(role)) return role;
  if (role && !plain(element).hasAttribute("tabindex")) return "";
  const tag = plain(element).localName;
  const owner = /^(li|td|th|tr)$/.test(tag) ? plain(element).closest("ul, ol, menu, table") : element;
  if (!owner || NO_ROLE.test(plain(owner).getAttribute("role"))) return "";
  const implicit = Object.hasOwn(IMPLICIT, tag) ? IMPLICIT[tag](element) : BY_TAG[tag];
  return implicit || (edits(element) ? "textbox" : "");
};

// The words that a style sheet puts before and after an element, on screens of version 1.
const generated = (element) => NEW ? "" : ["::before", "::after"].map((part) => {
  const { content, visibility } = getComputedStyle(element, part);
  const [, text = ""] = /^"(.*)"$/.exec(content) ?? [];
  return visibility === "visible" && /[\p{L}\p{N}]/u.test(text) ? text.replace(/\\(.)/g, "$1") : "";
}).join(" ").trim();

// What a style sheet puts before or after an element that has a box, or the text that stands for it. Icons
// of a font are no text.
const STRINGS = /[\w-]+\("[^"]*"\)|"((?:\\.|[^"\\])*)"|(\/)/g; // but for addresses of images
const drawn = (element, part) => {
  if (!NEW || getComputedStyle(element).display === "contents") return "";
  const style = getComputedStyle(element, part);
  const { content } = style; // hardly any element has one, and each property is worked out anew
  if (!content.includes('"')) return "";
  const { display, opacity, visibility } = style;
  if (display === "none" || visibility !== "visible" || opacity === "0") return "";
  const found = [...content.matchAll(STRINGS)];
  const alternative = found.findIndex(([, , slash]) => slash) + 1;
  const text = found.slice(alternative).map(([, words = ""]) => words.replace(/\\(.)/g, "$1")).join("")
    .replace(/\p{Co}/gu, "");
  const gap = display.startsWith("inline") ? "" : " ";
  return text.trim() && gap + text + gap;
};

// What an element in a name says instead of its content; null where it says that.
const instead = (element) => {
  const label = plain(element).getAttribute("aria-label")?.trim();
  if (label || plain(element).matches("img, area")) return label || plain(element).alt;
  if (plain(element).matches("select")) return element.selectedOptions[0]?.text ?? "";
  return plain(element).matches("input:not([type=checkbox], [type=radio]), textarea") ? plain(element).value : null;
};

// The text of an element as a part of the name of another one. What is hidden is no part of it, but
// where all of the element is.
export const said = (root, named = null) => {
  const shows = (element) => getComputedStyle(element).display === "contents"
    || plain(element).checkVisibility({ visibilityProperty: true });
  const unseen = !shows(root);
  const words = folding(function* (node) {
    if (node instanceof Text) return node.data;
    if (!(node instanceof Element) || IGNORED_TAGS.has(plain(node).localName) || node === named
      || plain(node).ariaHidden === "true" || !(unseen || shows(node))
      || (plain(root).role === "treeitem" && plain(node).matches("ul, ol, [role=group]"))) {
      return plain(node).localName === "br" ? " " : "";
    }
    let text = instead(node);
    if (text === null) {
      text = drawn(node, "::before");
      for (const inner of childrenOf(node)) text += yield inner;
      text += drawn(node, "::after");
    }
    const gap = /^(inline|contents|ruby)/.test(getComputedStyle(node).display) ? "" : " ";
    return gap + (text ?? "") + gap;
  });
  return squeeze([drawn(root, "::before"), ...childrenOf(root).map(words), drawn(root, "::after")].join(""));
};

// The elements that are said to label one, in its tree or one around it.
export const labels = (element) => {
  const ids = plain(element).getAttribute("aria-labelledby")?.trim().split(/\s+/);
  if (!ids?.[0]) return plain(element).ariaLabelledByElements ?? [];
  return ids.map((id) => {
    let root = plain(element).getRootNode();
    while (root.host && !root.getElementById(id)) root = root.host.getRootNode();
    return root.getElementById?.(id);
  }).filter(Boolean);
};

const CAPTION = ":scope > :is(caption, figcaption, legend, title)";
const USUAL = { file: "Choose File", image: "Submit", reset: "Reset", submit: "Submit" };

// The name that attributes and other elements give an element, but for its content.
const given = (element) => {
  const around = plain(element).shadowRoot ? [plain(element).closest("label")].filter(Boolean) : [];
  const captioned = plain(element).matches("figure, fieldset, svg, table") || (NEW && element instanceof SVGElement);
  const caption = captioned && plain(element).querySelector(CAPTION);
  return labels(element).map((one) => instead(one) ?? said(one)).join(" ").trim()
    || squeeze(attribute(element, "aria-label") ?? "")
    || [...plain(element).labels ?? around].map((one) => said(one, element)).join(" ").trim()
    || (plain(element).matches("input:is([type=submit], [type=reset], [type=button])")
      && plain(element).value)
    || (caption ? squeeze(caption.textContent) : squeeze(plain(element).alt ?? plain(element).label ?? ""));
};

// The name of an element, and whether its content gives it.
export const nameOf = (element, role) => {
  const named = given(element);
  const content = !named && NAMED_BY_CONTENT.has(role) ? said(element) : "";
  if (named || content) return [named || content, !named];
  const field = plain(element).matches("input, select, textarea, button");
  const { host } = plain(element).getRootNode(); // a field takes the name of the component that it is in
  return [squeeze(plain(element).title ?? "") || (field && host ? given(host) : "")
    || squeeze(plain(element).placeholder ?? plain(element).ariaPlaceholder ?? "")
    || (plain(element).matches("input") ? USUAL[plain(element).type] ?? "" : generated(element)), false];
};

// Roles that are of interest without a name and without content, beside those above.
const WIDGETS = new Set(("cell combobox gridcell iframe img listbox meter progressbar scrollbar "
  + "searchbox slider spinbutton textbox video").split(" "));
const LEAVES = "input, textarea, option, img, canvas, progress, meter, video";
const LONG = 20; // children of one kind in a row that are left out where they are out of sight
const LEAST = 8; // px of a box that shows nothing else

const cursor = (element) => element && getComputedStyle(element).cursor;
const points = (element, kinds) => kinds.test(cursor(element))
  && cursor(element) !== cursor(parentOf(element));
const clickable = (element) => plain(element).matches("[onclick]") || points(element, /pointer/);

// True for an element that answers to the mouse or the keyboard, as far as can be seen.
const HELD = NEW ? /grab|move|resize|crosshair/ : /grab|move|resize/;
const HANDLED = "[tabindex='0'], [draggable=true], .ui-draggable, .ui-droppable";
const acts = (element) => clickable(element) || scrolls(element) || points(element, HELD)
  || plain(element).matches(HANDLED);

// True for an element that gets what is typed and draws nothing, as in editors that draw the text themselves.
const typesInto = (element) => NEW && Boolean(element.editContext) && !visible(element);

// What shows in place of a field that is itself too small or transparent to be seen: its label,
// or what it lies in.
const shownFor = (field) => {
  const ticked = /^(checkbox|radio)$/.test(plain(field).type);
  const drawn = plain(field).checkVisibility({ visibilityProperty: true });
  const label = ticked && [...field.labels].find(visible);
  if (visible(field)) return field;
  if (plain(field).closest("[aria-hidden=true]") || !(drawn || label)) return null;
  let up = label || parentOf(field);
  for (let count = 0; count < 3 && up && !visible(up); count++) up = parentOf(up);
  return up && up !== body() && visible(up) ? up : null;
};

// True for a part of a line that listens for clicks: it is a line of its own then, unless it is all of a control.
const SHELLS = "a[href], button, label, option, summary, [role=button], [role=link], [role=menuitem], "
  + "[role=option], [role=tab]";
const isPart = (element) => {
  const shell = plain(element).closest(SHELLS);
  return !shell || (shell !== element && squeeze(shell.textContent) !== squeeze(element.textContent));
};
const listens = (element) => NEW && getComputedStyle(element).display.startsWith("inline")
  && !plain(element).isContentEditable && isPart(element)
  && !element.dispatchEvent(new Event(`${Constants.NAME} press`, { cancelable: true }));

// True for a label of a field that does not show: it is used instead.
const stands = (element) => {
  const field = NEW && element instanceof HTMLLabelElement ? plain(element).control : null;
  return Boolean(field) && !shownFor(field);
};

// True for a drawing that has more to it than its shape.
const told = (drawing) => drawing.textContent.trim() || acts(drawing);

// Children as they are placed: grids and lists that draw only what is in sight reuse their rows in any order.
const ordered = (children) => {
  const boxes = children.filter((one) => !(one instanceof Text) || one.data.trim());
  const alike = NEW && boxes.length > 1 && boxes.every((one) => one instanceof HTMLElement
    && one.localName === boxes[0].localName && getComputedStyle(one).position === "absolute"
    && !CONTROLS.has(roleOf(one)));
  if (!alike) return children;
  const places = new Map(boxes.map((one) => [one, extent(one)]));
  const apart = (one, other, side) => Math.round(places.get(one)[side] - places.get(other)[side]);
  return boxes.sort((one, other) => apart(one, other, "top") || apart(one, other, "left"));
};

// The children of an element; in a long list only those in sight, and how many others there are.
const listed = (element) => {
  const children = ordered(childrenOf(element).filter((one) => !(one instanceof Comment)));
  if (children.length <= LONG) return children;
  const found = [];
  let away = [];
  const flush = () => {
    const shown = away.filter((one) => visible(one) && !(NEW && one instanceof SVGElement && !told(one)));
    if (shown.length > LONG) found.push({ count: shown.length, role: roleOf(shown[0]) });
    else found.push(...away);
    away = [];
  };
  for (const child of children) {
    if (child instanceof Text && !child.data.trim()) continue;
    const seen = child instanceof Text || inSight(child);
    if (seen || plain(away[0])?.localName !== plain(child).localName) flush();
    (seen ? found : away).push(child);
  }
  flush();
  return found;
};

const isText = (item) => item.role === "text" && !item.acting;
const isDecor = (item) => isText(item) || (item.role === "generic" && !item.acting)
  || item.role === "img";
const joined = (items) => squeeze(items.map(({ text }) => text).join(""));

// Texts that flow into one another are one text, and so are all in a line of an editor or of code. An
// element around all of them stands for it.
const merged = (items, element) => {
  const found = [];
  for (let at = 0; at < items.length;) {
    let end = at;
    while (end < items.length && items[end].flows) end++;
    const run = items.slice(at, end).filter(({ text }) => text.trim());
    const around = end - at === items.length && visible(element) ? element : run[0]?.node;
    const text = items.slice(at, end).map((item) => item.text).join("");
    const flowing = run.some(({ node }) => node instanceof Text)
      || (NEW && run.length > 0 && (plain(element).isContentEditable || spaced(element)));
    const aim = run.flatMap((item) => item.aim ?? []);
    found.push(...(flowing ? [{ ...run[0], node: around, text, aim }] : run));
    if (end < items.length) found.push(items[end++]);
    at = end;
  }
  return found;
};

// The name of an element without a role, such as what is shown where the mouse rests on it.
const tip = (element) => NEW && element !== body() ? given(element) || squeeze(plain(element).title ?? "") : "";

const area = (node) => extent(node).width * extent(node).height;

// The other shapes of a node of a diagram: of a group with a box around its texts. They are its ports.
const SHAPES = "circle, ellipse, image, path, polygon, rect";
const MOST_SHAPES = 20;
const ports = (group, kids) => {
  const shapes = group instanceof SVGGElement && kids.some(isText) ? [...group.querySelectorAll(SHAPES)] : [];
  if (!NEW || shapes.length < 2 || shapes.length > MOST_SHAPES) return [];
  const box = shapes.reduce((most, one) => area(one) > area(most) ? one : most);
  const { left, top, right, bottom } = extent(box);
  const around = kids.filter(isText).map(({ node }) => extent(node)).every((rect) =>
    rect.left >= left && rect.right <= right && rect.top >= top && rect.bottom <= bottom);
  return shapes.filter((one) => around && one !== box && visible(one)
    && Math.min(extent(one).width, extent(one).height) >= LEAST && getComputedStyle(one).fill !== "none");
};

// True for an element around a control alone that is clicked with it.
const wraps = (element, kids) => NEW && kids.length === 1 && CONTROLS.has(kids[0].role) && !scrolls(element)
  && !points(element, HELD) && !plain(element).matches(HANDLED)
  && area(kids[0].shown ?? kids[0].node) >= area(element) / 2;

// What an element without a role comes to, given what is in it.
const generic = (element, inner) => {
  const around = ports(element, inner);
  const kids = [...inner.filter((kid) => !around.includes(kid.node)),
    ...around.map((node) => ({ node, role: "generic", text: tip(node), kids: [], acting: true }))];
  const leaf = !kids.length || (kids.length === 1 && isText(kids[0]));
  const heard = leaf && element !== body() && listens(element);
  const [acting, name] = [around.length > 0 || acts(element) || heard, tip(element)];
  if (kids.length === 1 && isText(kids[0]) && (visible(element) || kids[0].node === element)) {
    const flows = getComputedStyle(element).display.startsWith("inline") && !acting && !stands(element);
    const text = flows ? kids[0].text : ` ${kids[0].text} `;
    return [{ ...kids[0], node: element, text, acting, heard, flows, title: name || kids[0].title }];
  }
  if (acting && !name && wraps(element, kids)) return kids;
  const says = name && !kids.some((kid) => squeeze(kid.text ?? "") === name);
  if (element === body() || (kids.length && !acting && !says) || !visible(element)) return kids;
  const text = kids.length ? "" : generated(element);
  const { width, height } = extent(element);
  const shown = !plain(element).matches("img, svg, svg *") && Math.min(width, height) >= LEAST
    && (painted(element) || pictured(element) || plain(element).localName.includes("-")
      || (NEW && getComputedStyle(element).backgroundImage !== "none"));
  return text || acting || shown || name
    ? [{ node: element, role: text ? "text" : "generic", text: text || name, kids, acting, heard }] : [];
};

// What an element comes to, given what is in it.
const close = ({ node: element, role, kids: found }) => {
  const kids = merged(found, element);
  const texts = joined(kids.filter(isText));
  const field = element instanceof HTMLLabelElement ? plain(element).control : null;
  if (field && shownFor(field) && nameOf(field, roleOf(field))[0].includes(texts)) {
    return kids.filter((kid) => !isDecor(kid));
  }
  if (!role) return generic(element, kids);
  const shown = plain(element).matches("input, textarea") || typesInto(element) ? shownFor(element) : element;
  const widget = WIDGETS.has(role) || NAMED_BY_CONTENT.has(role);
  const told = widget || acts(element) || (NEW && given(element));
  if (!shown || !(kids.length || (visible(shown) && told))) return kids;
  const [name, byContent] = nameOf(element, role);
  const textual = kids.length > 0 && kids.every(isText);
  const parted = role === "textbox" || (NEW && role === "img"); // its texts are not its name
  const item = { node: element, shown, role, text: name, kids };
  const says = NEW && byContent ? (kid) => kid.role === "text" && squeeze(kid.text) === name : isText;
  const aim = kids.filter((kid) => isText(kid) || says(kid)).flatMap((kid) => kid.aim ?? []);
  if (textual && !name && !parted) return [{ ...item, text: texts, kids: [], aim }];
  if (textual && !byContent && (role === "textbox" || kids.length === 1)) {
    return [{ ...item, shows: texts === name ? "" : texts, kids: [] }];
  }
  const labelled = name && !textual && (NEW ? NAMED_BY_CONTENT.has(role) : widget);
  const captions = kids.filter((kid) => kid.role === "text" && squeeze(kid.text) === name);
  const kept = byContent || labelled ? kids.filter((kid) => !isDecor(kid) && !says(kid))
    : kids.filter((kid) => !(captions.includes(kid) && isText(kid)));
  const captioned = NEW && captions.length > 0 && !labelled && !scrolls(element);
  const caption = captioned ? [...captions.flatMap((kid) => kid.aim ?? []), element] : null;
  return [{ ...item, kids: kept, aim: byContent ? aim : caption }];
};

// What an element comes to, in which no text goes on behind a block.
const ended = (element, items) => !NEW || /^(inline|contents)/.test(getComputedStyle(element).display) ? items
  : items.map((item) => item.flows ? { ...item, text: ` ${item.text} `, flows: false } : item);

// A node that is begun: null where nothing of it shows, else an item with what is in it to come.
const open = (node) => {
  if (node.count) {
    const word = node.role.replace(/^(list)?item$|^$/, "item");
    return { role: `and ${node.count} more ${word}s, scroll` };
  }
  if (node instanceof Text || plain(node).localName === "br") {
    const text = node.data?.trim() ? node.data : " ";
    return text === " " || visible(node)
      ? { node, role: "text", text, flows: true, aim: [node] } : null;
  }
  if (!(node instanceof Element) || ignored(node)) return null;
  const ticked = plain(node).matches("input[type=checkbox], input[type=radio]"); // by its label
  const boxless = getComputedStyle(node).display === "contents";
  const mapped = NEW && node instanceof HTMLAreaElement; // on its image
  if (!ticked && !boxless && !mapped && !plain(node).checkVisibility()) return null;
  const inner = agentOf(node);
  const role = (roleOf(node) || (attribute(node, "role") ?? "")).replace(NEW ? NOTHING : NO_ROLE, "");
  const leaf = inner || plain(node).matches(LEAVES) || (role === "combobox" && closedList(node));
  if (inner && visible(node)) return { node, role, text: nameOf(node, "")[0], kids: [], inner };
  return { node, role, kids: [], left: leaf ? [] : listed(node) };
};

// What a node comes to.
const grown = folding(function* (node) {
  /** @type {any} */
  const here = open(node);
  if (!here?.left) return here ? [here] : [];
  const words = (part) => {
    const text = drawn(node, part);
    return text && visible(node) ? [{ node, role: "text", text, flows: true }] : [];
  };
  here.kids.push(...words("::before"));
  for (const child of here.left) for (const one of yield child) here.kids.push(one);
  here.kids.push(...words("::after"));
  return ended(node, close(here));
});

// Whether a node is out of sight, or under what a person sees.
const hidden = (node, point) => {
  if (!inSight(node)) return "outside";
  if (NEW && getComputedStyle(owner(node)).getPropertyValue("interactivity") === "inert") return "inert";
  const opaque = (hit) => plain(hit).checkVisibility({ opacityProperty: true });
  return !point && covered(node, opaque) ? "covered" : "";
};

const states = ({ node, shown, role, kids, heard }, point, { focus, active }) => {
  const aria = (name) => attribute(node, `aria-${name}`) ?? "";
  const either = (state, own) => {
    const value = own ? "true" : aria(state);
    if (/^(false|none)?$/.test(value)) return "";
    return value === "true" ? state : `${state}=${value.replace(/[^\w-]/g, "")}`;
  };
  const opened = plain(node).matches("details > summary") ? plain(node).parentElement.open : aria("expanded");
  return [
    plain(node).indeterminate ? "checked=mixed" : either("checked", plain(node).checked),
    either("selected", plain(node).selected),
    either("pressed"),
    { true: "expanded", false: "collapsed" }[opened],
    either("disabled", plain(node).matches(":disabled")),
    either("readonly", plain(node).readOnly),
    either("required", plain(node).required),
    ...["invalid", "sort", "haspopup", "current", "busy"].map((state) => either(state)),
    either("modal", plain(node).matches("dialog:modal")),
    node === focus ? "focused" : node === active ? "active" : "",
    /^(generic|text)$/.test(role) && (heard || clickable(node)) ? "clickable" : "",
    NEW && (plain(node).matches("[draggable=true], .ui-draggable") || points(node, /grab|move/)) ? "draggable" : "",
    kids?.length ? "" : hidden(shown ?? node, point),
  ].filter(Boolean).join(" ");
};

// What the page's author calls an element, and what is drawn in it.
const classes = (element) => squeeze([element, ...plain(element).querySelectorAll("[class]")]
  .map((one) => plain(one).getAttribute("class")).join(" ")).slice(0, NEW ? 1000 : 100)
  || plain(element).id || plain(element).localName;

const TYPED = /^(color|date|datetime-local|file|month|password|time|week)$/;

// What there is to know of an element beside its role, name and value.
const details = (item, value, point, marks) => {
  const { node, role, text, kids } = item;
  const given = (name) => squeeze(attribute(node, name) ?? "");
  const number = plain(node).matches("progress, meter") ? String(plain(node).value)
    : value === null ? given("aria-valuenow") : "";
  const unnamed = !text && !kids?.length && /^(button|generic|link)$/.test(role);
  const suggested = [...plain(node).list?.options ?? []].slice(0, 100).map(({ value, label }) =>
    squeeze(NEW && label && label !== value ? `${value} (${label})` : value));
  const title = NEW ? item.title ?? squeeze(plain(node).title ?? "") : "";
  return Object.entries({
    level: given("aria-level") || (/^h\d$/.test(plain(node).localName) ? plain(node).localName[1] : ""),
    type: plain(node).matches("input") && TYPED.test(plain(node).type) ? plain(node).type : "",
    value: number,
    ...Object.fromEntries(limits(node)),
    valuetext: given("aria-valuetext") === number ? "" : given("aria-valuetext"),
    format: FORMATS[plain(node).type],
    options: choices(node) || suggested.join(" | "),
    placeholder: plain(node).placeholder === text ? "" : plain(node).placeholder,
    image: text ? "" : pictured(node),
    title: text.includes(title) ? "" : title,
    shows: squeeze(String(value ?? "")) === item.shows ? "" : item.shows,
    class: unnamed && !(NEW && scrolls(node)) ? classes(node) : "",
    state: states(item, point, marks),
    ...Object.fromEntries(scrollState(node)),
  }).map(([name, detail]) => [name, String(detail ?? "")])
    .filter(([name, detail]) => detail || (NEW && name === "state"));
};

// The line of an item, so deep in the tree.
const line = (item, depth, marks) => {
  const { node, shown = node, role } = item;
  const text = squeeze(item.text ?? "");
  if (!node) return { id: null, tag: "more", text, x: 0, y: 0, point: null, role, depth };
  if (node instanceof Text) {
    const [x, y] = place(extent(node), parentOf(node));
    const point = target(node);
    const state = hidden(node, point);
    return { id: idOf(node), tag: "text", text, x, y, point, role, depth,
      details: state || NEW ? [["state", state]] : [] };
  }
  if (NEW) aims.set(shown, item.aim);
  const found = described(node, text, shown);
  if (plain(node).type in FORMATS) found.point = beginning(node);
  if (!found.point && !visible(shown)) found.id = null;
  const edited = found.value === null && (role === "textbox" || (NEW && edits(node))) // not a field
    && !typesInto(node);
  const value = edited && NEW ? written(node) : edited && !item.kids.length ? item.shows ?? ""
    : /^(button|listbox)$/.test(role) ? null : found.value;
  return { ...found, classes: "", value, role, depth,
    details: details({ ...item, text }, value, found.point, marks) };
};

export const tree = () => {
  const focus = focusedElement();
  const named = plain(focus)?.getAttribute("aria-activedescendant");
  const active = named ? plain(focus).getRootNode().getElementById(named) : null;
  const nodes = new Map(); // line -> its node, or what shows for it
  /** @type {any[]} */
  const lines = outer ? [] : wholePage().map((one) => ({ ...one, role: "page", depth: 0 }));
  const left = (body() ? grown(body()) : []).map((item) => [item, 0]).reverse();
  while (left.length) {
    const [item, depth] = left.pop();
    const found = line(item, depth, { focus, active });
    nodes.set(found, item.shown ?? item.node);
    lines.push(found);
    for (const one of item.inner?.tree() ?? []) lines.push({ ...one, depth: one.depth + depth + 1 });
    for (const kid of [...item.kids ?? []].reverse()) left.push([kid, depth + 1]);
  }
  if (!NEW) return lines;
  if (!outer) distinguish(lines);
  return outlined(lines, (one) => nodes.has(one) ? hidden(nodes.get(one), one.point) : "");
};
