// Stages of the attention view: the thing that the model read, drawn once, and its light, drawn at each repaint.
//
// A stage has `kinds`, the kinds of its tokens, and
//   size(width, height)        lays itself out; returns the height that it takes
//   paint(context, lights)     draws everything; `lights` holds, by kind, {shares, most, token} of the light in force
//   at(x, y)                   [kind, token] under a point, or null
//   step(kind, token, dx, dy)  the token that an arrow key leads to
//   erases(token)              whether a token of the first kind can be rubbed out; cover(context, token) draws it so
// `shares` are 0 to `most`; `most` is full light. `shares` of a book may have a row of 40 a moment.

import { colour, parts } from "./colours.js";

const SIGN = /^(\[.*\]|<(?!0x).*>)$/; // a token of the model's own, such as [CLS]; "<0xF0>" is a byte of the text
export const SMALL = 112; // side of a square that shows the picture, pixels
const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';
export const NIGHT = colour("night");
const DARK = parts("night");
const WARM = parts("warm");
const COLD = parts("cool");
const MARK = colour("mark");
const ASK = parts("ask");
const BID = parts("bid");
const PALE = colour("pale");
const FAINT = parts("pale");
const INK = colour("ink");

const tint = (share) => (share < 0 ? COLD : WARM); // against the answer, or for it

export const glow = (share, most) => (most > 0 ? Math.pow(Math.min(1, Math.abs(share) / most), 0.6) : 0);

function sheet(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width));
  canvas.height = Math.max(1, Math.round(height));
  return canvas;
}

// A mask of night over what stays dark: one pixel a cell, stretched over the stage.
class Shade {
  constructor(columns, rows) {
    this.canvas = sheet(columns, rows);
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(columns, rows);
    for (let i = 0; i < columns * rows; i++) this.image.data.set([...DARK, 0], 4 * i);
  }
  draw(context, dark, box, smooth, quality = "high") {
    for (let i = 0; i < dark.length; i++) this.image.data[4 * i + 3] = dark[i];
    this.context.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = smooth;
    context.imageSmoothingQuality = quality;
    context.drawImage(this.canvas, ...box);
    context.imageSmoothingEnabled = true;
  }
}

const darkness = (light) => Math.round(232 * (1 - light));

// What is rubbed out: night, with a line across.
function covered(context, x, y, w, h) {
  context.fillStyle = NIGHT;
  context.fillRect(x, y, w, h);
  context.strokeStyle = MARK;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, y + h);
  context.lineTo(x + w, y);
  context.stroke();
}

