// Values that this browser keeps for a page, as far as it lets a page keep anything; what it does not holds until the page is left.

export function kept(name, storage = "localStorage") {
  try {
    return JSON.parse(globalThis[storage].getItem(name));
  } catch {
    return null;
  }
}

export function keep(name, value, storage = "localStorage") {
  try {
    globalThis[storage].setItem(name, JSON.stringify(value));
  } catch {
    // not kept
  }
}

// Values by name in the address, which gets no step of its own in the history; an empty one leaves it.
export function keepInAddress(values) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address);
}
