// Requests of scripts on your own pages, which are answered in the order in which they were made.

const Requests = (() => {
  const { own } = Visit;
  const { nextFrame, queued } = Clock;

  const { send: plainSend } = XMLHttpRequest.prototype; // for our own requests
  // `count` is the number of requests; `answered` waits for those that are under way.
  let count = 0;
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
      count++;
      open++;
      const response = last.then(async () => {
        const found = await fetch(...args);
        const body = [101, 204, 205, 304].includes(found.status) ? null : await found.arrayBuffer();
        const { status, statusText, headers, url, redirected } = found;
        return Object.defineProperties(new Response(body, { status, statusText, headers }),
          { url: { value: url }, redirected: { value: redirected } });
      });
      last = response.then(over, over);
      return response;
    };
    const sent = new Set(); // requests that are under way
    const end = (request) => sent.delete(request) && over();
    const { open: plainOpen } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.open = function (...args) {
      plainOpen.apply(this, args);
      end(this); // what was under way is given up, without an event
    };
    XMLHttpRequest.prototype.send = function (...args) {
      count++;
      const first = !sent.has(this);
      if (first) {
        open++;
        sent.add(this);
        this.addEventListener("loadend", () => end(this), { once: true });
      }
      let going = false;
      try {
        plainSend.apply(this, args);
        going = this.readyState !== XMLHttpRequest.DONE;
      } finally { // one that is waited for may fail without an event
        if (first && !going) end(this);
      }
    };
  }

  // The number of files that a page has got, where its modules may load others at any time.
  const files = () => document.querySelector("script[type=module]")
    ? performance.getEntriesByType("resource").length : 0;

  // Wait until an own page has got what it asked for, and has drawn.
  const quiet = async () => {
    let known;
    do {
      known = files();
      await answered();
      for (let times = known ? 2 : 1; times > 0; times--) {
        await queued();
        await nextFrame();
      }
      await queued();
    } while ((open || files() > known) && !Visit.leaving);
  };

  return { plainSend, quiet, get count() { return count; } };
})();
