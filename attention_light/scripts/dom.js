// Elements, sentences, and files to take away.

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