class BookStage {
  constructor(scene, read) {
    this.kinds = Object.keys(scene.tokens).filter((kind) => scene.tokens[kind].length);
    this.names = scene.tokens;
    this.levels = read(scene.stage.levels);
    this.n = scene.tokens.time.length;
    this.channels = scene.tokens.channel?.length ?? 0;
    this.places = scene.stage.places;
    this.shade = new Shade(this.n, 1);
    const sizes = [];
    let low = Infinity;
    let high = -Infinity;
    for (let t = 0; t < this.n; t++)
      for (let k = 0; k < 10; k++) {
        const [askPrice, askSize, bidPrice, bidSize] = this.levels.subarray(40 * t + 4 * k, 40 * t + 4 * k + 4);
        high = Math.max(high, askPrice);
        low = Math.min(low, bidPrice);
        sizes.push(askSize, bidSize);
      }
    sizes.sort((a, b) => a - b);
    this.most = sizes[Math.floor(0.98 * sizes.length)] || 1;
    const margin = (high - low) * 0.03 || 1;
    [this.low, this.high] = [low - margin, high + margin];
  }
  size(width, height) {
    this.side = this.channels ? Math.min(Math.round(width * 0.26), 250) : 0;
    this.width = width - this.side - (this.side ? 14 : 0);
    this.height = height;
    this.whole = width;
    this.columns = 5;
    this.rows = Math.ceil(this.channels / this.columns);
    this.base = sheet(this.width * 2, height * 2);
    this.drawBook(this.base.getContext("2d"), 2);
    return height;
  }
  y(price) {
    return (this.height * (this.high - price)) / (this.high - this.low);
  }
  cell(t, k, side) {
    const w = this.width / this.n;
    const price = this.levels[40 * t + 4 * k + side];
    const next = this.levels[40 * t + 4 * Math.min(9, k + 1) + side];
    const h = Math.max(2, Math.min(26, Math.abs(this.y(price) - this.y(next)) * 0.92 || 4));
    return [t * w, this.y(price) - h / 2, w + 0.4, h];
  }
  drawBook(context, scale) {
    context.scale(scale, scale);
    context.fillStyle = NIGHT;
    context.fillRect(0, 0, this.width, this.height);
    for (let t = 0; t < this.n; t++)
      for (let k = 9; k >= 0; k--)
        for (const side of [0, 2]) {
          const share = Math.sqrt(Math.min(1, this.levels[40 * t + 4 * k + side + 1] / this.most));
          const [r, g, b] = side ? BID : ASK;
          context.fillStyle = `rgba(${r},${g},${b},${0.16 + 0.84 * share})`;
          context.fillRect(...this.cell(t, k, side));
        }
    context.strokeStyle = colour("bright");
    context.lineWidth = 1.6;
    context.beginPath();
    for (let t = 0; t < this.n; t++) {
      const mid = (this.levels[40 * t] + this.levels[40 * t + 2]) / 2;
      const x = ((t + 0.5) * this.width) / this.n;
      if (t) context.lineTo(x, this.y(mid));
      else context.moveTo(x, this.y(mid));
    }
    context.stroke();
  }
  paint(context, lights) {
    const { shares, most, token, reverse } = lights.time;
    context.drawImage(this.base, 0, 0, this.width, this.height);
    const box = [0, 0, this.width, this.height];
    if (shares.length > this.n) this.paintCells(context, shares, most);
    else {
      const dark = new Uint8Array(this.n);
      for (let t = 0; t < this.n; t++) dark[t] = darkness(glow(shares[t], most));
      this.shade.draw(context, dark, box, false);
      this.paintBars(context, shares, most);
    }
    if (token !== null) this.mark(context, (token * this.width) / this.n, 0, this.width / this.n, this.height, reverse);
    if (this.side) this.paintChannels(context, lights.channel);
  }
  paintBars(context, shares, most) {
    const w = this.width / this.n;
    const tall = Math.min(56, this.height * 0.16);
    for (let t = 0; t < this.n; t++) {
      const h = most > 0 ? (tall * Math.abs(shares[t])) / most : 0;
      context.fillStyle = `rgb(${tint(shares[t])})`;
      context.fillRect(t * w, this.height - h, Math.max(1, w - 0.6), h);
    }
  }
  // Inputs of each moment at the price that each tells of; those that tell of the mid are drawn there.
  paintCells(context, shares, most) {
    context.fillStyle = `rgba(${DARK},0.9)`;
    context.fillRect(0, 0, this.width, this.height);
    const width = shares.length / this.n;
    const w = this.width / this.n;
    for (let t = 0; t < this.n; t++) {
      const sums = new Map();
      for (let c = 0; c < width; c++) sums.set(this.places[c], (sums.get(this.places[c]) ?? 0) + shares[t * width + c]);
      for (const [place, sum] of sums) {
        const light = glow(sum, most);
        if (light < 0.05) continue;
        context.fillStyle = `rgba(${tint(sum)},${light})`;
        if (place < 0) {
          const mid = this.y((this.levels[40 * t] + this.levels[40 * t + 2]) / 2);
          context.fillRect(t * w, mid - 4, w + 0.4, 8);
        } else context.fillRect(...this.cell(t, Math.floor(place / 4), place % 4));
      }
    }
  }
  paintChannels(context, light) {
    const left = this.width + 14;
    context.fillStyle = NIGHT;
    context.fillRect(left, 0, this.side, this.height);
    const [w, h] = [this.side / this.columns, this.height / this.rows];
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${Math.min(13, h * 0.4)}px ${FONT}`;
    for (let c = 0; c < this.channels; c++) {
      const [x, y] = [left + (c % this.columns) * w, Math.floor(c / this.columns) * h];
      const bright = light ? glow(light.shares[c], light.most) : 0;
      context.fillStyle = `rgba(${light ? tint(light.shares[c]) : WARM},${bright})`;
      context.fillRect(x + 1.5, y + 1.5, w - 3, h - 3);
      context.fillStyle = bright > 0.5 ? INK : `rgba(${FAINT},${0.35 + bright})`;
      context.fillText(String(c + 1), x + w / 2, y + h / 2);
      if (light && light.token === c) this.mark(context, x + 1, y + 1, w - 2, h - 2, light.reverse);
    }
  }
  mark(context, x, y, w, h, reverse) {
    context.strokeStyle = reverse ? "white" : MARK;
    context.lineWidth = 2;
    context.setLineDash(reverse ? [4, 3] : []);
    context.strokeRect(x + 1, y + 1, Math.max(3, w - 2), h - 2);
    context.setLineDash([]);
  }
  erases() {
    return true;
  }
  cover(context, token) {
    covered(context, (token * this.width) / this.n, 0, this.width / this.n, this.height);
  }
  at(x, y) {
    if (y < 0 || y >= this.height) return null;
    if (x >= 0 && x < this.width) return ["time", Math.min(this.n - 1, Math.floor((x / this.width) * this.n))];
    const left = this.width + 14;
    if (!this.side || x < left || x >= this.whole) return null;
    const c = Math.floor((y / this.height) * this.rows) * this.columns + Math.floor(((x - left) / this.side) * this.columns);
    return c < this.channels ? ["channel", c] : null;
  }
  step(kind, token, dx, dy) {
    if (kind === "time") return Math.min(this.n - 1, Math.max(0, token + dx - 10 * dy));
    return Math.min(this.channels - 1, Math.max(0, token + dx + this.columns * dy));
  }
}

class PictureStage {
  constructor(scene, read, picture) {
    this.kinds = ["patch"];
    [this.rows, this.columns] = scene.stage.grid;
    this.extra = scene.stage.extra;
    this.aspect = scene.stage.aspect;
    this.picture = picture;
    this.shade = new Shade(this.columns, this.rows);
    this.reduced = sheet(SMALL, SMALL);
    const context = this.reduced.getContext("2d");
    context.imageSmoothingEnabled = picture.width > 64;
    context.drawImage(picture, 0, 0, SMALL, SMALL);
    if (scene.stage.vectors) this.tellApart(scene.stage, read);
  }
  // Vectors of the tokens, of length 1, and a colour a patch.
  tellApart({ vectors, parts: colours }, read) {
    [this.vectors, this.depth] = [read(vectors), vectors.shape[1]];
    this.parts = sheet(this.columns, this.rows);
    const image = this.parts.getContext("2d").createImageData(this.columns, this.rows);
    const values = read(colours);
    for (let i = 0; i < this.rows * this.columns; i++) image.data.set([...values.subarray(3 * i, 3 * i + 3), 255], 4 * i);
    this.parts.getContext("2d").putImageData(image, 0, 0);
  }
  // The cosine of each token with one, 0 where it is below.
  likeness(token) {
    const one = this.vectors.subarray(token * this.depth, (token + 1) * this.depth);
    return Float32Array.from({ length: this.vectors.length / this.depth }, (_, other) => {
      let sum = 0;
      for (let i = 0; i < this.depth; i++) sum += one[i] * this.vectors[other * this.depth + i];
      return Math.max(0, sum);
    });
  }
  size(width, height) {
    const wide = Math.min(width, height * this.aspect);
    this.box = [(width - wide) / 2, (height - wide / this.aspect) / 2, wide, wide / this.aspect];
    [this.width, this.height] = [width, height];
    return height;
  }
  paint(context, lights) {
    paintPicture(context, this, lights.patch);
    if (lights.parts) {
      context.drawImage(this.picture, ...this.box);
      context.imageSmoothingEnabled = false;
      context.globalAlpha = 0.8;
      context.drawImage(this.parts, ...this.box);
      context.globalAlpha = 1;
    }
    const { token, reverse } = lights.patch;
    if (token === null || token < this.extra) return;
    const [w, h] = [this.box[2] / this.columns, this.box[3] / this.rows];
    const cell = token - this.extra;
    outline(context, this.box[0] + (cell % this.columns) * w, this.box[1] + Math.floor(cell / this.columns) * h, w, h, reverse);
  }
  erases(token) {
    return token >= this.extra;
  }
  cover(context, token) {
    const [w, h] = [this.box[2] / this.columns, this.box[3] / this.rows];
    const cell = token - this.extra;
    covered(context, this.box[0] + (cell % this.columns) * w, this.box[1] + Math.floor(cell / this.columns) * h, w, h);
  }
  at(x, y) {
    const [left, top, w, h] = this.box;
    if (x < left || y < top || x >= left + w || y >= top + h) return null;
    const row = Math.floor(((y - top) / h) * this.rows);
    return ["patch", this.extra + row * this.columns + Math.floor(((x - left) / w) * this.columns)];
  }
  step(kind, token, dx, dy) {
    const most = this.extra + this.rows * this.columns - 1;
    const next = token + dx + dy * this.columns;
    return Math.min(most, Math.max(0, next));
  }
}

function outline(context, x, y, w, h, reverse) {
  context.strokeStyle = reverse ? "white" : MARK;
  context.lineWidth = 2.5;
  context.setLineDash(reverse ? [5, 4] : []);
  context.strokeRect(x + 1, y + 1, w - 2, h - 2);
  context.setLineDash([]);
}

// A picture under its light; a small square of a head is drawn by the same.
export function paintPicture(context, stage, light, box = stage.box) {
  const small = box[2] === SMALL;
  if (!small) {
    context.fillStyle = NIGHT;
    context.fillRect(box[0] - 2, box[1] - 2, box[2] + 4, box[3] + 4);
  }
  context.imageSmoothingEnabled = stage.picture.width > 64;
  context.drawImage(small ? stage.reduced : stage.picture, ...box);
  const cells = stage.rows * stage.columns;
  const dark = new Uint8Array(cells);
  for (let i = 0; i < cells; i++) dark[i] = darkness(glow(light.shares[stage.extra + i], light.most));
  stage.shade.draw(context, dark, box, true, small ? "low" : "high");
}

// A strip of frames under the one in play, and beside that one what is read up to it.
class FilmStage {
  constructor(scene, read, picture) {
    this.kinds = ["frame"];
    const { columns, rows, aspect, seconds, captions, notes, rests } = scene.stage;
    Object.assign(this, { picture, n: scene.tokens.frame.length, aspect, seconds, captions, notes, rests });
    this.sheetColumns = columns;
    this.cell = [picture.width / columns, picture.height / rows];
  }
  size(width, height) {
    this.frameHeight = 0;
    for (let rows = 1; rows <= 6; rows++) {
      const perRow = Math.ceil(this.n / rows);
      const tall = Math.min(width / perRow / this.aspect, (height * 0.4) / rows);
      if (tall > 1.2 * this.frameHeight) Object.assign(this, { perRow, stripRows: rows, frameHeight: tall });
    }
    this.frameWidth = this.frameHeight * this.aspect;
    this.strip = height - this.stripRows * this.frameHeight;
    [this.width, this.height] = [width, height];
    return height;
  }
  source(i) {
    const [w, h] = this.cell;
    return [(i % this.sheetColumns) * w, Math.floor(i / this.sheetColumns) * h, w, h];
  }
  paint(context, lights) {
    const { shares, most, token, reverse } = lights.frame;
    context.fillStyle = NIGHT;
    context.fillRect(0, 0, this.width, this.height);
    const inPlay = lights.inPlay ?? token ?? 0;
    const tall = this.strip - 8;
    const wide = Math.min(this.captions.length ? this.width * 0.6 : this.width, tall * this.aspect);
    context.drawImage(this.picture, ...this.source(inPlay), this.captions.length ? 0 : (this.width - wide) / 2, 0, wide, wide / this.aspect);
    if (this.captions.length) this.write(context, inPlay, wide + 20);
    const [w, h] = [this.frameWidth - 1, this.frameHeight - 1];
    for (let i = 0; i < this.n; i++) {
      const [x, y] = [(i % this.perRow) * this.frameWidth, this.strip + Math.floor(i / this.perRow) * this.frameHeight];
      context.drawImage(this.picture, ...this.source(i), x, y, w, h);
      context.fillStyle = `rgba(${DARK},${darkness(glow(shares[i], most)) / 255})`;
      context.fillRect(x, y, w, h);
      const bar = most > 0 ? (10 * Math.abs(shares[i])) / most : 0;
      context.fillStyle = `rgb(${tint(shares[i])})`;
      context.fillRect(x, y + h - bar, w, bar);
      if (i === inPlay) outline(context, x, y, w, h, i !== token || reverse);
      else if (i === token) outline(context, x, y, w, h, reverse);
    }
  }
  // as large as fits; the word of the frame in play is in light
  write(context, inPlay, left) {
    const words = this.captions.filter(([, first]) => first <= inPlay);
    const [right, bottom] = [this.width - 8, this.strip - 44];
    let placed = [];
    for (let size = Math.min(88, this.strip * 0.3); size >= 12; size *= 0.88) {
      context.font = `600 ${size}px ${FONT}`;
      let [x, y] = [left, size];
      placed = words.map(([word, , last]) => {
        const w = context.measureText(word).width;
        if (x > left && x + w > right) [x, y] = [left, y + 1.1 * size];
        x += w + 0.4 * size;
        return [word, x - w - 0.4 * size, y, last >= inPlay, x - 0.4 * size];
      });
      if (placed.every(([, , y, , end]) => y <= bottom && end <= right)) break;
    }
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    for (const [word, x, y, now] of placed) {
      context.fillStyle = now ? `rgb(${WARM})` : PALE;
      context.fillText(word, x, y, right - left);
    }
    context.font = `${Math.min(15, (right - left) / 10)}px ${FONT}`;
    context.fillStyle = PALE;
    context.fillText(this.notes[inPlay] ?? "", left, this.strip - 18, right - left);
  }
  erases() {
    return true;
  }
  cover(context, token) {
    const [x, y] = [(token % this.perRow) * this.frameWidth, this.strip + Math.floor(token / this.perRow) * this.frameHeight];
    covered(context, x, y, this.frameWidth - 1, this.frameHeight - 1);
  }
  at(x, y) {
    if (y < this.strip || x < 0 || x >= this.perRow * this.frameWidth) return null;
    const i = Math.floor((y - this.strip) / this.frameHeight) * this.perRow + Math.floor(x / this.frameWidth);
    return i >= 0 && i < this.n ? ["frame", i] : null;
  }
  step(kind, token, dx, dy) {
    return Math.min(this.n - 1, Math.max(0, token + dx + dy * this.perRow));
  }
}

// Words of a text, or its letters with the answer below them, which is written symbol by symbol: `asks` names the symbols, each of
// which looks at the letters or at the symbols before it ("past": one place earlier, as the begin sign is first).
// Tells whether a text runs from the right, by its first letter; null where it has none.
function runsFromRight(text) {
  const first = text.match(/\p{L}/u)?.[0];
  return first ? /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]/.test(first) : null;
}

// What joins Arabic letters over the edge of two pieces, which are drawn apart.
const linked = (one, next) => (/\p{sc=Arabic}$/u.test(one) && /^\p{sc=Arabic}/u.test(next) ? "\u200D" : "");

// Words of a line as they stand from left to right: runs of one direction, each in its own order.
function seen(units, fromRight) {
  const runs = [];
  for (const unit of units) {
    if (runs.at(-1)?.[0].fromRight === unit.fromRight) runs.at(-1).push(unit);
    else runs.push([unit]);
  }
  const ordered = runs.map((run) => (run[0].fromRight ? run.toReversed() : run));
  return (fromRight ? ordered.toReversed() : ordered).flat();
}

class WordStage {
  constructor(scene) {
    this.kinds = Object.keys(scene.tokens);
    this.words = scene.stage.words;
    this.joined = scene.stage.joined;
    this.answer = scene.stage.answer;
    this.units = [];
    this.words.forEach((word, i) => {
      if (i && this.joined[i]) this.units.at(-1).tokens.push(i);
      else this.units.push({ tokens: [i] });
    });
    this.fromRight = runsFromRight(this.words.filter((word) => !SIGN.test(word)).join(" ")) ?? false;
    for (const unit of this.units) {
      const text = unit.tokens.map((i) => this.words[i]).join("");
      unit.fromRight = (SIGN.test(text) ? null : runsFromRight(text)) ?? this.fromRight;
    }
    this.texts = this.words.map((word, i) => `${this.joined[i] && i ? linked(this.words[i - 1], word) : ""}${word}${this.joined[i + 1] ? linked(word, this.words[i + 1]) : ""}`);
    if (!this.answer.length) return;
    this.asks = "symbol";
    this.seconds = scene.tokens.symbol.map((_, i) => 0.8 * i);
  }
  size(width, height) {
    const ruler = sheet(1, 1).getContext("2d");
    this.pixels = this.asks ? 88 : width < 520 ? 24 : 44;
    for (;;) {
      this.font = `${this.pixels}px ${FONT}`;
      ruler.font = this.font;
      if (this.layOut(ruler, width, this.asks ? 0.58 * height : height) || this.pixels <= 12) break;
      this.pixels -= 2;
    }
    this.base = 0.86 * height;
    [this.width, this.height] = [width, height];
    this.layOutAnswer(ruler);
    return height;
  }
  // Words stand whole, a word's pieces side by side, from the right where the text is Hebrew or Arabic.
  layOut(ruler, width, height) {
    const pad = this.pixels;
    const space = this.pixels * 0.9;
    const most = width - 2 * pad;
    const rows = [[]];
    let filled = 0;
    let fits = true;
    this.widths = this.texts.map((text) => ruler.measureText(text).width);
    for (const unit of this.units) {
      let wide = unit.tokens.reduce((sum, i) => sum + this.widths[i], 0);
      if (wide > most) {
        for (const i of unit.tokens) this.widths[i] *= most / wide; // a word longer than the stage is drawn narrower
        [wide, fits] = [most, false];
      }
      if (filled && filled + space + wide > most) {
        rows.push([]);
        filled = 0;
      }
      rows.at(-1).push(unit);
      filled += (filled ? space : 0) + wide;
    }
    const line = Math.min(this.pixels * 3.4, (height - 1.2 * pad) / rows.length);
    const top = (height - line * rows.length) / 2 + line * 0.62;
    this.boxes = [];
    this.lineOf = [];
    rows.forEach((row, r) => {
      const order = seen(row, this.fromRight);
      const wide = order.reduce((sum, unit) => sum + unit.tokens.reduce((all, i) => all + this.widths[i], space), -space);
      let x = (width - wide) / 2;
      for (const unit of order) {
        for (const i of unit.fromRight ? unit.tokens.toReversed() : unit.tokens) {
          this.boxes[i] = [x, top + r * line, this.widths[i]];
          this.lineOf[i] = r;
          x += this.widths[i];
        }
        x += space;
      }
    });
    this.line = line;
    return fits && line >= this.pixels * 1.9 && (!this.asks || rows.length === 1 || this.pixels <= 24);
  }
  centre(i) {
    const [x, y, w] = this.boxes[i];
    return [x + w / 2, y - this.pixels * 0.32];
  }
  // Single signs stand at one distance, words as wide as they are.
  layOutAnswer(ruler) {
    ruler.font = `600 100px ${FONT}`;
    const single = this.answer.every((sign) => sign.length === 1);
    const wide = this.answer.map((sign) => (single ? 1 : ruler.measureText(sign).width / 100 + 0.5));
    const whole = wide.reduce((sum, one) => sum + one, 0);
    this.pitch = Math.min(single ? 72 : 34, (this.width - 16) / Math.max(1, whole));
    let x = (this.width - whole * this.pitch) / 2;
    this.places = wide.map((one) => (x += one * this.pitch) - (one * this.pitch) / 2);
  }
  // middle of a symbol of the answer; the begin sign is the first
  place(i) {
    return [this.places[i], this.base];
  }
  paint(context, lights) {
    const reads = lights.active !== "past";
    const dark = new Float32Array(this.words.length);
    const { shares, most, token, reverse } = reads ? lights.word : { shares: dark, most: 0, token: null };
    context.fillStyle = NIGHT;
    context.fillRect(0, 0, this.width, this.height);
    if (this.asks) this.write(context, lights, reads);
    for (let i = 0; i < this.words.length; i++) this.glowOf(context, i, glow(shares[i], most), tint(shares[i]));
    if (token !== null) for (let i = 0; i < this.words.length; i++) this.arc(context, token, i, shares[i], most, reverse);
    context.font = this.font;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    for (let i = 0; i < this.words.length; i++) {
      const light = glow(shares[i], most);
      const [x, y, w] = this.boxes[i];
      context.fillStyle = `rgb(${Math.round(112 + 143 * light)},${Math.round(122 + 126 * light)},${Math.round(136 + 90 * light)})`;
      context.fillText(this.texts[i], x, y, Math.max(1, w));
      if (i !== token) continue;
      context.fillStyle = reverse ? "white" : MARK;
      context.fillRect(x, y + this.pixels * 0.22, w, 3);
    }
  }
  // The answer, up to the symbol in play, and where that one looks.
  write(context, { word, symbol, past, inPlay }, reads) {
    const asking = symbol.token === null ? null : symbol.token + 1;
    if (asking !== null && (!reads || word.token === null)) {
      const [from, light] = [this.place(asking), reads ? word : past];
      const tall = 0.75 * Math.min(44, this.pitch);
      light.shares.forEach((share, i) => {
        const bright = glow(share, light.most);
        if (bright < 0.18) return;
        const to = reads ? this.centre(i) : this.place(i);
        context.strokeStyle = `rgba(${tint(share)},${0.12 + 0.8 * bright})`;
        context.lineWidth = 0.8 + 4 * bright;
        context.beginPath();
        context.moveTo(from[0], from[1] - tall);
        if (reads) context.bezierCurveTo(from[0], from[1] - 2.6 * tall, to[0], to[1] + 2.4 * tall, to[0], to[1] + 0.5 * this.pixels);
        else context.quadraticCurveTo((from[0] + to[0]) / 2, from[1] - 3 * tall, to[0], to[1] - tall);
        context.stroke();
      });
    }
    context.font = `600 ${Math.min(52, this.pitch)}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    this.answer.forEach((sign, i) => {
      if (i > (inPlay ?? Infinity) + 1) return;
      const light = reads || i === this.answer.length - 1 ? 0 : glow(past.shares[i], past.most);
      context.fillStyle = i === asking ? MARK : light > 0.1 ? `rgba(${tint(past.shares[i])},${0.4 + 0.6 * light})` : i ? PALE : colour("dim");
      context.fillText(sign, ...this.place(i));
    });
  }
  glowOf(context, i, light, colour) {
    if (light < 0.03) return;
    const [x, y] = this.centre(i);
    const reach = Math.max(this.boxes[i][2] * 0.75, this.pixels * 1.7);
    const soft = context.createRadialGradient(x, y, 0, x, y, reach);
    soft.addColorStop(0, `rgba(${colour},${0.5 * light})`);
    soft.addColorStop(1, `rgba(${colour},0)`);
    context.fillStyle = soft;
    context.fillRect(x - reach, y - reach, 2 * reach, 2 * reach);
  }
  arc(context, from, to, share, most, reverse) {
    const light = glow(share, most);
    if (to === from || light < 0.18) return;
    const [ax, ay] = this.centre(reverse ? to : from);
    const [bx, by] = this.centre(reverse ? from : to);
    const rise = this.lineOf[from] === this.lineOf[to] ? Math.min(this.line * 0.75, 18 + Math.abs(bx - ax) * 0.16) : 14;
    const lift = this.pixels * 0.6;
    context.strokeStyle = `rgba(${tint(share)},${0.12 + 0.8 * light})`;
    context.lineWidth = 0.8 + 4 * light;
    context.beginPath();
    context.moveTo(ax, ay - lift);
    context.quadraticCurveTo((ax + bx) / 2, Math.min(ay, by) - lift - rise, bx, by - lift);
    context.stroke();
  }
  erases(token) {
    return !SIGN.test(this.words[token])
  }
  cover(context, token) {
    const [x, y, w] = this.boxes[token];
    covered(context, x - 2, y - this.pixels * 0.8, w + 4, this.pixels * 1.1);
  }
  at(x, y) {
    if (this.asks && y > this.base - 1.2 * this.pitch) {
      const away = this.places.map((middle) => Math.abs(middle - x));
      const i = away.indexOf(Math.min(...away));
      return i > 0 && x <= this.places.at(-1) + 0.5 * this.pitch ? [this.asks, i - 1] : null;
    }
    for (let i = 0; i < this.words.length; i++) {
      const [left, base, w] = this.boxes[i];
      if (x >= left - 8 && x <= left + w + 8 && y >= base - this.pixels * 1.4 && y <= base + this.pixels * 0.8) return ["word", i];
    }
    return null;
  }
  step(kind, token, dx, dy) {
    if (kind !== "word") return Math.min(this.answer.length - 2, Math.max(0, token + dx));
    if (!dy) return Math.min(this.words.length - 1, Math.max(0, token + (this.fromRight ? -dx : dx)));
    const [x] = this.centre(token);
    const row = this.lineOf[token] + dy;
    let best = token;
    for (let i = 0; i < this.words.length; i++)
      if (this.lineOf[i] === row && (best === token || Math.abs(this.centre(i)[0] - x) < Math.abs(this.centre(best)[0] - x))) best = i;
    return best;
  }
}

