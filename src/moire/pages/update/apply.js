// Applies operations to the page, in order; the answer has, for each, what went wrong, or nothing. `own` runs code.
async (operations, own) => {
  const find = selector => {
    const found = document.querySelector(selector);
    if (!found) throw new Error(`there is no ${selector}`);
    return found;
  };
  const sheet = o => {
    const found = document.styleSheets[o.sheet];
    if (!found) throw new Error(`there is no style sheet ${o.sheet}`);
    return found;
  };
  const openable = o => {
    const found = find(o.target);
    if (!('open' in found)) throw new Error(`${o.target} can be neither opened nor closed`);
    return found;
  };
  const act = {
    'insert-node': o => find(o.target).insertAdjacentHTML(o.position, o.html),
    'delete-node': o => find(o.target).remove(),
    'move-node': o => find(o.to).insertAdjacentElement(o.position, find(o.target)),
    'set-attribute': o => find(o.target).setAttribute(o.name, o.value),
    'remove-attribute': o => find(o.target).removeAttribute(o.name),
    'toggle-class': o => find(o.target).classList.toggle(o.name),
    'set-style': o => find(o.target).style.setProperty(o.name, o.value),
    'set-text': o => {
      const e = find(o.target);
      const text = Array.from(e.childNodes).find(n => n.nodeType === Node.TEXT_NODE);
      if (text) text.data = o.value; else e.prepend(o.value);
    },
    'insert-rule': o => sheet(o).insertRule(o.rule, o.index),
    'delete-rule': o => sheet(o).deleteRule(o.index),
    'focus': o => find(o.target).focus(),
    'scroll': o => (o.target ? find(o.target) : window).scrollTo({left: o.x, top: o.y, behavior: 'instant'}),
    'open': o => {
      const e = openable(o);
      if (!e.show) e.open = true; else if (!e.open) { if (o.modal) e.showModal(); else e.show(); }
    },
    'close': o => {
      const e = openable(o);
      if (e.close) e.close(); else e.open = false;
    },
    'set-value': o => { find(o.target).value = o.value; },
    'set-checked': o => { find(o.target).checked = o.value; },
    'script': o => own(o.code),
  };
  const said = [];
  for (const o of operations) {
    try {
      const answer = act[o.op](o);
      said.push(o.op === 'script' ? await answer : '');
    } catch (e) { said.push(String(e)); }
  }
  return said;
}
