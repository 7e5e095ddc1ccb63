// The language and the browser as they are before any script of the page has run, which may replace
// parts of them. The files of the page's own world import classes and functions from here by their
// usual names. Methods of what may have others by then are functions: `Arrays.map(list, run)`. Lists are
// not iterated over (`...list`, `for (... of list)`, `const [first] = list`): methods do that, too.

export const { apply, construct } = window.Reflect;
export const {
  console, performance, navigation, CustomEvent, DOMException, Element, Error, ErrorEvent,
  Function, HTMLFormElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement,
  MessageChannel, Node, Number, Promise, Response, String, URL, URLPattern, WeakRef, XMLHttpRequest,
} = window;
export const [Object, Array, JSON, Math] = [window.Object, window.Array, window.JSON, window.Math].map(
  (owner) => window.Object.create(null, window.Object.getOwnPropertyDescriptors(owner)));
const collections = [window.Map, window.Set, window.WeakMap];
/** @type {any[]} */
export const [Map, Set, WeakMap] = collections.map((/** @type {any} */ base) => {
  class Safe extends base {}
  Object.defineProperties(Safe.prototype, Object.getOwnPropertyDescriptors(base.prototype));
  return Safe;
});

// The methods and getters of a prototype with these names, as functions of an object and values.
export const methods = (prototype, names) => Object.fromEntries(names.split(" ").map((name) => {
  const { value, get } = Object.getOwnPropertyDescriptor(prototype, name);
  return [name, (self, ...values) => apply(value ?? get, self, values)];
}));
export const Arrays = methods(window.Array.prototype, "concat every filter forEach includes map push some splice");
export const Strings = methods(String.prototype, "replace trim");
export const Patterns = methods(RegExp.prototype, "exec");
export const Events = {
  ...methods(Event.prototype, "composedPath currentTarget preventDefault stopImmediatePropagation target type"),
  ...methods(KeyboardEvent.prototype, "altKey key"),
  ...methods(MouseEvent.prototype, "relatedTarget"),
};
export const Targets = methods(EventTarget.prototype, "addEventListener dispatchEvent");
export const Elements = methods(
  Element.prototype, "getAttributeNames getBoundingClientRect id localName matches shadowRoot");
export const Rects = methods(DOMRectReadOnly.prototype, "height width x y");
export const Refs = methods(WeakRef.prototype, "deref");
export const Nodes = methods(Node.prototype, "baseURI getRootNode ownerDocument textContent");
export const Documents = methods(Document.prototype, "defaultView getAnimations querySelector querySelectorAll");
export const Roots = methods(ShadowRoot.prototype, "getAnimations");
export const Animations = methods(Animation.prototype, "effect playbackRate playState");
export const Effects = methods(AnimationEffect.prototype, "getComputedTiming updateTiming");
export const Fragments = methods(DocumentFragment.prototype, "querySelectorAll");
export const Channels = methods(MessageChannel.prototype, "port1 port2");
export const Ports = methods(MessagePort.prototype, "close postMessage start");
export const Bodies = methods(Response.prototype, "arrayBuffer");
export const Bytes = methods(Uint8Array.prototype, "toBase64");
export const { fromBase64 } = /** @type {any} */ (Uint8Array);
export const Lists = methods(NodeList.prototype, "length");
export const { detail: detailOf } = methods(CustomEvent.prototype, "detail");
export const { error: errorOf, message: messageOf } = methods(ErrorEvent.prototype, "error message");
export const { reason: reasonOf } = methods(PromiseRejectionEvent.prototype, "reason");
