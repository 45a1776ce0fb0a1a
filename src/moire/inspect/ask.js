// A field named `lastChild` hides its form's own: what is asked of a page is asked of the prototypes.
const getter = (prototype, name) => {
  const own = Object.getOwnPropertyDescriptor(prototype, name);
  return node => (own && own.get ? own.get.call(node) : undefined);
};
const kind = getter(Node.prototype, 'nodeType');
const nodeName = getter(Node.prototype, 'nodeName');
const lastChild = getter(Node.prototype, 'lastChild');
const previous = getter(Node.prototype, 'previousSibling');
const shadow = getter(Element.prototype, 'shadowRoot');
const ask = name => getter(Document.prototype, name)(document);
