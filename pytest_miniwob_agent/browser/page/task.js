// The task of a page: as the page itself declares it, or in the form of MiniWoB++'s core.js.

const Task = (() => {
  const { own } = Visit;

  // An own page can't be a task; the message says why.
  class Fault extends Error {}

  // The task that an own page declares, in whatever way its script does; null if it does not.
  const declared = () => {
    if (!own) return null;
    let found = null;
    try {
      found = task;
    } catch {
      return null; // there is no such name
    }
    const isTask = found && typeof found === "object" && !(found instanceof Node)
      && ("goal" in found || "setup" in found || "reward" in found);
    return isTask ? found : null;
  };

  // The paths of files that can be uploaded.
  const files = () => {
    const named = declared()?.files ?? [];
    if (Array.isArray(named) && Arrays.every(named, (path) => typeof path === "string")) return named;
    throw new Fault("task.files must be a list of paths of files");
  };

  // True if core.js runs the page's episode.
  const inCore = () => !own || (!declared() && typeof window.core?.endEpisode === "function");

  const UNDECLARED = "it declares no task: set window.task = {goal, setup(seed), reward(seed)} in a "
    + "script, or load /core/core.js and define genProblem as MiniWoB++'s pages do";

  return { Fault, UNDECLARED, declared, files, inCore };
})();
