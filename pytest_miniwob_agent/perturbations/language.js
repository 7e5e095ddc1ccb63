// The interface is in another language: `task.perturb.language` has its texts by those of the page.
page.begin(() => page.translate(page.data));
