// Labels are other words of the same meaning: `task.perturb.reworded` has them by those of the page.
page.begin(() => page.translate(page.data));
