// Waiting until the consequences of an action are over: `SETTLE` ms of the page's clock, twice, and
// the few things that take real time (images, the browser's own frames).

// All images, for which a page waits in real time.
const images = [];
const drawn = () => Promise.all([...document.images, ...images].map((image) => image.complete
  || (image.loading === "lazy" && own)
  || new Promise((resolve) => {
    image.addEventListener("load", resolve);
    image.addEventListener("error", resolve);
  })));
const loaded = async () => {
  if (own) await quiet();
  await drawn();
};

// Load images that appear only by a rule such as :hover. Otherwise the element would have no size
// while its image loads, and the click would go through it.
const preload = () => {
  for (const sheet of document.styleSheets) {
    if (sheet.href && !own) continue; // not readable from file://; jquery-ui's, backgrounds only
    if (sheet.href && new URL(sheet.href).origin !== location.origin) continue; // was not loaded
    for (const { cssText } of sheet.cssRules) {
      for (const [, url] of cssText.matchAll(/url\("([^"]+)"\)/g)) {
        const image = new Image();
        image.src = own ? new URL(url, sheet.href ?? document.baseURI) : url;
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

const settle = () => whileAsking(async () => {
  await loaded();
  await pass(SETTLE);
  await hover();
  await pass(SETTLE);
  await loaded();
});

// Settle; again where the page has asked for something meanwhile, as it may show that only now.
const whileAsking = async (settling) => {
  for (let count = 0; count < 3; count++) {
    const before = requests;
    await settling();
    if (requests === before || leaving) break;
  }
};

// The same for readers of everything that shows, who can wait themselves (`wait`): time passes only
// until the page rests. Where it moved before the action, by itself, just a frame passes, or what
// moves would be gone before it could be clicked.
const FINE_FRAME = 20; // ms
let moving = false;
const settleFinely = () => whileAsking(async () => {
  frame = FINE_FRAME;
  await loaded();
  for (let count = 0; count < 2; count++) {
    if (!moving) await rest();
    else if (count === 0) await pass(frame);
    if (count === 0) await hover();
  }
  await loaded();
  moving = restless();
});

// Let exactly so many ms pass; where everything that shows is read, with the changes meanwhile.
const wait = async (duration, detailed) => {
  const watch = detailed ? watchChanges() : null;
  for (const end = now + duration; now < end && !leaving;) {
    await pass(detailed ? Math.min(WATCH, end - now) : duration);
    watch?.();
  }
  await hover();
  await loaded();
  moving = restless();
};

// Let up to so many ms pass while the pointer is near the middle of an element that moves. Returns the
// rest of them and the point to move to; null for a point where all have passed or the element is gone.
const follow = async (id, left) => {
  const element = byId.get(id);
  while (left > 0 && !leaving && !top.WOB_DONE_GLOBAL) {
    const aimed = element.isConnected ? target(element) : null;
    if (!aimed) break;
    const { width, height } = extent(element);
    const away = pointer ? Math.hypot(aimed[0] - pointer[0], aimed[1] - pointer[1]) : Infinity;
    if (away > Math.min(width, height) / 4) return [left, aimed];
    const step = Math.min(frame, left);
    await pass(step);
    left -= step;
  }
  return [left, null];
};

// Wait for a few frames: a list, for instance, scrolls back to its last selection so much later.
const frames = async () => {
  for (let count = 0; count < 3; count++) await new Promise(realFrame);
};
