// The first click that is not into a field does nothing.
page.onClick(({ target }) => {
  if (page.kept.swallowed || target.closest?.("textarea, select, input:not([type=button], [type=submit])")) return false;
  page.applied();
  return page.kept.swallowed = true;
});
