// Drags of the mouse: whether the browser drags something itself, and its scrolling while it selects.

const Drags = (() => {
  const { listen } = Listeners;
  const { nextFrame } = Settle;
  const { recorded } = Sight;

  // True if the browser has begun to drag something itself since the mouse was pressed.
  let begun = null;
  listen("dragstart", (event) => { begun = event; });
  const dragged = () => Boolean(begun && !begun.defaultPrevented);

  const selecting = () => Boolean(document.activeElement?.matches("input, textarea, select"))
    || getSelection().type === "Range";

  // The mouse selects text or options at the edge of the box that holds them: the browser scrolls
  // this box, by frames in real time. A list of options, and every box of an own page (it may go on
  // without an end), stays as it was when the mouse was pressed.
  let pressed = null;
  const held = new Map();
  listen("mousedown", (event) => {
    begun = null;
    pressed = event;
    held.clear();
    for (const box of event.composedPath()) {
      const stays = recorded ? box instanceof HTMLSelectElement : box instanceof Element;
      if (stays) held.set(box, [box.scrollLeft, box.scrollTop]);
    }
  });
  const stay = (box) => {
    const [left, top] = held.get(box);
    box.scrollTo({ left, top, behavior: "instant" });
  };
  const scrolling = () => pressed && !pressed.defaultPrevented && selecting();
  listen("mouseup", () => {
    if (scrolling()) [...held.keys()].forEach(stay);
    pressed = null;
  });
  listen("scroll", (event) => {
    const box = event.target === document ? document.scrollingElement : event.target;
    if (!held.has(box)) return;
    if (scrolling()) stay(box);
    const [left, top] = held.get(box);
    if (box.scrollLeft === left && box.scrollTop === top) event.stopImmediatePropagation();
  });

  const scrolled = () => [...document.querySelectorAll("*")]
    .map(({ scrollTop, scrollLeft }) => [scrollTop, scrollLeft]).join();

  // Wait until the browser scrolls no more while the mouse selects: it does so as far as it can.
  const selected = async () => {
    if (!selecting()) return;
    let [before, now] = [null, scrolled()];
    for (let count = 0; count < 100 && before !== now; count++) {
      for (let frame = 0; frame < 2; frame++) await nextFrame();
      [before, now] = [now, scrolled()];
    }
  };

  return { dragged, selected };
})();
