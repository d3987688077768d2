// Elements, sentences, files to take away, and whether a key is typed text.

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

// Whether what is pressed here is text.
export function typing(target) {
  return target.isContentEditable || Boolean(target.matches?.('textarea, select, input:not([type="radio"], [type="checkbox"], [type="range"], [type="button"])'));
}
