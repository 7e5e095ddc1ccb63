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
    XMLHttpRequest.prototype.send = function (...args) {
      count++;
      open++;
      this.addEventListener("loadend", over, { once: true });
      try {
        return plainSend.apply(this, args);
      } catch (error) { // it was not sent, or did not get through while the page waited
        if (this.readyState !== XMLHttpRequest.DONE) over();
        throw error;
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
