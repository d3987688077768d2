// Trades of the live page's screen in numbers: the footprint in the price pane, and the tape under the figure.

const CELL = { width: 62, height: 13 }; // least size of a footprint's cell, pixels
const COLUMNS_MS = [250, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000];
const TAPE = 48;

// Cells of one column and price row each, with bought and sold sizes, and the delta of each column; coarse enough to be read.
export function footprint(lib, trades, { pane, left, right, low, high }, tick) {
  const column = COLUMNS_MS.find((ms) => (ms * pane.width) / (right - left) >= CELL.width) ?? COLUMNS_MS.at(-1);
  let row = tick;
  for (const factor of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000]) {
    row = tick * factor;
    if ((row * pane.height) / (high - low) >= CELL.height) break;
  }
  return { column, row, cells: lib.binTrades(trades, left, right, column, row), deltas: lib.volumeDelta(trades, left, right, column) };
}

// "sold x bought" in each cell, tinted by the side that traded more; the column's delta at the pane's lower edge.
export function drawFootprint(pen, { pane, left, right, low, high, x, y }, { column, row, cells, deltas }, format, colours, font) {
  const width = (column * pane.width) / (right - left) - 2;
  const height = (row * pane.height) / (high - low) - 1;
  const largest = Math.max(...cells.map((cell) => cell.bought + cell.sold + cell.unknown), 1e-12);
  const side = (net) => (net > 0 ? colours.up : net < 0 ? colours.down : colours.none);
  pen.font = `10px ${font.family}`;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (const cell of cells) {
    const [at, top] = [x(cell.time) - width / 2, y(cell.price) - height / 2];
    pen.globalAlpha = 0.15 + 0.45 * Math.sqrt((cell.bought + cell.sold + cell.unknown) / largest);
    pen.fillStyle = side(cell.bought - cell.sold);
    pen.fillRect(at, top, width, height);
    pen.globalAlpha = 1;
    pen.fillStyle = font.colour;
    pen.fillText(`${format.short(cell.sold)} x ${format.short(cell.bought)}`, x(cell.time), y(cell.price), width);
  }
  deltas.x.forEach((time, i) => {
    pen.fillStyle = side(deltas.y[i]);
    pen.fillText(`Δ ${format.signed(Number(deltas.y[i].toPrecision(2)))}`, x(time), pane.top + pane.height - 8, width);
  });
  pen.textAlign = "start";
  pen.textBaseline = "alphabetic";
}

// The newest trades, newest first: time, side, price and size.
export function drawTape(list, trades, format, labels) {
  const newest = trades.slice(-TAPE).reverse();
  while (list.children.length > newest.length) list.lastChild.remove();
  while (list.children.length < newest.length) list.append(document.createElement("li"));
  newest.forEach((trade, i) => {
    const item = list.children[i];
    const side = trade.side > 0 ? "bought" : trade.side < 0 ? "sold" : "unknown";
    const arrow = { bought: "▲", sold: "▼", unknown: "·" }[side];
    const text = `${format.time(trade.time)}  ${arrow} ${format.price(trade.price)}  ${format.significant(trade.size)}`;
    if (item.textContent === text) return;
    item.textContent = text;
    item.className = side;
    item.setAttribute("aria-label", `${labels[side] ?? ""} ${text}`.trim());
  });
}
