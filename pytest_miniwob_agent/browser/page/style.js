// The style of the page: the same fonts for everything, and no motion on pages of the package. `FONTS` is
// empty where the browser finds the fonts by itself.

const Style = (() => {
  const { FAMILIES, FONTS } = Constants;

  // A TrueType file in Base64, or an address to load it from when a character needs it.
  const bytes = (source) => {
    if (source.startsWith("url(")) return source;
    return Uint8Array.fromBase64 // many times faster; Chromium 140 and later
      ? Uint8Array.fromBase64(source).buffer
      : Uint8Array.from(atob(source), (character) => character.charCodeAt(0)).buffer;
  };
  // One weight for all, so that widths are the same where the browser finds the files itself.
  for (const [family, source, unicodeRange] of FONTS) {
    document.fonts.add(new FontFace(family, bytes(source), { unicodeRange }));
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* {
  font-family: ${FAMILIES} !important;
  font-synthesis: none !important;
  caret-color: transparent !important;
  ${Motion.active ? "" : "transition: none !important; animation: none !important;"}
  scroll-behavior: auto !important;
}
/* Widths as in the font, on any machine; not in pictures, where text that is scaled to size 0
   would get a size. */
* { text-rendering: geometricPrecision !important; }
svg, svg * { text-rendering: auto !important; }
/* The corner by which a text area is resized: versions of Chromium draw their own differently. */
::-webkit-resizer { background: linear-gradient(135deg, transparent 60%, #999 60%); }
/* Flight tasks: exactly as high as the viewport, so that all of the frame can be clicked. */
iframe#wrap { position: fixed !important; inset: 0 !important; height: 100vh !important; }`);
  document.adoptedStyleSheets = [sheet];

  // Shadow trees have styles of their own: `dress` gives ours to those that a parser has made.
  const sheets = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, "adoptedStyleSheets");
  const give = (root, others) => {
    Motion.add(root, Roots.getAnimations);
    apply(sheets.set, root, [Arrays.concat([], others, sheet)]);
  };
  const dress = () => {
    const trees = [Documents.querySelectorAll(document, "*")];
    for (let at = 0; at < trees.length; at++) {
      for (let number = 0; number < Lists.length(trees[at]); number++) {
        const root = Elements.shadowRoot(trees[at][number]);
        if (!root) continue;
        give(root, Arrays.filter(apply(sheets.get, root, []), (one) => one !== sheet));
        Arrays.push(trees, Fragments.querySelectorAll(root, "*"));
      }
    }
  };
  if (Visit.own || Visit.outer) {
    const { attachShadow } = Element.prototype;
    Object.defineProperty(ShadowRoot.prototype, "adoptedStyleSheets", {
      ...sheets,
      set(value) { give(this, value); },
    });
    Element.prototype.attachShadow = function (...options) {
      const root = apply(attachShadow, this, options);
      give(root, []);
      return root;
    };
  }

  return { dress };
})();
