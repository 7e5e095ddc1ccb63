// Waiting until the consequences of an action are over: `SETTLE` ms of the page's clock, twice, and
// the few things that take real time (images, the browser's own frames).

import { Main, isLeaving, own } from "./world.js";
import { listen } from "./listeners.js";
import { NEW } from "./sight.js";
import { agents, arrived, placement, unseal } from "./frames.js";
import { useFonts } from "./fonts.js";

const { SETTLE } = Constants;
const { pass, quiet } = Main;

export const live = {
  moving: false, // true if the page moves by itself
  /** @type {[number, number] | null} */
  pointer: null, // where the mouse was last moved
};

// Wait for the browser's next frame, in real time.
const nextFrame = () => new Promise(requestAnimationFrame);

// All images, for which a page waits in real time.
const images = [];
const shown = () => [document, ...agents().map((agent) => agent.inside.document)];
const drawn = () => Promise.all([...shown().flatMap((one) => [...one.images]), ...images].map((image) => image.complete
  || (image.loading === "lazy" && own)
  || new Promise((resolve) => {
    image.addEventListener("load", resolve);
    image.addEventListener("error", resolve);
  })));
// Fonts, which the browser asks for when a layout has characters of theirs, one after the other.
const lettered = async () => {
  const loading = shown().filter((one) => one.fonts.size).flatMap((one) => {
    one.body?.getBoundingClientRect();
    return [...one.fonts].filter((face) => face.status === "loading");
  });
  await Promise.allSettled(loading.map((face) => face.loaded));
  if (!loading.length) return;
  await Promise.all(shown().map((one) => one.fonts.ready)); // for scripts of the page that wait for it
  await lettered();
};
// Animations in SVG use the page's clock, from when they first appear.
const begun = new WeakMap();
const animated = () => shown().forEach((one) => {
  for (const svg of one.querySelectorAll("svg:has(animate, animateTransform, animateMotion, set)")) {
    if (svg.ownerSVGElement) continue; // it uses the outer one's clock
    if (!begun.has(svg)) begun.set(svg, Main.time());
    svg.pauseAnimations();
    svg.setCurrentTime((Main.time() - begun.get(svg)) / 1000);
  }
});
export const loaded = async () => {
  if (own) animated();
  if (NEW) unseal();
  await (own ? quiet() : arrived());
  await drawn();
  useFonts();
  await lettered();
};

// Load images that appear only by a rule such as :hover. Otherwise the element would have no size
// while its image loads, and the click would go through it.
export const preload = () => {
  if (Constants.APP) return; // pictures that may never show; an app may not even have them
  for (const sheet of document.styleSheets) {
    if (sheet.href && !own) continue; // jquery-ui's, with backgrounds only
    if (sheet.href && new URL(sheet.href).origin !== location.origin) continue; // was not loaded
    for (const { cssText } of sheet.cssRules) {
      for (const [, url] of cssText.matchAll(/url\("([^"]+)"\)/g)) {
        const image = new Image();
        image.src = own ? String(new URL(url, sheet.href ?? document.baseURI)) : url;
        images.push(image); // without a reference the browser would drop it again
      }
    }
  }
};

// Wait for the next frame, a matter of real time, if another element is under a pointer at rest
// than the one that was last notified: the browser does that with its frame. `:hover` may match
// before, since a click looks up what is under the pointer.
let notified = null;
listen("mouseover", ({ isTrusted, target }) => { if (isTrusted) notified = target; });
listen("mousemove", (event) => {
  const { x, y } = placement().transformPoint({ x: event.clientX, y: event.clientY });
  live.pointer = [x, y];
});
export const hover = async () => {
  if (live.pointer && document.elementFromPoint(...live.pointer) !== notified) await nextFrame();
};

export const settle = () => whileAsking(async () => {
  await loaded();
  await pass(SETTLE);
  await hover();
  await pass(SETTLE);
  await loaded();
});

// Settle; again if the page has asked for something meanwhile, as it may show that only now,
// or has no answer yet.
export const whileAsking = async (settling) => {
  if (!own) return await settling(); // pages of the package ask for nothing
  await pass(0); // requests of the action itself are made by then
  for (let count = 0; count < 3; count++) {
    const before = Main.requested();
    await settling();
    if ((Main.requested() === before && !Main.due()) || isLeaving()) break;
  }
};

// Wait for so many frames: a list, for instance, scrolls back to its last selection after three.
export const frames = async (count = 3) => { for (; count > 0; count--) await nextFrame(); };
