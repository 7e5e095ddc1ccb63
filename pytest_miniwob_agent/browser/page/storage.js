// What an earlier page has stored: the next one starts with nothing. Python clears the rest, such as
// cookies and databases, before it loads a page; a session's storage can be cleared from here alone.
// Pages of one's own that lead to each other share what they store for the length of a trial.

if (window === top && /^(http|file):$/.test(location.protocol) && !handed) {
  localStorage.clear();
  sessionStorage.clear();
  window.name = "";
}
