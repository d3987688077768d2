// Resting liquidity through time as numbers: one column a step, one row a step of price. Painted by terminal_chart.js.

import { niceStep } from "./terminal_data.js";

const MAX_ROWS = 4_096;
const ROOM = 0.5; // of what is asked for, kept on each side, so that a small move needs nothing new
export const NO_ROW = Infinity; // value of a column's cells where a step is missing
export const SHADES = 256; // of the colour scale
export const SCALE_ROWS = 128; // columns that the colours are fitted to, once

// The bands of a book, kept up to date by the changes of one row after the other.
export class Book {
  constructor() {
    this.sizes = new Map();
  }

  apply({ low, high, whole, keys, sizes }) {
    if (whole) this.sizes.clear();
    keys.forEach((key, i) => (sizes[i] > 0 ? this.sizes.set(key, sizes[i]) : this.sizes.delete(key)));
    [this.low, this.high] = [low, high];
  }
}

// A book as it was so many milliseconds before the newest row; none across a gap.
export class EarlierBook extends Book {
  follow(store, before) {
    const until = store.newest.time - before;
    for (let i = this.row ? store.indexOf(this.row.time + 1) : 0; store.rows[i]?.time <= until; i++) {
      this.row = store.rows[i];
      if (this.row.bands) this.apply(this.row.bands);
    }
    return this.row && this.row.time >= store.rows[store.stretch].time ? this : null;
  }
}

// Cells hold a size, bids above 0 and asks below, 0 where nothing rests, NaN where nothing is known.
export class DepthPicture {
  constructor() {
    this.forget();
  }

  forget() {
    this.place = null;
  }

  // Have slots `from` to `to` (whole numbers, the last one left out) and these prices in the picture, at least `pixels` rows between
  // them where the market's ticks allow it. Returns the columns that changed, [first, last).
  cover(store, from, to, [low, high], pixels) {
    const unit = this.unit(store, (high - low) / pixels);
    const { place } = this;
    const wide = place && to - from <= place.width;
    const fits = wide && place.unit === unit && from >= place.first && high <= place.top * unit && low >= (place.top - place.height) * unit;
    if (!fits) this.lay(store, from, to, [low, high], unit);
    else if (to > place.first + place.width) this.shift(from);
    const { first, width } = this.place;
    const [start, end] = [this.until, Math.min(to, first + width)];
    for (; this.until < end; this.until++) this.fill(store, store.slots[this.until], this.until - first);
    return fits ? [start - first, end - first] : [0, end - first];
  }

