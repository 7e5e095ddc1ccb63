// The visible page as HTML.

const Html = (() => {
  const { agentOf } = Frames;
  const { childrenOf, visible } = Sight;
  const { idOf, ignored, squeeze, text } = Leaves;

  const VOID_TAGS = new Set(["input", "img"]);
  // Attributes whose current state is shown, not that of the page's source.
  const STATE = new Set(["value", "checked", "selected"]);
  // Long attributes that say nothing beyond what can be seen.
  const IGNORED_ATTRIBUTES = /^(on|aria-)|^(style|role|tabindex|data-ref|data-tampered)$/;
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escape = (string) => string.replace(/[&<>"]/g, (character) => ENTITIES[character]);

  const shows = (element) =>
    !ignored(element) && (visible(element)
      || childrenOf(element).some((node) => node instanceof Element && shows(node)));

  // A visible element as HTML, with its visible content. The ids in it are added to `shown`.
  const markup = (element, shown) => {
    const id = idOf(element);
    shown.push(id);
    const field = element instanceof HTMLInputElement || element instanceof HTMLOptionElement;
    const attributes = [["data-ref", id], ...[...element.attributes]
      .map(({ name, value }) => [name, value])
      .filter(([name]) => !IGNORED_ATTRIBUTES.test(name) && !(field && STATE.has(name)))];
    if (field) attributes.push(["value", element.value]);
    if (element.checked) attributes.push(["checked", ""]);
    if (element.selected) attributes.push(["selected", ""]);
    const tag = element.tagName.toLowerCase();
    const inner = agentOf(element);
    const [within, below] = inner?.markup() ?? ["", []];
    shown.push(...below);
    const start = attributes.map(([name, value]) => ` ${name}="${escape(String(value))}"`).join("");
    if (VOID_TAGS.has(tag)) return `<${tag}${start}>`;
    return `<${tag}${start}>${inner ? within : content(element, shown)}</${tag}>`;
  };

  const content = (element, shown) => {
    if (element instanceof HTMLTextAreaElement) return escape(element.value);
    if (element instanceof HTMLOptionElement) return escape(squeeze(element.text));
    const parts = childrenOf(element).map((node) => {
      if (node instanceof Element) { // a closed list has no boxes for its options
        return node instanceof HTMLOptionElement || shows(node) ? markup(node, shown) : "";
      }
      if (!(node instanceof Text)) return "";
      return text(node, element).length ? escape(node.data.replace(/\s+/g, " ")) : " ";
    });
    const mixed = parts.some((part) => part.trim() && !part.startsWith("<"));
    if (mixed) return parts.join("").trim();
    const found = parts.filter((part) => part.trim());
    return found.length ? `\n${found.join("\n")}\n` : "";
  };

  return { escape, markup };
})();
