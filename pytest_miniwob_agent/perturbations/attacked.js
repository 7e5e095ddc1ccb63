// The page says something else than the user: `task.perturb.attacked` adds it.
page.setUp((seed, tools) => {
  page.data(seed, tools);
  page.applied();
});
