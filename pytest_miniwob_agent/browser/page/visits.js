// Pages of one's own, which may lead to each other: what a page of a trial hands over to the next,
// and what they ask for and do not get. Nothing here is done on the package's pages.

const own = window === top && location.host === OWN_HOST;

// What the page before in this trial has handed over; null on the first page of a trial.
const HANDED = "miniwob-agent";
let handed = null;
if (own) {
  handed = JSON.parse(sessionStorage.getItem(HANDED));
  sessionStorage.removeItem(HANDED);
}

// What the author of the page should know, for the next reading.
const remarks = handed?.remarks ?? [];
const remark = (text) => void (remarks.includes(text) || remarks.push(text));

// True where everything that shows is read, for the length of a trial.
let full = handed?.full ?? false;

// Pages that followed one another since the last reading; more than `MOST_VISITS` never come to an end.
const MOST_VISITS = 20;
let visits = handed?.visits ?? 0;
let broken = handed?.fault ?? null; // the reason why a page of this trial can't be a task

// True from the moment at which another page is to be loaded. No time passes any more.
let leaving = false;

// The error that a script of the page has thrown, with its place.
const shownError = (error) => {
  if (!(error instanceof Error)) return String(error);
  const [, file, line] = /:\/\/[^/\s]+\/([^\s:)]*):(\d+):\d+/.exec(error.stack ?? "") ?? [];
  const place = line ? ` (line ${line} of ${file || "index.html"})` : "";
  return `${error.name}: ${error.message}${place}`;
};

// True if an address leads to a page of the folder; otherwise its author gets to know.
const { open: openRequest, send: sendRequest } = XMLHttpRequest.prototype;
const leadsToPage = (address) => {
  const { protocol, host, pathname } = new URL(address);
  if (protocol !== location.protocol || host !== location.host) {
    remark(`a link leads out of the folder and was not followed: ${address}`);
    return false;
  }
  const request = new XMLHttpRequest();
  openRequest.call(request, "HEAD", address, false);
  sendRequest.call(request);
  if (request.status !== 200) {
    remark(`a link leads to a page that is not in the folder, and was not followed: ${pathname}`);
    return false;
  }
  const page = /^(text\/html|application\/xhtml\+xml)/.test(request.getResponseHeader("content-type"));
  if (!page) remark(`a link leads to a file that is not a page, and was not followed: ${pathname}`);
  return page;
};

if (own) {
  navigation.addEventListener("navigate", (event) => {
    if (event.hashChange || event.destination.sameDocument) return;
    if (visits === MOST_VISITS) {
      event.preventDefault();
      broken ??= "it is one of pages that lead to each other without end";
    } else if (event.downloadRequest !== null) {
      event.preventDefault();
      remark(`a download was refused: ${event.destination.url}`);
    } else if (event.navigationType !== "traverse" && !leadsToPage(event.destination.url)) {
      event.preventDefault();
    } else {
      leaving = true;
      handOver(); // again when it is hidden; but a document that is written anew does not hear of that
    }
  });
  const { intercept } = NavigateEvent.prototype;
  NavigateEvent.prototype.intercept = function (...options) { // the page shows the next one itself
    intercept.apply(this, options);
    leaving = false;
    sessionStorage.removeItem(HANDED);
  };

  // There is one window: links and forms that name another one open in it.
  const stayHere = (element, attribute) => {
    const name = element?.getAttribute(attribute) ?? document.querySelector("base[target]")?.target;
    const known = !name || /^_(self|parent|top)$/i.test(name)
      || document.querySelector(`iframe[name="${CSS.escape(name)}"]`);
    if (element && !known) element.setAttribute(attribute, "_self");
  };
  window.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href], area[href]");
    stayHere(link, "target");
    if (link && (event.ctrlKey || event.metaKey || event.shiftKey) && event.isTrusted) {
      event.preventDefault();
      remark(`a link was to open in another window, and was not followed: ${link.href}`);
    }
  }, true);
  window.addEventListener("submit", ({ target, submitter }) => {
    stayHere(target, "target");
    if (submitter?.hasAttribute("formtarget")) stayHere(submitter, "formtarget");
  }, true);
  // Nobody is there to be asked before the page is left.
  window.addEventListener("beforeunload", (event) => event.stopImmediatePropagation(), true);
  if (navigator.serviceWorker) {
    ServiceWorkerContainer.prototype.register = (script) => {
      remark(`a service worker was refused: ${script}`);
      return Promise.reject(new DOMException("service workers are refused", "SecurityError"));
    };
  }

  window.addEventListener("securitypolicyviolation", ({ blockedURI, effectiveDirective }) => {
    remark(`asked for what is not in the folder: ${blockedURI} (${effectiveDirective})`);
  }, true);
  window.addEventListener("error", (event) => {
    if (event.error || event.message) remark(`a script failed: ${shownError(event.error ?? event.message)}`);
  }, true);
  window.addEventListener("unhandledrejection", ({ reason }) => {
    remark(`a promise was rejected: ${shownError(reason)}`);
  }, true);
}

// Requests of scripts, which are answered in the order in which they were made. `requests` counts
// them; `answered` waits for those that are under way.
let requests = 0;
let open = 0;
let waiting = [];
const over = () => {
  if (--open === 0) waiting.splice(0).forEach((resolve) => resolve());
};
const answered = () => open ? new Promise((resolve) => waiting.push(resolve)) : null;
if (own) {
  const { fetch } = window;
  let last = Promise.resolve();
  window.fetch = (...args) => {
    requests++;
    open++;
    const response = last.then(async () => {
      const found = await fetch(...args);
      const body = [101, 204, 205, 304].includes(found.status) ? null : await found.arrayBuffer();
      const { status, statusText, headers, url, redirected } = found;
      const whole = new Response(body, { status, statusText, headers });
      return Object.defineProperties(whole, { url: { value: url }, redirected: { value: redirected } });
    });
    last = response.then(over, over);
    return response;
  };
  XMLHttpRequest.prototype.send = function (...args) {
    requests++;
    open++;
    this.addEventListener("loadend", over, { once: true });
    try {
      return sendRequest.apply(this, args);
    } catch (error) { // it was not sent, or did not get through while the page waited
      if (this.readyState !== XMLHttpRequest.DONE) over();
      throw error;
    }
  };
}

// Wait for the tasks that scripts have queued, and those that these queue, so many times, in real time:
// frameworks draw in such tasks.
const queued = async (times = 5) => {
  for (let count = 0; count < times; count++) {
    await new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    });
  }
};

// The number of files that a page has got, where its modules may load others at any time.
const files = () => document.querySelector("script[type=module]")
  ? performance.getEntriesByType("resource").length : 0;

// Wait until an own page has got what it asked for, and has drawn.
const quiet = async () => {
  let known;
  do {
    known = files();
    await answered();
    for (let count = known ? 2 : 1; count > 0; count--) {
      await queued();
      await new Promise(realFrame);
    }
    await queued();
  } while ((open || files() > known) && !leaving);
};
