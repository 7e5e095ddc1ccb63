// A clipboard for the page alone: that of the machine is shared with other browsers and programs, and
// outlasts the trial. As in any browser, a password can't be copied, nor read-only text cut.

let clipboard = handed?.clipboard ?? "";
const marked = () => {
  const { selectionStart, selectionEnd, value, type } = document.activeElement ?? {};
  if (type === "password") return "";
  return (typeof selectionStart === "number" && value.slice(selectionStart, selectionEnd))
    || getSelection().toString();
};
window.addEventListener("copy", (event) => {
  clipboard = marked() || clipboard;
  event.preventDefault();
}, true);
window.addEventListener("cut", (event) => {
  const text = marked();
  if (text && document.execCommand("delete")) clipboard = text;
  event.preventDefault();
}, true);
window.addEventListener("paste", (event) => {
  event.preventDefault();
  document.execCommand("insertText", false, clipboard);
}, true);
