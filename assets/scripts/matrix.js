// Matrices as tables (core/figures/matrix.py): the value under the pointer, a download, and rows that choose a dial's value.
// Listeners are the document's, as tables come and go with the page.

import { save } from "../../attention_light/scripts/dom.js";

const tip = document.createElement("div");
tip.id = "matrix-tip";
tip.hidden = true;
document.body.append(tip);

const written = (text) => {
  const value = Number(text);
  return value.toLocaleString(document.documentElement.lang || undefined, { maximumSignificantDigits: 4 });
};

const text = (cell) => cell?.textContent.trim() ?? "";

function described(cell) {
  const row = text(cell.parentElement.querySelector("th"));
  const column = text(cell.closest("table").tHead.rows[0].cells[cell.cellIndex]);
  const before = cell.dataset.was === undefined ? "" : `${written(cell.dataset.was)} → `;
  return `${row}, ${column}: ${before}${written(cell.dataset.v)}`;
}

document.addEventListener("pointermove", (event) => {
  const cell = event.target.closest?.(".matrix td[data-v]");
  tip.hidden = !cell;
  if (!cell) return;
  tip.textContent = described(cell);
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY + 16}px`;
});

document.addEventListener("click", (event) => {
  const matrix = event.target.closest?.(".matrix figcaption button")?.closest(".matrix");
  if (matrix) return save(new Blob([csv(matrix)], { type: "text/csv" }), `${matrix.dataset.key}.csv`);
  const row = event.target.closest?.(".matrix[data-chooses] tbody th")?.parentElement; // a cell tells where its number comes from
  if (!row) return;
  const dial = row.closest(".matrix").dataset.chooses;
  document.querySelectorAll(`.st-key-${dial} button`)[row.sectionRowIndex]?.click();
});

function csv(matrix) {
  const quoted = (one) => (/[",\n]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one);
  const lines = [...matrix.querySelectorAll("tr")].map((row) =>
    [...row.cells].map((cell) => quoted(cell.dataset.v ?? text(cell))).join(","),
  );
  return `${lines.join("\n")}\n`;
}

// Where a number comes from (core/lecture/origins.py): its operands light up, and a click tells the rest.
const origins = new WeakMap();

function originOf(cell) {
  const matrix = cell.closest(".matrix");
  if (!matrix.dataset.origin) return null;
  if (!origins.has(matrix)) origins.set(matrix, JSON.parse(matrix.dataset.origin));
  return origins.get(matrix);
}

const short = (value) => (value === null ? "−∞" : written(value));
const inside = (value) => (value < 0 ? `(${short(value)})` : short(value));
const WAYS = {
  dot: (a, b) => a.map((one, n) => `${inside(one)}·${inside(b[n])}`).join(" + "),
  minus: ([a], [b]) => `${short(a)} − ${inside(b)}`,
  times: ([a], [b]) => `${inside(a)}·${inside(b)}`,
  over: ([a], [b]) => `${short(a)} / ${inside(b)}`,
  softmax: ([a], row) => `e^${inside(a)} / (${row.map((one) => `e^${inside(one)}`).join(" + ")})`,
  mask: ([a], [allowed]) => (allowed ? short(a) : "−∞"),
};

// Rows and columns of an operand that belong to a cell: "i:" is the cell's row, ":j" its column, "" the one number.
function places({ at, values }, row, column) {
  const all = (count) => [...Array(count).keys()];
  const [down, across] = [...(at || "00")].map((sign, axis) =>
    sign === "i" ? [row] : sign === "j" ? [column] : sign === ":" ? all(axis ? values[0].length : values.length) : [0],
  );
  return down.flatMap((i) => across.map((j) => [i, j]));
}

function shownBy(operand) {
  const rows = document.querySelector(`.matrix[data-key="${CSS.escape(operand.key)}"] tbody`)?.rows;
  return rows?.length === operand.values.length && rows[0].cells.length === operand.values[0].length + 1 ? rows : null;
}

function light(cell) {
  for (const one of document.querySelectorAll(".matrix td.operand")) one.classList.remove("operand");
  const origin = cell && originOf(cell);
  if (!origin) return;
  const [row, column] = [cell.parentElement.sectionRowIndex, cell.cellIndex - 1];
  for (const operand of origin.operands) {
    const rows = shownBy(operand);
    if (rows) for (const [i, j] of places(operand, row, column)) rows[i].cells[j + 1].classList.add("operand");
  }
}

const panel = document.createElement("aside");
panel.id = "matrix-origin";
panel.hidden = true;
document.body.append(panel);
let pinned = null;

function element(tag, content, name) {
  const made = document.createElement(tag);
  if (content !== undefined) made.append(...[content].flat());
  if (name) made.className = name;
  return made;
}

function tellOrigin(cell) {
  const origin = originOf(cell);
  if (!origin) return;
  const [row, column] = [cell.parentElement.sectionRowIndex, cell.cellIndex - 1];
  const numbers = origin.operands.map((one) => places(one, row, column).map(([i, j]) => one.values[i][j]));
  const close = element("button", "×");
  close.setAttribute("aria-label", origin.words.close);
  close.addEventListener("click", () => pin(null));
  const formula = element("p", origin.equation); // LaTeX, until Streamlit's KaTeX is here
  import(window.observatoryAddress(origin.katex)).then(({ default: katex }) => katex.render(origin.equation, formula, { throwOnError: false }));
  const source = Object.assign(element("a", origin.document), { href: origin.link });
  const name = cell.closest(".matrix").dataset.name;
  panel.replaceChildren(
    close,
    element("p", [element("b", `${name} · ${described(cell)}`)]),
    element("p", `= ${WAYS[origin.how](...numbers)}`, "sum"),
    ...origin.operands.map((one, n) => element("p", `${one.name}: ${numbers[n].map(short).join("  ")}`, "from")),
    formula,
    element("p", [source]),
    element("p", [`${origin.words.code} `, element("code", origin.code)]),
    element("p", [`${origin.words.test} `, element("code", origin.test), `, ${origin.words.against} ${origin.against}`]),
  );
}

function pin(cell) {
  const at = cell && [cell.closest(".matrix").dataset.key, cell.parentElement.sectionRowIndex, cell.cellIndex];
  pinned = at && { at, value: cell.dataset.v };
  panel.hidden = !cell;
  light(cell);
  if (cell) tellOrigin(cell);
}

// A dial draws the tables anew: the number that is followed is then another cell at the same place.
function followed() {
  const [key, row, column] = pinned.at;
  return document.querySelector(`.matrix[data-key="${CSS.escape(key)}"] tbody`)?.rows[row]?.cells[column] ?? null;
}

document.addEventListener("pointerover", (event) => {
  if (!pinned) return light(event.target.closest?.(".matrix td[data-v]"));
  const cell = followed();
  if (cell?.dataset.v !== pinned.value) pin(cell && originOf(cell) ? cell : null);
  else light(cell);
});
document.addEventListener("click", (event) => {
  const cell = event.target.closest?.(".matrix td[data-v]");
  if (cell && originOf(cell)) pin(cell);
});
document.addEventListener("keydown", (event) => event.key === "Escape" && pin(null));
