// A box lies over the page, and takes the clicks until it is closed or declined.
const KINDS = [
  ["We value your privacy", "We and our partners use cookies to improve your visit.", "Accept all", "Only necessary"],
  ["Never miss an offer", "Get our newsletter once a week.", "Subscribe", "No, thanks"],
  ["How are we doing?", "Take part in a survey of two minutes.", "Take part", "Not now"],
];
page.begin(() => {
  if (page.kept.closed) return;
  const [title, text, ...answers] = page.kept.box ??= page.pick(KINDS);
  const make = (tag, style, ...content) => {
    const element = document.createElement(tag);
    element.style.cssText = style;
    element.append(...content);
    return element;
  };
  const box = make("div", "margin: 20px auto; width: 130px; padding: 8px; background: white; color: black; "
    + "border: 1px solid black; font-size: 12px;", make("b", "", title), make("p", "margin: 6px 0;", text));
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", title);
  const whole = page.root.closest("#wrap"); // MiniWoB++'s pages are part of the window
  const { left = 0, top = 0, width = innerWidth, height = innerHeight } = whole?.getBoundingClientRect() ?? {};
  const over = make("div", `position: fixed; left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px; `
    + "z-index: 2147483646; background: rgb(0 0 0 / 50%);", box);
  box.append(...answers.map((answer) => {
    const button = make("button", "margin-right: 4px;", answer);
    button.type = "button";
    button.onclick = (event) => {
      event.stopPropagation();
      page.kept.closed = true;
      over.remove();
    };
    return button;
  }));
  page.root.append(over);
  page.applied();
});
