// What of the live page's figure is painted onto canvases, by the axes that plotly draws: resting sizes, lines, bars, levels.
// Most steps only add to what stands there, so plotly is asked for new axes only now and then.

const STEP_MS = 250;

// Resting sizes as pixels: one cell a level and row, nothing where there is no row. Rows already painted are left alone while the
// axes and the reader's choices stay.
export class Heat {
  constructor(canvas) {
    this.canvas = canvas;
    this.forget();
  }

  // Paint everything anew at the next draw.
  forget() {
    this.look = null;
  }

  draw(store, { pane, left, right, low, high }, size, { tick, contrast, cutoff, colours }) {
    const ratio = window.devicePixelRatio || 1;
    const look = JSON.stringify([pane, left, right, low, high, size, tick, contrast, cutoff, colours, ratio]);
    const pen = this.canvas.getContext("2d");
    const perMs = pane.width / (right - left);
    const every = Math.max(1, Math.floor(1 / (STEP_MS * perMs))); // rows in a pixel
    const fresh = look !== this.look;
    if (fresh) {
      [this.canvas.width, this.canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)]; // also clears
      this.shade = shades(store.between(left - STEP_MS, right), contrast, cutoff);
      this.until = left - STEP_MS;
      this.look = look;
    }
    const rows = store.between(this.until, right).filter((row) => every === 1 || (row.time / STEP_MS) % every < 1);
    if (!rows.length) return;
    const at = (time) => Math.round((time - left) * perMs * ratio); // pixels from the pane's edge
    const [first, whole] = [Math.max(0, at(rows[0].time)), Math.round(pane.width * ratio)];
    const last = Math.min(whole, at(rows.at(-1).time + STEP_MS * every) + 1);
    const [width, height] = [last - first, Math.round(pane.height * ratio)];
    this.until = rows.at(-1).time + 1;
    if (width <= 0 || height <= 0) return;
    const image = pen.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const perPrice = (pane.height / (high - low)) * ratio;
    const cell = Math.max(2 * ratio, perPrice * tick);
    const paint = [packed(colours.down), packed(colours.up)];
    for (const row of rows) {
      const from = Math.max(0, at(row.time) - first);
      const to = Math.min(width, Math.max(from + 1, at(row.time + STEP_MS * every) - first));
      const put = (middle, side, resting) => {
        const alpha = this.shade(resting);
        if (alpha <= 0) return;
        const colour = (paint[side] | (Math.round(255 * alpha) << 24)) >>> 0;
        const bottom = Math.min(height, Math.max(0, Math.round(middle + cell / 2)));
        for (let y = Math.max(0, Math.round(middle - cell / 2)); y < bottom; y++) pixels.fill(colour, y * width + from, y * width + to);
      };
      for (let i = 0; i < 40; i += 2) put((high - row.levels[i]) * perPrice, (i >> 1) & 1, row.levels[i + 1]);
      for (const [key, resting] of deepCells(row.deep, high, perPrice / cell)) put((key >> 1) * cell, key & 1, resting);
    }
    pen.putImageData(image, Math.round(pane.left * ratio) + first, Math.round(pane.top * ratio));
  }
}

// Sizes past the tenth level, summed by side and row of the drawing: 2 x row + side (0 asks, 1 bids) -> size.
function deepCells(deep, high, perPrice) {
  const cells = new Map();
  for (let i = 0; deep && i < deep.length && Number.isFinite(deep[i]); i += 2) {
    const key = 2 * Math.round((high - deep[i]) * perPrice) + ((i >> 1) & 1);
    if (key >= 0) cells.set(key, (cells.get(key) ?? 0) + deep[i + 1]);
  }
  return cells;
}

// From a resting size to how strongly it is drawn, over the log of the sizes shown.
function shades(rows, contrast, cutoff) {
  const sizes = [];
  for (let i = 0; i < rows.length; i += Math.max(1, Math.floor(rows.length / 60))) for (let k = 1; k < 40; k += 2) sizes.push(rows[i].levels[k]);
  sizes.sort((a, b) => a - b);
  const at = (q) => sizes[Math.min(sizes.length - 1, Math.floor(q * sizes.length))] ?? 1;
  const [small, large] = [at(Math.max(0.02, cutoff)), at(0.99)];
  const span = Math.max(Math.log(large / small), 1e-9);
  return (size) => (size < small && cutoff > 0 ? 0 : 0.04 + 0.9 * Math.min(1, Math.max(0, Math.log(size / small) / span)) ** contrast);
}

// "#rrggbb" as the lower three bytes of a pixel.
function packed(colour) {
  const value = parseInt(colour.slice(1), 16);
  return ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
}

// A line in a trace's style; x and y turn values into pixels, null breaks it.
export function drawLine(pen, points, { line, opacity }, x, y) {
  pen.save();
  pen.strokeStyle = line.color;
  pen.lineWidth = line.width ?? 2;
  pen.globalAlpha = opacity ?? 1;
  pen.lineJoin = "round";
  pen.beginPath();
  let before = null;
  points.x.forEach((time, i) => {
    const value = points.y[i];
    if (value === null) {
      before = null;
      return;
    }
    const [px, py] = [x(time), y(value)];
    if (before === null) pen.moveTo(px, py);
    else if (line.shape === "hv") {
      pen.lineTo(px, before);
      pen.lineTo(px, py);
    } else pen.lineTo(px, py);
    before = py;
  });
  pen.stroke();
  pen.restore();
}

// Bars from zero, of one width (milliseconds), in the colour of their sign.
export function drawBars(pen, points, width, colours, x, y) {
  points.x.forEach((time, i) => {
    const [zero, end] = [y(0), y(points.y[i])];
    pen.fillStyle = points.y[i] >= 0 ? colours.up : colours.down;
    pen.fillRect(x(time - width / 2), Math.min(zero, end), Math.max(1, x(time + width / 2) - x(time - width / 2)), Math.abs(end - zero));
  });
}

// A range that stands still while what must be seen lies within it and fills a good part of it.
export function steady(kept, low, high, least) {
  if (kept && low >= kept[0] && high <= kept[1] && high - low > least * (kept[1] - kept[0])) return kept;
  const room = 0.08 * (high - low) || Math.abs(high) * 1e-5 || 1;
  return [low - room, high + room];
}
