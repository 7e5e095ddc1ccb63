// Leaving your own pages: they may lead to each other, and to nothing else. Their author gets to
// know what they ask for and do not get. Nothing here is done on the package's pages.

import { Main, isLeaving, outer, own, plain, trial } from "./world.js";
import { listen } from "./listeners.js";

const { APP } = Constants;
const { leave, remark, routed } = Main;

// Pages that followed one another since the last reading; more than these never come to an end.
const MOST_VISITS = 20;

// Have the task answer a form that is sent by POST; its answer leads to the next page.
const post = async (url, body) => {
  const next = await Main.post(url, [...body]);
  if (next) location.assign(next);
  else remark(`the answer to the form of ${new URL(url).pathname} leads to no page: it must be `
    + 'Response.redirect("/page.html", 303)');
};

const PAGE = /^https?:/;
let announced = ""; // the address of the page that is to come

// No page has come. True if the trial has begun on this one; null if it is not one of the trial's.
export const stay = () => {
  if (!own) return null;
  if (announced) remark(`a link was not followed, as it leads to no page: ${announced}`);
  Main.stay();
  return trial.seed !== null;
};

if (own) {
  navigation.addEventListener("navigate", (event) => {
    if (event.hashChange || event.destination.sameDocument) return;
    if (event.formData && routed("POST", event.destination.url)) {
      event.preventDefault();
      post(event.destination.url, event.formData);
      return;
    }
    if (trial.count === MOST_VISITS) {
      event.preventDefault();
      trial.fault ??= "it is one of pages that lead to each other without end";
    } else if (event.downloadRequest !== null) {
      event.preventDefault();
      if (APP) Main.download(event.destination.url, event.downloadRequest);
      else remark(`a download was refused: ${event.destination.url}`);
    } else if (!PAGE.test(event.destination.url)) {
      event.preventDefault();
      remark(`a link to ${event.destination.url.replace(/:.*/s, ":")} was not followed`);
    } else {
      announced = event.destination.url;
      leave();
    }
  });
  // Whoever is asked then is let go (devtools.py), but a program may not answer. Where it goes back or forward,
  // the event `navigate` comes only when the other page is there.
  listen("beforeunload", (event) => {
    if (trial.watched) event.stopImmediatePropagation();
    if (!APP && !isLeaving()) Main.handOver();
  });
}

if (own || outer) {
  // There is one window, but on apps: links and forms that name another one open in it.
  const stayHere = (element, attribute) => {
    const name = plain(element)?.getAttribute(attribute)
      ?? document.querySelector("base[target]")?.target;
    const known = !name || /^_(self|parent|top)$/i.test(name)
      || [window, parent, top].some(({ document: one }) =>
        one.querySelector(`:is(iframe, frame)[name="${CSS.escape(name)}"]`));
    if (element && !known) plain(element).setAttribute(attribute, "_self");
  };
  const followed = (event) => {
    const link = event.composedPath().find((one) => one instanceof Element && one.matches("a[href], area[href]"));
    if (APP || event.button === 2) return;
    stayHere(link, "target");
    if (link && (event.button || event.ctrlKey || event.metaKey || event.shiftKey) && event.isTrusted) {
      event.preventDefault();
      remark(`a link was to open in another window, and was not followed: ${link.href}`);
    }
  };
  listen("click", followed);
  listen("auxclick", followed);
  listen("submit", ({ target, submitter }) => {
    if (APP) return;
    stayHere(target, "target");
    if (submitter?.hasAttribute("formtarget")) stayHere(submitter, "formtarget");
  });
}
