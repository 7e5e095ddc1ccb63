// What is in some containers stands in another order: those that `task.perturb.moved` selects.
page.begin(() => {
  const orders = {}; // of as many children
  const draw = (places) => {
    const order = page.shuffled(places);
    return places.length > 1 && String(order) === String(places) ? draw(places) : order;
  };
  page.each(page.data, (container) => {
    let last = [];
    const move = () => {
      const children = [...container.children];
      if (children.length === last.length && children.every((child, at) => child === last[at])) return;
      const order = orders[children.length] ??= draw(children.map((_, at) => at));
      last = order.map((at) => children[at]);
      container.append(...last);
      if (children.length > 1) page.applied();
    };
    move();
    new MutationObserver(move).observe(container, { childList: true });
  });
});
