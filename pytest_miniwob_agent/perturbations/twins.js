// Something else has an equal label, and the goal says which is meant: `task.perturb.twins` adds it.
page.setUp((seed, tools) => {
  page.data(seed, tools);
  page.applied();
});
