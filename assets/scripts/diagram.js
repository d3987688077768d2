// A lesson's block diagram: two drawings, of which the style sheet shows the one that fits; a block opens its part of the page.
// What the last change of this part altered, in wires and blocks, is marked until the next one.

const views = new WeakMap();

export function receive({ data, parentElement, setTriggerValue }) {
  const said = JSON.parse(new TextDecoder().decode(data));
  let view = views.get(parentElement);
  if (!view) {
    const root = document.createElement("figure");
    root.className = "lesson-diagram";
    const drawing = document.createElement("div");
    const caption = document.createElement("figcaption");
    root.append(drawing, caption);
    parentElement.append(root);
    view = { root, drawing, caption };
    views.set(parentElement, view);
    root.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[data-part]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // a link like any other: a new tab
      event.preventDefault();
      const part = link.dataset.part;
      if (part.startsWith("#")) document.querySelector(`.st-key-${part.slice(1)}`)?.scrollIntoView({ block: "center" });
      else view.go("part", part);
    });
  }
  view.go = setTriggerValue;
  const before = said.of === view.of ? numbers(view.drawing) : new Map(); // another part, or another language, is no change
  const focused = document.activeElement?.closest?.(".lesson-diagram a")?.dataset.part;
  const drawn = said.wide + said.narrow;
  if (drawn !== view.drawn) {
    view.drawn = drawn;
    view.of = said.of;
    view.drawing.innerHTML = drawn;
    view.caption.textContent = said.hint;
    view.root.setAttribute("aria-label", said.title);
    mark(view.drawing, before);
    if (focused) view.drawing.querySelector(`svg a[data-part="${focused}"]`)?.focus();
  }
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected || views.get(parentElement) !== view) return;
      views.delete(parentElement);
      view.root.remove();
    });
}

// What is written where: by wire or block.
function numbers(drawing) {
  const found = new Map();
  for (const group of drawing.querySelectorAll("[data-wire], [data-block]")) found.set(place(group), written(group));
  return found;
}

function place(group) {
  return `${group.ownerSVGElement.getAttribute("class")} ${group.dataset.wire ?? group.dataset.block}`;
}

function written(group) {
  return [...group.querySelectorAll("text")].map((text) => text.textContent).join("|");
}

function mark(drawing, before) {
  for (const group of drawing.querySelectorAll("[data-wire], [data-block]")) {
    const old = before.get(place(group));
    if (old !== undefined && old !== written(group)) group.classList.add("diagram-changed");
  }
}
