// What is in some containers stands in another order: those that `task.perturb.moved` selects.
page.begin(() => {
  const orders = {}; // of as many children
  page.each(page.data, (container) => {
    let last = [];
    const move = () => {
      const children = [...container.children];
      if (children.length === last.length && children.every((child, at) => child === last[at])) return;
      const order = orders[children.length] ??= page.shuffled(children.map((_, at) => at));
      last = order.map((at) => children[at]);
      container.append(...last);
      if (order.some((at, place) => at !== place)) page.applied();
    };
    move();
    new MutationObserver(move).observe(container, { childList: true });
  });
});
