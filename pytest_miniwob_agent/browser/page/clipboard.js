// A clipboard for the page alone: the machine's is shared with other browsers and programs, and
// outlasts the trial. As in any browser, a password can't be copied, nor read-only text cut.

const PageClipboard = (() => {
  const { listen } = Listeners;

  const marked = () => {
    const { selectionStart, selectionEnd, value, type } = document.activeElement ?? {};
    if (type === "password") return "";
    return (typeof selectionStart === "number" && value.slice(selectionStart, selectionEnd))
      || getSelection().toString();
  };
  listen("copy", (event) => {
    Visit.clipboard = marked() || Visit.clipboard;
    event.preventDefault();
  });
  listen("cut", (event) => {
    const cut = marked();
    if (cut && document.execCommand("delete")) Visit.clipboard = cut;
    event.preventDefault();
  });
  listen("paste", (event) => {
    event.preventDefault();
    document.execCommand("insertText", false, Visit.clipboard);
  });

  return { marked };
})();
