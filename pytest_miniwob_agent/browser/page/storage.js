// What an earlier page has stored: the next one starts with nothing. Python clears the rest, such
// as cookies and databases, before it loads a page; only a script can clear the storage of a
// session. Your own pages that lead to each other share what they store for the length of a trial.

(() => {
  const { handed } = Visit;

  if (window === top && location.protocol === "http:" && !handed) {
    localStorage.clear();
    sessionStorage.clear();
    window.name = "";
  }
})();