  // Rows are whole numbers of fine bands, or a fine band whole numbers of rows, each of whole ticks: else some hold more prices.
  unit({ fine, tick }, wanted) {
    if (!fine) return tick * niceStep(wanted / tick);
    if (wanted >= fine) return fine * niceStep(wanted / fine);
    const parts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].filter((n) => fine / n >= wanted && isWhole(fine / n / tick));
    return fine / (parts.at(-1) ?? 1);
  }

  lay(store, from, to, [low, high], unit) {
    const room = ROOM * (high - low);
    const height = Math.min(MAX_ROWS, Math.ceil((high - low + 2 * room) / unit) + 2);
    const top = Math.ceil((high + room) / unit);
    const first = Math.max(0, from - Math.round(0.1 * (to - from)));
    const width = Math.ceil(1.6 * (to - first)) + 64;
    const cells = width * height;
    const values = this.values?.length >= cells ? this.values : new Float32Array(Math.ceil(1.2 * cells));
    Object.assign(this, { place: { unit, top, height, first, width }, values, until: first });
    // The book before the first column: from the last row that was sent whole.
    let start = first;
    while (start > 0 && !store.slots[start].bands?.whole) start -= 1;
    this.book = new Book();
    for (; start < first; start++) if (store.slots[start].bands) this.book.apply(store.slots[start].bands);
  }

  // Columns before `from` make room for new ones.
  shift(from) {
    const { place } = this;
    const gone = Math.max(1, from - place.first);
    this.values.copyWithin(0, gone * place.height, (this.until - place.first) * place.height);
    place.first += gone;
    this.shifted = (this.shifted ?? 0) + gone;
  }

  fill(store, slot, x) {
    const { unit, top, height } = this.place;
    const { fine, coarse } = store;
    const column = this.values.subarray(x * height, (x + 1) * height);
    if (!slot.levels) return column.fill(NO_ROW);
    if (slot.bands) this.book.apply(slot.bands);
    const row = (price) => Math.min(height, Math.max(0, top - Math.round(price / unit)));
    // Each side by itself: in a row at the touch both may rest, and the larger one is drawn.
    this.sides = this.sides?.[0].length === height ? this.sides.map((side) => side.fill(0)) : [new Float32Array(height), new Float32Array(height)];
    const [asks, bids] = this.sides;
    const put = (y, side, size) => (this.sides[side][y] += size);
    column.fill(NaN);
    if (slot.bands) {
      column.fill(0, row(this.book.high), row(this.book.low));
      for (const [key, size] of this.book.sizes) {
        const [side, step] = [key & 1, key & 2 ? coarse : fine];
        const price = (key >> 2) * step;
        const share = (size * fine) / Math.max(step, unit); // as if spread evenly over its fine bands
        const y = top - 1 - Math.floor(price / unit + 1e-6);
        const last = Math.min(y, height - 1);
        for (let i = Math.max(0, y - Math.max(1, Math.round(step / unit)) + 1); i <= last; i++) put(i, side, share);
      }
    }
    if (!slot.bands || unit < fine) {
      // Finer than a band, or without bands: the ten levels a side, each on its own price.
      const { levels } = slot;
      for (const cells of [column, asks, bids]) cells.fill(0, row(levels[36] + unit), row(levels[38]));
      for (let i = 0; i < 40; i += 2) {
        const y = top - 1 - Math.floor(levels[i] / unit + 1e-6);
        if (y >= 0 && y < height) put(y, (i >> 1) & 1, levels[i + 1]);
      }
    }
    for (let y = 0; y < height; y++) if (asks[y] || bids[y]) column[y] = bids[y] >= asks[y] ? bids[y] : -asks[y];
    return column;
  }

  // The cell at a slot and a price; undefined outside the picture or where no row is.
  at(slot, price) {
    if (!this.place) return undefined;
    const { unit, top, height, first } = this.place;
    const y = top - 1 - Math.floor(price / unit + 1e-6);
    if (slot < first || slot >= this.until || y < 0 || y >= height) return undefined;
    const value = this.values[(slot - first) * height + y];
    return value === NO_ROW ? undefined : value;
  }

  // What rests there, and between which prices: those of the cell, which holds the mean of its fine bands, or of the band that the
  // cell is a part of.
  rests(slot, price, store) {
    const value = this.at(slot, price);
    const row = store.slots[slot];
    if (value === undefined || !row.levels) return null;
    const { unit } = this.place;
    const fine = row.bands ? store.fine : 0;
    const between = price >= row.levels[38] && price < row.levels[36] + unit; // each of the ten levels stands on its own price
    const step = between ? unit : Math.max(unit, fine);
    const low = Math.floor(price / step + 1e-6) * step;
    return { size: Math.abs(value) * (fine ? Math.max(1, unit / fine) : 1), low, high: low + step };
  }

  // Sizes between which the colours lie: of the cells that hold one, all but the outermost.
  scale() {
    const { height, first } = this.place;
    const sizes = [];
    for (let i = 0; i < (this.until - first) * height; i += 3) {
      const size = Math.abs(this.values[i]);
      if (size > 0 && size < Infinity) sizes.push(size);
    }
    sizes.sort((a, b) => a - b);
    const at = (share) => sizes[Math.min(sizes.length - 1, Math.floor(share * sizes.length))] ?? 1;
    const [low, high] = [at(0.5), at(0.999)].map((size) => Number(size.toPrecision(1)));
    return { low, high: Math.max(high, 2 * low) };
  }
}

function isWhole(value) {
  return value > 0.5 && Math.abs(value - Math.round(value)) < 1e-6;
}

// A size's place on the logarithmic scale, in whole shades. `low` is the logarithm at its lower end.
export function shadeOf(size, { low, span }) {
  return Math.round((SHADES - 1) * Math.min(1, Math.max(0, (Math.log(size) - low) / span)));
}

// How strongly a place on the scale is drawn, 0 to 1.
export function strength(place) {
  return 0.04 + 0.92 * place ** 1.5;
}
