// The pointer, drawn for people who watch the window. It is not in the body, which is what is read,
// and lets all events through to the element below.

const Pointer = (() => {
  let arrow = null;
  const point = (x, y) => {
    if (!arrow) {
      arrow = document.createElement("miniwob-pointer");
      arrow.attachShadow({ mode: "closed" }).innerHTML = `<svg width="18" height="26" \
style="display: block" fill="#e11" stroke="#fff" stroke-width="1.5" stroke-linejoin="round">\
<path d="M1 1 L1 20 L5.5 16 L9 24 L12 22.5 L8.8 15 L15 15 Z"/></svg>`;
    }
    arrow.style = "all: initial; position: fixed; z-index: 2147483647; pointer-events: none; "
      + `left: ${x - 1}px; top: ${y - 1}px`;
    document.documentElement?.append(arrow);
  };

  // It does not belong to the page, nor to a picture of it.
  const hide = () => arrow?.remove();

  return { point, hide };
})();
