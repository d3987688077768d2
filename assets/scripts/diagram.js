// A lesson's block diagram as the page sends it (pages/learn/diagram.py): a block opens its part.

export function receive({ data, parentElement }) {
  let figure = parentElement.querySelector(".lesson-diagram");
  if (!figure) {
    figure = document.createElement("figure");
    figure.className = "lesson-diagram";
    figure.addEventListener("click", open);
    parentElement.append(figure);
  }
  const drawn = new TextDecoder().decode(data);
  if (drawn === figure.drawn) return; // a link keeps the focus
  figure.drawn = drawn;
  figure.innerHTML = drawn;
}

function open(event) {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // a link like any other: a new tab
  event.preventDefault();
  document.querySelectorAll(".st-key-part button")[link.dataset.at]?.click();
}
