// Drags of the mouse: whether the browser drags something itself, and the end of its scrolling.

const Drags = (() => {
  const { listen } = Listeners;
  const { nextFrame } = Settle;

  // True if the browser has begun to drag something itself since the mouse was pressed.
  let begun = null;
  listen("mousedown", () => { begun = null; });
  listen("dragstart", (event) => { begun = event; });
  const dragged = () => Boolean(begun && !begun.defaultPrevented);

  const scrolled = () => [...document.querySelectorAll("*")]
    .map(({ scrollTop, scrollLeft }) => [scrollTop, scrollLeft]).join();

  // Wait in real time until a selection by the mouse scrolls nothing any more: the browser scrolls
  // by frames, as far as it can.
  const selected = async () => {
    const field = document.activeElement?.matches("input, textarea");
    if (!field && getSelection().type !== "Range") return;
    let [before, now] = [null, scrolled()];
    for (let count = 0; count < 100 && before !== now; count++) {
      for (let frame = 0; frame < 2; frame++) await nextFrame();
      [before, now] = [now, scrolled()];
    }
  };

  return { dragged, selected };
})();
