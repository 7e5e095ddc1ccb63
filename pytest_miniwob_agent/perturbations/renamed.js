// Ids and classes have other names, and nothing that shows is changed. Scripts and style sheets of the page
// go on by the old names.
const [names, olds] = [new Map(), new Map()]; // old name -> new one, and back
const old = (text) => text && text.split(" ").map((name) => olds.get(name) ?? name).join(" ");
const fresh = (name) => {
  if (olds.has(name) || /^(ui|jquery)-/.test(name)) return name;
  if (!names.has(name)) {
    names.set(name, `x${Math.floor(page.random() * 2 ** 32).toString(36)}`);
    olds.set(names.get(name), name);
    page.applied();
  }
  return names.get(name);
};
// Both names in a selector, outside of its brackets.
const both = (selector) => String(selector).replace(/\[[^\]]*\]|([.#])([\w-]+)/g, (whole, sign, name) =>
  names.has(name) ? `:is(${sign}${name}, ${sign}${names.get(name)})` : whole);

const { querySelectorAll, getAttribute, setAttribute } = Element.prototype;
const written = new WeakMap(); // rule -> its selector
const rewrite = (rules) => {
  for (const rule of rules) {
    if (rule.cssRules?.length) rewrite(rule.cssRules);
    if (!rule.selectorText) continue;
    if (!written.has(rule)) written.set(rule, rule.selectorText);
    const selector = both(written.get(rule));
    if (selector !== written.get(rule)) rule.selectorText = selector;
  }
};
// Scripts may use an element by its id, as a variable.
const offer = (name) => Object.defineProperty(window, name, {
  get: () => document.getElementById(name) ?? undefined,
  set: (value) => { Object.defineProperty(window, name, { value, writable: true }); },
  configurable: true,
});
const NAMING = ["id", "class", "for", "list", "aria-labelledby", "aria-describedby", "aria-controls"];
const rename = () => {
  const root = page.root;
  if (!root || !begun) return;
  const before = names.size;
  for (const element of querySelectorAll.call(root, NAMING.map((name) => `[${name}]`).join())) {
    for (const attribute of NAMING) {
      const value = getAttribute.call(element, attribute);
      const said = value?.trim() && value.trim().split(/\s+/).map(fresh).join(" ");
      if (attribute === "id" && said !== value && window[value] === element) offer(value);
      if (said && said !== value) setAttribute.call(element, attribute, said);
    }
  }
  if (names.size !== before) for (const sheet of document.styleSheets) rewrite(sheet.cssRules);
};
let begun = false;
page.begin(() => { begun = true; });
page.always(rename);

// What scripts ask for by a name, or hear of. Libraries test whether these functions are the browser's own.
const replace = (owner, name, make) => {
  const plain = owner.prototype[name];
  const made = make((self, ...values) => plain.apply(self, values));
  owner.prototype[name] = new Proxy(plain, { apply: (_, self, values) => made.apply(self, values) });
};
for (const owner of [Document, DocumentFragment, Element]) {
  for (const name of ["querySelector", "querySelectorAll", "matches", "closest"]) {
    if (owner.prototype[name]) replace(owner, name, (plain) => function (selector) {
      rename();
      return plain(this, both(selector));
    });
  }
}
replace(Document, "getElementById", (plain) => function (id) {
  rename();
  return plain(this, names.get(id) ?? id) ?? plain(this, id);
});
for (const owner of [Document, Element]) {
  replace(owner, "getElementsByClassName", () => function (list) {
    return this.querySelectorAll(String(list).trim().split(/\s+/).map((name) => `.${CSS.escape(name)}`).join(""));
  });
}
replace(Element, "getAttribute", (plain) => function (name) {
  const value = plain(this, name);
  return NAMING.includes(name) ? old(value) : value;
});
for (const [owner, name] of [[Element, "id"], [Element, "className"], [HTMLLabelElement, "htmlFor"]]) {
  const { get, set } = Object.getOwnPropertyDescriptor(owner.prototype, name);
  Object.defineProperty(owner.prototype, name, {
    get() { return old(get.call(this)); },
    set,
    configurable: true,
    enumerable: true,
  });
}
const has = DOMTokenList.prototype.contains;
const holds = (list, name) => has.call(list, name) || has.call(list, names.get(name) ?? name);
replace(DOMTokenList, "contains", () => function (name) { return holds(this, name); });
replace(DOMTokenList, "remove", (plain) => function (...given) {
  plain(this, ...given, ...given.map((name) => names.get(name) ?? name));
});
replace(DOMTokenList, "add", (plain) => function (...given) {
  plain(this, ...given.filter((name) => !holds(this, name)));
});
replace(DOMTokenList, "replace", (plain) => function (name, other) {
  return plain(this, has.call(this, name) ? name : names.get(name) ?? name, other);
});
DOMTokenList.prototype.toggle = function (name, force = !holds(this, name)) {
  this[force ? "add" : "remove"](name);
  return force;
};
