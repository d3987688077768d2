// Parts of our components in the browser: one view for each element that Streamlit gives, elements, and files to take away.

const views = new WeakMap();

// A component's `receive`: `make` builds the view of an element once, `view.show` takes each frame in, `view.close` ends it.
export function mounted(make) {
  return (component) => {
    const { parentElement, data } = component;
    if (!views.has(parentElement)) views.set(parentElement, make(parentElement));
    const view = views.get(parentElement);
    view.component = component;
    view.show(data);
    return () => {
      views.delete(parentElement);
      view.close();
    };
  };
}

export function element(tag, name, parent) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (tag === "button") made.type = "button";
  parent?.append(made);
  return made;
}

// Gives a file to the reader.
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A template's {names} replaced by their values.
export function fillIn(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
