// The style of the page: the same fonts for everything, and no motion on pages of the package. `FONTS` is
// empty if the browser finds the fonts by itself.

import { outer, own } from "./trial.js";

const { FAMILIES, FONTS, SCREENS } = Constants;

// TrueType files in Base64, or addresses to load them from when a character needs it. One weight for
// all, so that widths are the same if the browser finds the files itself.
for (const [family, source, unicodeRange] of FONTS) {
  const file = source.startsWith("url(") ? source : Uint8Array.fromBase64(source);
  document.fonts.add(new FontFace(family, file, { unicodeRange }));
}
export const sheet = new CSSStyleSheet();
sheet.replaceSync(`* {
  font-family: ${FAMILIES} !important;
  font-synthesis: none !important;
  caret-color: transparent !important;
  ${own || outer ? "" : "transition: none !important; animation: none !important;"}
  ${SCREENS >= 2 ? "interest-delay: 0s !important;" : "" /* in real time */}
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
