// Matrices as tables (core/figures/matrix.py): the value under the pointer, downloads, and rows that choose a dial's value.
// Listeners are the document's, as tables come and go with the page.

const tip = document.createElement("div");
tip.id = "matrix-tip";
tip.hidden = true;
document.body.append(tip);

const written = (text) => {
  const value = Number(text);
  return value.toLocaleString(document.documentElement.lang || undefined, { maximumSignificantDigits: 4 });
};

const text = (cell) => cell?.textContent.trim() ?? "";

function told(cell) {
  const row = text(cell.parentElement.querySelector("th"));
  const column = text(cell.closest("table").tHead.rows[0].cells[cell.cellIndex]);
  const before = cell.dataset.was === undefined ? "" : `${written(cell.dataset.was)} → `;
  return `${row}, ${column}: ${before}${written(cell.dataset.v)}`;
}

document.addEventListener("pointermove", (event) => {
  const cell = event.target.closest?.(".matrix td[data-v]");
  tip.hidden = !cell;
  if (!cell) return;
  tip.textContent = told(cell);
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY + 16}px`;
});

document.addEventListener("click", (event) => {
  const save = event.target.closest?.(".matrix button[data-save]");
  if (save) return download(save.closest(".matrix"), save.dataset.save);
  const row = event.target.closest?.(".matrix[data-chooses] tbody tr");
  if (!row) return;
  const dial = row.closest(".matrix").dataset.chooses;
  document.querySelectorAll(`.st-key-${dial} [data-testid="stButtonGroup"] button, .st-key-${dial} button`)[row.sectionRowIndex]?.click();
});

async function download(matrix, kind) {
  const name = `${matrix.dataset.key}.${kind}`;
  if (kind === "csv") return keep(name, new Blob([csv(matrix)], { type: "text/csv" }));
  const { svg, width, height } = drawn(matrix);
  const drawing = new Blob([svg], { type: "image/svg+xml" });
  if (kind === "svg") return keep(name, drawing);
  const image = new Image();
  image.src = URL.createObjectURL(drawing);
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  canvas.toBlob((blob) => keep(name, blob));
}

function keep(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function csv(matrix) {
  const quoted = (one) => (/[",\n]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one);
  const lines = [...matrix.querySelectorAll("tr")].map((row) =>
    [...row.cells].map((cell) => quoted(cell.dataset.v ?? text(cell))).join(","),
  );
  return `${lines.join("\n")}\n`;
}

// The table as a drawing: its cells where the browser has put them.
function drawn(matrix) {
  const frame = matrix.getBoundingClientRect();
  const table = matrix.querySelector("table").getBoundingClientRect();
  const [width, height] = [Math.ceil(Math.max(frame.width, table.width)), Math.ceil(frame.height)];
  const page = getComputedStyle(document.querySelector('[data-testid="stApp"]') ?? document.body);
  const safe = (one) => one.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const label = (box, said, style, anchor) =>
    `<text x="${anchor === "start" ? box.left - frame.left : box.left - frame.left + box.width / 2}" y="${box.top - frame.top + box.height / 2}" ` +
    `text-anchor="${anchor}" dominant-baseline="central" font-size="${style.fontSize}" fill="${style.color}">${safe(said)}</text>`;
  const cells = [...matrix.querySelectorAll("th, td")].map((cell) => {
    const [box, style] = [cell.getBoundingClientRect(), getComputedStyle(cell)];
    const edge = cell.classList.contains("out") ? ' stroke="#D5701F" stroke-width="1.5"' : "";
    const at = `x="${box.left - frame.left}" y="${box.top - frame.top}" width="${box.width}" height="${box.height}"`;
    return `<rect ${at} fill="${style.backgroundColor}"${edge}/>${text(cell) ? label(box, text(cell), style, "middle") : ""}`;
  });
  const title = matrix.querySelector("figcaption b");
  const head = label(title.getBoundingClientRect(), text(title), getComputedStyle(title), "start");
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif">` +
    `<rect width="100%" height="100%" fill="${page.backgroundColor}"/>${head}${cells.join("")}</svg>`;
  return { svg, width, height };
}
