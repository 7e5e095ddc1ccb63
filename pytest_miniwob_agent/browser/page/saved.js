// The language and the browser as they are before any script of the page has run, which may replace
// parts of them. The files of the page's own world find classes and functions here by their usual
// names. Methods of what may have others by then are functions: `Arrays.map(list, run)`. Lists are
// not iterated over (`...list`, `for (... of list)`, `const [first] = list`): methods do that, too.

const { apply, construct } = window.Reflect;
const {
  console, performance, navigation, CustomEvent, DOMException, Element, Error, ErrorEvent, FormData,
  Function, HTMLFormElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement,
  MessageChannel, Node, Number, Promise, Request, Response, String, URL, URLPattern,
  URLSearchParams, XMLHttpRequest,
} = window;
const [Object, Array, JSON, Math] = [window.Object, window.Array, window.JSON, window.Math].map(
  (owner) => window.Object.create(null, window.Object.getOwnPropertyDescriptors(owner)));
const [Map, Set, WeakMap] = [window.Map, window.Set, window.WeakMap].map((base) => {
  class Safe extends base {}
  Object.defineProperties(Safe.prototype, Object.getOwnPropertyDescriptors(base.prototype));
  return Safe;
});

// The methods and getters of a prototype with these names, as functions of an object and values.
const methods = (prototype, names) => Object.fromEntries(names.split(" ").map((name) => {
  const { value, get } = Object.getOwnPropertyDescriptor(prototype, name);
  return [name, (self, ...values) => apply(value ?? get, self, values)];
}));
const Arrays = methods(window.Array.prototype, "concat every filter forEach includes map push some splice");
const Strings = methods(String.prototype, "trim");
const Patterns = methods(RegExp.prototype, "exec");
const Events = methods(Event.prototype, "preventDefault stopImmediatePropagation target type");
const Targets = methods(EventTarget.prototype, "addEventListener dispatchEvent");
const Elements = methods(Element.prototype, "getAttributeNames id matches shadowRoot");
const Nodes = methods(Node.prototype, "baseURI ownerDocument textContent");
const Documents = methods(Document.prototype, "defaultView getAnimations querySelector querySelectorAll");
const Roots = methods(ShadowRoot.prototype, "getAnimations");
const Animations = methods(Animation.prototype, "effect playbackRate playState");
const Effects = methods(AnimationEffect.prototype, "getComputedTiming");
const Fragments = methods(DocumentFragment.prototype, "querySelectorAll");
const Channels = methods(MessageChannel.prototype, "port1 port2");
const Ports = methods(MessagePort.prototype, "close postMessage start");
const Bodies = methods(Response.prototype, "arrayBuffer blob");
const Lists = methods(NodeList.prototype, "length");
const Stores = methods(Storage.prototype, "removeItem setItem");
const { detail: detailOf } = methods(CustomEvent.prototype, "detail");
const { error: errorOf, message: messageOf } = methods(ErrorEvent.prototype, "error message");
const { reason: reasonOf } = methods(PromiseRejectionEvent.prototype, "reason");
