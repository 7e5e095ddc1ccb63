// Fonts that the page brings, on your own pages: its rules and styles that set a family are repeated with
// those fonts, stronger than the rule that gives our own to all text (page/style.js). For other families,
// those of the machine, ours stand in them.

import { Main, outer, own, plain } from "./world.js";
import { agents } from "./frames.js";
import { NEW } from "./sight.js";

const { FAMILIES } = Constants;
const OURS = "miniwob-agent";
const [base] = document.adoptedStyleSheets;

// Elements that get a family from the browser. All others inherit it.
const SET = "button, code, input, kbd, listing, math, plaintext, pre, samp, select, textarea, tt, xmp";
const OUR_FAMILIES = `var(--${OURS})`;
const RESET = `:root { --${OURS}: ${FAMILIES} !important; }
  * { font-family: inherit !important; }
  :root, :where(${SET}) { font-family: ${OUR_FAMILIES} !important; }`;

const PARTS = /"[^"]*"|'[^']*'|var\(\s*--[^\s,)]+|[^\s"'(),][^"'(),]*/g;
const DISPLAY = "font-display";
const HASTY = /fallback|optional/;
const INHERITED = /^\s*(inherit|unset|revert|revert-layer)\s*$/;
const nameOf = (family) => family.trim().replace(/^(["'])(.*)\1$/, "$2").toLowerCase();
const brought = () => [...document.fonts].filter(({ family }) => !nameOf(family).startsWith(OURS));

const variables = new Set(); // names of custom properties on which families depend
const doubleOf = (variable) => `--${OURS}${variable.slice(1)}`;

const rulesOf = (sheet) => {
  try {
    return sheet?.cssRules ?? [];
  } catch {
    Main.remark(`a style sheet of another origin can't be read, so it gives no element a font: ${sheet.href}`);
    return [];
  }
};

// The rules of a document or shadow tree that set families, with the fonts that are `known`. All are important,
// which turns the order of layers round: the strongest comes first.
const repeated = (tree, known) => {
  const layers = [""]; // the weakest first
  const rules = [];
  const layerIn = (around, name) => name.split(".").reduce((outside, part) => {
    const path = `${outside}/${part || layers.length}`;
    if (!layers.includes(path)) layers.splice(layers.indexOf(outside), 0, path);
    return path;
  }, around);
  const familiesOf = (value) => INHERITED.test(value) ? "inherit" : value.replace(PARTS, (part) => {
    if (!part.startsWith("var(")) return known.has(nameOf(part)) ? part : OUR_FAMILIES;
    const variable = part.slice(part.indexOf("--"));
    variables.add(variable);
    return `var(${doubleOf(variable)}`;
  });
  const add = (style, written, layer) => {
    for (const name of ["font-family", ...variables]) {
      const isFont = name === "font-family";
      const value = style.getPropertyValue(name);
      if (!value) continue;
      const families = familiesOf(value) + (isFont && !INHERITED.test(value) ? `, ${OUR_FAMILIES}` : "");
      const at = style.getPropertyPriority(name) ? "important" : layer;
      rules.push([at, written(`${isFont ? name : doubleOf(name)}: ${families} !important;`)]);
    }
  };
  const visit = (list, written, layer) => {
    for (const rule of list) {
      const inside = (head) => (text) => written(`${head()} { ${text} }`);
      if (rule instanceof CSSLayerStatementRule) rule.nameList.forEach((name) => layerIn(layer, name));
      else if (rule instanceof CSSLayerBlockRule) visit(rule.cssRules, written, layerIn(layer, rule.name));
      else if (rule instanceof CSSImportRule) {
        const within = rule.layerName === null ? layer : layerIn(layer, rule.layerName);
        visit(rulesOf(rule.styleSheet), inside(() => `@media ${rule.media.mediaText || "all"}`), within);
      } else if (rule instanceof CSSFontFaceRule) {
        // By real time another font would stay for good.
        if (HASTY.test(rule.style.getPropertyValue(DISPLAY))) rule.style.setProperty(DISPLAY, "swap");
      } else if (rule instanceof CSSNestedDeclarations) add(rule.style, written, layer);
      else if (rule.cssRules && !(rule instanceof CSSKeyframesRule)) {
        const into = inside(() => rule.selectorText ?? rule.cssText.slice(0, rule.cssText.indexOf("{")));
        if (rule.style) add(rule.style, into, layer);
        if (rule.cssRules.length) visit(rule.cssRules, into, layer);
      }
    }
  };
  for (const sheet of [...tree.styleSheets, ...tree.adoptedStyleSheets]) {
    if (sheet === base || made.has(sheet) || sheet.disabled) continue;
    visit(rulesOf(sheet), (text) => `@media ${sheet.media.mediaText || "all"} { ${text} }`, "");
  }
  const styled = [...tree.querySelectorAll("[style*=font], [style*='--']")];
  for (const [style, [element]] of Map.groupBy(styled, (one) => one.getAttribute("style"))) {
    add(element.style, (text) => `[style="${CSS.escape(style)}"] { ${text} }`, "style");
  }
  const order = ["important", "style", ...layers.reverse()];
  const groups = Map.groupBy(rules, ([layer]) => layer);
  const texts = order.map((layer) => (groups.get(layer) ?? []).map(([, text]) => text).join("\n"));
  return [...texts, RESET].map((text) => `@layer { ${text} }`).join("\n");
};

const made = new Set(); // sheets of ours
const sheets = new Map(); // text -> the sheet
const dressed = new WeakMap(); // document or shadow tree -> its sheet
const dress = (tree, known) => {
  let count;
  let text;
  do [count, text] = [variables.size, repeated(tree, known)]; while (variables.size > count);
  const sheet = sheets.get(text) ?? new CSSStyleSheet();
  if (!sheets.has(text)) sheet.replaceSync(text);
  sheets.set(text, sheet);
  made.add(sheet);
  const others = tree.adoptedStyleSheets.filter((one) => one !== dressed.get(tree));
  const adopted = tree.adoptedStyleSheets.includes(sheet);
  if (!adopted || dressed.get(tree) !== sheet) tree.adoptedStyleSheets = [...others, sheet];
  dressed.set(tree, sheet);
  for (const element of tree.querySelectorAll("*")) {
    const { shadowRoot } = plain(element);
    if (shadowRoot) dress(shadowRoot, known);
  }
};

// Have the fonts drawn that the page and its frames bring.
export const useFonts = () => {
  if (!NEW || !(own || outer)) return;
  const faces = brought();
  if (faces.length || made.size) dress(document, new Set(faces.map(({ family }) => nameOf(family))));
  for (const agent of agents()) agent.inside.useFonts();
};
