// What can be used, or what `task.perturb.late` selects, is not on the first screen: it comes 1 to 4
// seconds after it.
page.begin(() => {
  if (page.kept.come) return;
  const wanted = page.data ?? "button, input, select, textarea, a";
  const show = page.hide(wanted);
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.textContent = "Loading…";
  page.root.append(status);
  page.shown(() => {
    if (document.querySelector(wanted)) page.applied();
    page.later(1000 + 3000 * page.random(), () => {
      page.kept.come = true;
      status.remove();
      show();
    });
  });
});
