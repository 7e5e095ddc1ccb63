// The first request that changes something is refused, before anything is changed. Which one, and how,
// `task.perturb.failing` may say: `{ request: "POST /api/pay", status: 402, body: {...} }`.
page.onRequest(({ method, path }) => {
  const { request, status = 503, body = { error: "The service is not available." } } = page.data ?? {};
  const meant = request ? request === `${method} ${path}` : !/^(GET|HEAD)$/.test(method);
  if (!meant || page.kept.refused) return;
  page.kept.refused = true;
  page.applied();
  return Response.json(body, { status });
});
