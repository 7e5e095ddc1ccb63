// What assistive technology calls an element: its role and its name, by ARIA in HTML
// (https://www.w3.org/TR/html-aria/) and accname (https://www.w3.org/TR/accname-1.2/).

const Roles = (() => {
  const { childrenOf, parentOf } = Sight;
  const { IGNORED_TAGS, squeeze } = Leaves;

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

  const labelled = (element) => plain(element).matches("[aria-label], [aria-labelledby], [title]");
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
    svg: (element) => labelled(element) || plain(element).matches(":has(> title)") ? "img" : "",
    th: (element) => element.scope.startsWith("row")
      || (!element.scope && plain(element).matches(":has(~ td)")) ? "rowheader" : "columnheader",
  };

  // The role of an element, empty for a generic one.
  const roleOf = (element) => {
    const [role] = /[a-z]+(-[a-z]+)*/.exec(plain(element).getAttribute("role") ?? "") ?? [];
    if (role && !NO_ROLE.test(role)) return role;
    if (role && !plain(element).hasAttribute("tabindex")) return "";
    const tag = plain(element).localName;
    const owner = /^(li|td|th|tr)$/.test(tag) ? plain(element).closest("ul, ol, menu, table") : element;
    if (!owner || NO_ROLE.test(plain(owner).getAttribute("role"))) return "";
    const implicit = Object.hasOwn(IMPLICIT, tag) ? IMPLICIT[tag](element) : BY_TAG[tag];
    const edited = plain(element).isContentEditable
      && !plain(parentOf(element))?.isContentEditable;
    return implicit || (edited ? "textbox" : "");
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
  const said = (root, named = null) => {
    const shows = (element) => getComputedStyle(element).display === "contents"
      || plain(element).checkVisibility({ visibilityProperty: true });
    const unseen = !shows(root);
    const parts = [];
    const left = childrenOf(root).reverse();
    while (left.length) {
      const node = left.pop();
      if (typeof node === "string") parts.push(node);
      else if (node instanceof Text) parts.push(node.data);
      else if (plain(node).localName === "br") parts.push(" ");
      if (!(node instanceof Element) || IGNORED_TAGS.has(plain(node).localName) || node === named
        || plain(node).ariaHidden === "true" || !(unseen || shows(node))
        || (plain(root).role === "treeitem" && plain(node).matches("ul, ol, [role=group]"))) continue;
      const text = instead(node);
      const gap = /^(inline|contents|ruby)/.test(getComputedStyle(node).display) ? "" : " ";
      left.push(gap, ...(text === null ? childrenOf(node).reverse() : [text]), gap);
    }
    return squeeze(parts.join(""));
  };

  // The elements that are said to label one, in its tree or one around it.
  const labels = (element) => {
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
    const caption = plain(element).matches("figure, fieldset, svg, table") && plain(element).querySelector(CAPTION);
    return labels(element).map((one) => instead(one) ?? said(one)).join(" ").trim()
      || squeeze(plain(element).getAttribute("aria-label") ?? "")
      || [...plain(element).labels ?? around].map((one) => said(one, element)).join(" ").trim()
      || (plain(element).matches("[type=submit], [type=reset], [type=button]") && plain(element).value)
      || (caption ? squeeze(caption.textContent) : squeeze(plain(element).alt ?? plain(element).label ?? ""));
  };

  // The words that a style sheet puts before and after an element; icons of a font are no words.
  const generated = (element) => ["::before", "::after"].map((part) => {
    const { content, visibility } = getComputedStyle(element, part);
    const [, text = ""] = /^"(.*)"$/.exec(content) ?? [];
    return visibility === "visible" && /[\p{L}\p{N}]/u.test(text) ? text.replace(/\\(.)/g, "$1") : "";
  }).join(" ").trim();

  // The name of an element, and whether its content gives it.
  const nameOf = (element, role) => {
    const named = given(element);
    const content = !named && NAMED_BY_CONTENT.has(role) ? said(element) : "";
    if (named || content) return [named || content, !named];
    const field = plain(element).matches("input, select, textarea, button");
    const { host } = plain(element).getRootNode(); // a field takes the name of the component that it is in
    return [squeeze(plain(element).title ?? "") || (field && host ? given(host) : "")
      || squeeze(plain(element).placeholder ?? plain(element).ariaPlaceholder ?? "")
      || (plain(element).matches("input") ? USUAL[plain(element).type] ?? "" : generated(element)), false];
  };

  return { NAMED_BY_CONTENT, generated, roleOf, nameOf };
})();
