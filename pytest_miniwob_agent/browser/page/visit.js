// The visit of a page: whether it is one of your own, and the trial that goes on from page to page.
// Pages of the package stay for the whole trial.

const Visit = (() => {
  const { KEY, OWN_HOST } = Constants;
  const { listen } = Listeners;
  const own = window === top && location.host === OWN_HOST;

  // What the page around this one shares with it, where this is in a frame of your own page.
  let outer = null;
  try {
    outer = window === top ? null : parent.miniwobAgent?.inside(KEY) ?? null;
  } catch {
    // it is of another origin
  }

  // What the page before in this trial has handed over; null on the first page of a trial.
  const HANDED = "miniwob-agent";
  let handed = null;
  if (own) {
    handed = JSON.parse(sessionStorage.getItem(HANDED));
    sessionStorage.removeItem(HANDED);
  }

  // What the author of the page should know, for the next reading.
  const remarks = handed?.remarks ?? [];
  const remark = outer?.remark
    ?? ((text) => void (Arrays.includes(remarks, text) || Arrays.push(remarks, text)));

  // The error that a script of the page has thrown, with its place.
  const shownError = (error) => {
    if (!(error instanceof Error)) return String(error);
    const found = Patterns.exec(/:\/\/[^/\s]+\/([^\s:)]*):(\d+):\d+/, error.stack ?? "");
    const place = found ? ` (line ${found[2]} of ${found[1] || "index.html"})` : "";
    return `${error.name}: ${error.message}${place}`;
  };

  if (own) {
    listen("error", (event) => {
      if (!(event instanceof ErrorEvent)) return; // a file that is missing
      const error = errorOf(event) || messageOf(event);
      if (error) remark(`a script failed: ${shownError(error)}`);
    });
    listen("unhandledrejection", (event) => {
      remark(`a promise was rejected: ${shownError(reasonOf(event))}`);
    });
  }

  const squeeze = (text) => text.replace(/\s+/g, " ").trim();

  return {
    own,
    outer,
    HANDED,
    handed,
    remarks,
    remark,
    shownError,
    squeeze,
    seed: handed?.seed ?? null, // null until the trial has begun
    full: handed?.full ?? false, // true where everything that shows is read
    tree: handed?.tree ?? false, // true where it is read as a tree
    goal: handed?.goal ?? "", // of an own page
    verdict: handed?.verdict ?? null, // the reward that ended the trial
    fault: handed?.fault ?? null, // the reason why a page of this trial can't be a task
    count: handed?.count ?? 0, // of pages that followed one another since the last reading
    witness: handed?.witness ?? null, // what a program does that the page is handed over to
    // True where dialogs are answered: since the trial has begun, and by programs that hear of them.
    asked: handed?.asked ?? false,
    asks: outer?.asks ?? (() => Visit.asked),
    answered: null, // takes note of an answer
    beginning: false, // true while an episode of core.js is begun for the trial
    leaving: false, // true once another page is to be loaded: no time passes any more
    nextId: handed?.nextId ?? 1, // of elements
    clipboard: handed?.clipboard ?? "",
    forgotten: false, // true where nothing is handed over to the next page
  };
})();