class GridStage {
  constructor(scene) {
    this.kinds = Object.keys(scene.tokens);
    this.names = scene.tokens;
    this.columns = scene.stage.columns;
  }
  size(width, height) {
    [this.width, this.height] = [width, height];
    const wide = this.kinds.length > 1 ? (width - 16) / 2 : width;
    this.places = this.kinds.map((kind, i) => {
      const count = this.names[kind].length;
      const columns = Math.min(this.columns, count);
      const rows = Math.ceil(count / columns);
      const cell = [Math.min(wide / columns, 150), Math.min(height / rows, 76)];
      const left = i * (wide + 16) + (wide - columns * cell[0]) / 2;
      return { kind, columns, cell, left, top: (height - rows * cell[1]) / 2, count };
    });
    return height;
  }
  paint(context, lights) {
    context.fillStyle = NIGHT;
    context.fillRect(0, 0, this.width, this.height);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const { kind, columns, cell, left, top, count } of this.places) {
      const light = lights[kind];
      context.font = `${Math.max(10, Math.min(16, cell[1] * 0.36))}px ${FONT}`;
      for (let i = 0; i < count; i++) {
        const [x, y] = [left + (i % columns) * cell[0], top + Math.floor(i / columns) * cell[1]];
        const bright = light?.shares ? glow(light.shares[i], light.most) : 0;
        context.fillStyle = `rgba(${light?.shares ? tint(light.shares[i]) : WARM},${bright})`;
        context.fillRect(x + 2, y + 2, cell[0] - 4, cell[1] - 4);
        context.strokeStyle = `rgba(${FAINT},0.22)`;
        context.lineWidth = 1;
        context.strokeRect(x + 2.5, y + 2.5, cell[0] - 5, cell[1] - 5);
        context.fillStyle = bright > 0.5 ? INK : PALE;
        context.fillText(this.names[kind][i], x + cell[0] / 2, y + cell[1] / 2, cell[0] - 10);
        if (light && light.token === i) outline(context, x + 2, y + 2, cell[0] - 4, cell[1] - 4, light.reverse);
      }
    }
  }
  at(x, y) {
    for (const { kind, columns, cell, left, top, count } of this.places) {
      const [c, r] = [Math.floor((x - left) / cell[0]), Math.floor((y - top) / cell[1])];
      const i = r * columns + c;
      if (c >= 0 && c < columns && r >= 0 && i < count) return [kind, i];
    }
    return null;
  }
  step(kind, token, dx, dy) {
    const { columns, count } = this.places.find((one) => one.kind === kind);
    return Math.min(count - 1, Math.max(0, token + dx + dy * columns));
  }
}

export const STAGES = { book: BookStage, picture: PictureStage, film: FilmStage, words: WordStage, grid: GridStage };
