// The page is enlarged, so that less of it fits into the window.
page.begin(() => {
  document.documentElement.style.zoom = page.kept.zoom ??= page.pick([1.25, 1.5, 1.75]);
  page.applied();
});
