// What an earlier page has stored: the next one starts with nothing. Python clears the rest, such as
// cookies and databases, before it loads a page; a session's storage can be cleared from here alone.

if (window === top && /^(http|file):$/.test(location.protocol)) {
  localStorage.clear();
  sessionStorage.clear();
}
