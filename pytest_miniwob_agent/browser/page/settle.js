// Waiting until the consequences of an action are over: `SETTLE` ms of the page's clock, twice, and
// the few things that take real time (images, the browser's own frames).

// All images, for which a page waits in real time.
const images = [];
const loaded = () => Promise.all([...document.images, ...images].map((image) => image.complete
  || new Promise((resolve) => {
    image.addEventListener("load", resolve);
    image.addEventListener("error", resolve);
  })));

// Load images that appear only by a rule such as :hover. Otherwise the element would have no size
// while its image loads, and the click would go through it.
const preload = () => {
  for (const sheet of document.styleSheets) {
    if (sheet.href) continue; // not readable from file://; jquery-ui's, backgrounds only
    for (const { cssText } of sheet.cssRules) {
      for (const [, url] of cssText.matchAll(/url\("([^"]+)"\)/g)) {
        const image = new Image();
        image.src = url;
        images.push(image); // without a reference the browser would drop it again
      }
    }
  }
};

// Wait for the next frame, a matter of real time, where the layout has changed under a pointer at
// rest: the browser notifies the page with that frame.
let pointer = null;
window.addEventListener("mousemove", (event) => { pointer = [event.clientX, event.clientY]; }, true);
const hover = async () => {
  if (!pointer) return;
  const under = document.elementFromPoint(...pointer);
  const hovered = [...document.querySelectorAll(":hover")].pop() ?? null;
  if (under !== hovered) await new Promise(realFrame);
};

const settle = async () => {
  await loaded();
  await pass(SETTLE);
  await hover();
  await pass(SETTLE);
  await loaded();
};

// Wait for a few frames: a list, for instance, scrolls back to its last selection so much later.
const frames = async () => {
  for (let count = 0; count < 3; count++) await new Promise(realFrame);
};
