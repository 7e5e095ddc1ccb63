// The session ends in the middle: `task.perturb.expired` is called with each request, `{ method, path,
// body, state }`, until it has ended the session and returns true.
page.onRequest((request) => {
  if (page.kept.ended || !page.data(request)) return;
  page.kept.ended = true;
  page.applied();
});
