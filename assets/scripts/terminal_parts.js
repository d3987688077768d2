// Small parts of the live page's screen: nodes whose texts and attributes change only where they must.

import { element } from "../../attention_light/scripts/dom.js";

export function button(className, text, act) {
  const made = element("button", className);
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

// A text, in the node that is there: one that is taken out and put in makes the browser look at every ancestor's style again, as
// the page has rules with `:has()`.
export function put(node, text) {
  const kept = node?.firstChild;
  if (kept?.nodeType === Node.TEXT_NODE && kept === node.lastChild) {
    if (kept.data !== text) kept.data = text;
  } else if (node && node.textContent !== text) node.textContent = text;
}

// An attribute, where it changes. Never a class: a change of one has the styles of the whole page computed again.
export function mark(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

// How far a bar reaches, in whole thousandths: unchanged ones cost nothing.
export function share(node, value) {
  const text = value.toFixed(3);
  if (node.style.getPropertyValue("--share") !== text) node.style.setProperty("--share", text);
}

// A definition list from [class, name, value], its nodes kept where their number stays the same.
export function fill(list, values) {
  while (list.children.length > values.length) list.lastChild.remove();
  while (list.children.length < values.length) {
    const item = element("div", "stat");
    item.append(document.createElement("dt"), document.createElement("dd"));
    list.append(item);
  }
  values.forEach(([className, name, value], i) => {
    const item = list.children[i];
    if (className && item.className !== className) item.className = className;
    put(item.firstChild, name);
    put(item.lastChild, value);
  });
}
