// Time that passes as an agent asks for it: for `Wait`, and while the pointer follows an element.

const Waiting = (() => {
  const { frame, pass, restless, time } = Main;
  const { hover, loaded } = Settle;
  const { extent, target } = Sight;
  const { byId } = Leaves;
  const { WATCH, watchChanges } = Changes;

  // Let exactly so many ms pass; where everything that shows is read, with the changes meanwhile.
  const wait = async (duration, detailed) => {
    const watch = detailed ? watchChanges() : null;
    for (const end = time() + duration; time() < end && !Visit.leaving;) {
      await pass(detailed ? Math.min(WATCH, end - time()) : duration);
      watch?.();
    }
    await hover();
    await loaded();
    Settle.moving = restless();
  };

  // Let up to so many ms pass while the pointer is near the middle of an element that moves.
  // Returns the rest of them and the point to move to; null where all have passed or the element is
  // gone.
  const follow = async (id, left) => {
    const element = byId.get(id);
    while (left > 0 && !Visit.leaving && !Main.over()) {
      const aimed = plain(element).isConnected ? target(element) : null;
      if (!aimed) break;
      const { width, height } = extent(element);
      const [x, y] = Settle.pointer ?? [Infinity, Infinity];
      const away = Math.hypot(aimed[0] - x, aimed[1] - y);
      if (away > Math.min(width, height) / 4) return [left, aimed];
      const step = Math.min(frame(), left);
      await pass(step);
      left -= step;
    }
    return [left, null];
  };

  return { wait, follow };
})();
