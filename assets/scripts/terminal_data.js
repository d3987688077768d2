// What the live page knows of a market: decoded frames of core/market/stream.py, kept in time order; and what follows from them.

const KEPT_ROWS = 14_400; // an hour
export const STEP_MS = 250;
export const FRESH_MS = 2_000; // of the market's time, past which what explains a row is of another moment
const SNAPSHOT = 1;
const MAX_BLANK = 40; // steps of a gap that are drawn: ten seconds; a longer one is drawn as long
const LATE_MS = 60_000;

// One frame's bytes -> {kind, step, rows, trades, outcomes, scores, ...}, by the names and places of the schema that Python gave.
export function decode(buffer, schema) {
  const v = new Float64Array(buffer);
  const named = (names, at) => Object.fromEntries(names.map((name, i) => [name, v[at + i]]));
  let at = 0;
  const many = (count, names) =>
    Array.from({ length: count }, () => {
      at += names.length;
      return named(names, at - names.length);
    });
  const [header] = many(1, schema.header);
  const changes = [];
  const rows = [];
  for (let i = 0; i < header.rows; i++) {
    const [fixed] = many(1, schema.row);
    const levels = v.subarray(at, (at += schema.levels));
    const row = { time: fixed.time, predicted: fixed.predicted === 1, levels, mid: (levels[0] + levels[2]) / 2 };
    for (const [name, width] of Object.entries(schema.parts)) row[name] = v.subarray(at, (at += width * header.heads));
    rows.push(row);
    changes.push(fixed);
  }
  const frame = { ...header, rows };
  frame.trades = many(header.trades, schema.trade);
  frame.outcomes = many(header.outcomes, schema.outcome);
  frame.breaks = many(header.breaks, schema.break);
  frame.scores = many(header.heads, schema.scores);
  const [keys, sizes] = [0, 4 * header.bands].map((from) => new Float32Array(buffer, 8 * at + from, header.bands));
  let first = 0;
  changes.forEach(({ low, high, whole, changes: count }, i) => {
    if (count < 0) return;
    rows[i].bands = { low, high, whole: whole === 1, keys: keys.subarray(first, first + count), sizes: sizes.subarray(first, first + count) };
    first += count;
  });
  return frame;
}

export class MarketData {
  constructor() {
    this.status = 0; // of messages: a frame that waited may be of an earlier one
    this.clear();
  }

  clear() {
    this.rows = [];
    this.trades = [];
    this.breaks = []; // {from, until} in which trades were not followed
    this.scores = [];
    this.slots = []; // a place on the time axis each: a row, or {time} of a step that is missing
    this.step = -1;
    this.tick = this.receivedMs = this.heardMs = 0;
  }

  // Take a frame in; true where it replaced what was there (a jump, a loop, or the first one).
  addFrame(frame) {
    const newest = this.rows.at(-1)?.time ?? -Infinity;
    const anew = frame.kind === SNAPSHOT || (frame.rows.length > 0 && frame.rows[0].time <= newest);
    if (anew) this.clear();
    for (const row of frame.rows) {
      this.slots.push(...blanks(this.rows.at(-1)?.time, row.time).map((time) => ({ time })));
      this.rows.push(row);
      this.slots.push(row);
    }
    this.trades.push(...frame.trades);
    this.breaks.push(...(frame.breaks ?? []));
    const cut = this.rows.length > 1.1 * KEPT_ROWS; // all at once, as the time axis is then built anew
    if (cut) {
      this.rows.splice(0, this.rows.length - KEPT_ROWS);
      const first = this.rows[0].time;
      this.slots = this.slots.filter((slot) => slot.time >= first);
      this.trades = this.trades.filter((trade) => trade.time >= first);
      this.breaks = this.breaks.filter(({ until }) => until >= first);
    }
    for (const { time, head, truth } of frame.outcomes) {
      const row = this.rows[this.indexOf(time)];
      if (row?.time === time) row.truth[head] = truth;
    }
    const kept = ["step", "warm", "scores", "receivedMs", "heardMs", "provisional", "tick", "fine", "coarse"];
    for (const name of kept) this[name] = frame[name];
    return anew || cut;
  }

  // Index of the first of these at or after this time.
  indexOf(time, items = this.rows) {
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[middle].time < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  between(from, to) {
    return this.rows.slice(this.indexOf(from), this.indexOf(to + 1));
  }

  // Where a moment lies on the time axis, in slots; within a gap that is drawn shorter, at its end.
  slotAt(time) {
    const i = this.indexOf(time, this.slots);
    const slot = this.slots[i];
    if (slot) return i && slot.time - time < STEP_MS ? i - (slot.time - time) / STEP_MS : i;
    return this.slots.length - 1 + (this.slots.length ? (time - this.slots.at(-1).time) / STEP_MS : 0);
  }

  // The moment at a place of the time axis, past its ends too.
  timeAt(place) {
    const last = this.slots.length - 1;
    const i = Math.min(last, Math.max(0, Math.round(place)));
    return this.slots[i].time + (place - i) * STEP_MS;
  }

  // Trades in a span of time; they come nearly in order: a minute is allowed for, as a venue sends those of a break after it.
  tradesBetween(from, to) {
    let first = this.trades.length;
    while (first > 0 && this.trades[first - 1].time >= from - LATE_MS) first -= 1;
    const found = [];
    for (let i = first; i < this.trades.length; i += 1) if (this.trades[i].time >= from && this.trades[i].time <= to) found.push(this.trades[i]);
    return found;
  }

  // The tape, newest first: trades, and the breaks between them at their beginning.
  tape(count, smallest = 0) {
    const items = [];
    let next = this.breaks.length - 1;
    for (let i = this.trades.length - 1; i >= 0 && items.length < count; i -= 1) {
      for (; next >= 0 && this.trades[i].time <= this.breaks[next].from; next -= 1) items.push(this.breaks[next]);
      if (this.trades[i].size >= smallest) items.push(this.trades[i]);
    }
    return items.slice(0, count);
  }

  get newest() {
    return this.rows.at(-1);
  }

  // Index of the first row since the last jump or gap.
  get stretch() {
    let i = this.rows.length - 1;
    while (i > 0 && this.rows[i].time - this.rows[i - 1].time <= STEP_MS) i -= 1;
    return i;
  }

  // Stretches {from, until} without rows, and those in which trades were not followed.
  get holes() {
    const { rows } = this;
    const gaps = rows.slice(1).flatMap((row, i) => (apart(rows[i], row) ? [{ from: rows[i].time, until: row.time }] : []));
    return [...gaps, ...this.breaks].sort((a, b) => a.from - b.from);
  }

  // Bought less sold size since the first whole second of the newest stretch: what a jump, a gap or a break left out is no part of it.
  flow() {
    const begin = Math.max(this.rows[this.stretch].time, this.breaks.at(-1)?.until ?? 0);
    const since = Math.ceil(begin / 1000) * 1000;
    if (this.flowed?.since !== since || this.flowed.of !== this.trades) this.flowed = { since, of: this.trades, next: 0, trades: 0, delta: 0 };
    const kept = this.flowed;
    for (; kept.next < this.trades.length; kept.next += 1) {
      const { time, side, size } = this.trades[kept.next];
      if (time > since) [kept.trades, kept.delta] = [kept.trades + 1, kept.delta + side * size];
    }
    return { since, trades: kept.trades, delta: kept.delta };
  }
}

// Times of the missing steps between two rows that are given room on the time axis.
function blanks(before, time) {
  const missing = before === undefined ? 0 : Math.round((time - before) / STEP_MS) - 1;
  return Array.from({ length: Math.min(missing, MAX_BLANK) }, (_, i) => time - (Math.min(missing, MAX_BLANK) - i) * STEP_MS);
}

// Whether a step is missing between two rows, the second of which may not be known.
export function apart(row, next) {
  return Boolean(row && next) && next.time - row.time > STEP_MS;
}

// The newest stretch {from, until} without a call between two rows with one, or up to the newest row; undefined where there is none.
export function uncalled(rows) {
  let until = rows.length - 1;
  while (until > 0 && rows[until].predicted && rows[until - 1].predicted && !apart(rows[until - 1], rows[until])) until -= 1;
  let from = until - 1;
  while (from >= 0 && !rows[from].predicted) from -= 1;
  return from < 0 ? undefined : { from: rows[from].time, until: rows[until].time };
}

// A line's point. Its colour is that of the line after it: none before a gap, as nothing is drawn across one.
export function linePoint(row, value, next) {
  const point = { time: row.time / 1000, value };
  return apart(row, next) ? { ...point, color: "transparent" } : point;
}

// Which row of the price axis a price stands on, rows being `step` apart: asks and buys on the row at or above it, bids and sells
// on the row at or below it, so that a trade stands where what it took was resting. Side: above 0 asks and buys, below 0 bids and sells.
export function priceRow(price, step, side) {
  const place = Math.round((price / step) * 1e6) / 1e6;
  return side > 0 ? Math.ceil(place) : side < 0 ? Math.floor(place) : Math.round(place);
}

// The first of 1, 2, 5, 10, 20, ... that is not below `least`.
export function niceStep(least) {
  for (let power = 1; power < 1e12; power *= 10) {
    for (const step of [1, 2, 5]) if (step * power >= least) return step * power;
  }
  return 1;
}

// Whether price rows of this step hold whole bands.
export function holdsBands(step, fine) {
  return Boolean(fine) && step >= fine && Number.isInteger(Number((step / fine).toFixed(6)));
}

// Resting sizes of one row's book by price row, asks and bids: of its ten levels, or of its bands where a row holds whole ones.
export function restingByRow(row, bands, step, fine) {
  const sides = [new Map(), new Map()];
  const add = (side, place, size) => sides[side].set(place, (sides[side].get(place) ?? 0) + size);
  if (bands && holdsBands(step, fine)) {
    for (const [key, size] of bands) {
      const [side, coarse, index] = [key & 1, key & 2, key >> 2];
      if (!coarse) add(side, priceRow((index + (side ? 0 : 1)) * fine, step, side ? -1 : 1), size);
    }
    // An ask on the lower edge of its band stands a row below the rest of it: of the ten levels that is known.
    for (let i = 0; i < 40; i += 4) {
      const [price, size] = [row.levels[i], row.levels[i + 1]];
      const [stands, counted] = [price, (Math.floor(price / fine + 1e-6) + 1) * fine].map((edge) => priceRow(edge, step, 1));
      if (stands === counted) continue;
      const left = (sides[0].get(counted) ?? 0) - size;
      if (left > 1e-5 * size) sides[0].set(counted, left);
      else sides[0].delete(counted);
      add(0, stands, size);
    }
    return sides;
  }
  for (let i = 0; i < 40; i += 2) {
    const side = (i >> 1) & 1;
    add(side, priceRow(row.levels[i], step, side ? -1 : 1), row.levels[i + 1]);
  }
  return sides;
}

// Trades put into time columns and price rows, with bought and sold sizes; none is dropped.
export function binTrades(trades, column, tick) {
  const columns = new Map();
  let [at, bins] = [NaN];
  for (const { time, price, size, side } of trades) {
    const x = Math.floor(time / column) * column + column / 2;
    if (x !== at) columns.set((at = x), (bins = columns.get(x) ?? new Map())); // trades come nearly in order
    const row = priceRow(price, tick, side);
    let bin = bins.get(row);
    if (!bin) bins.set(row, (bin = { time: x, price: row * tick, bought: 0, sold: 0, unknown: 0, count: 0 }));
    if (side > 0) bin.bought += size;
    else if (side < 0) bin.sold += size;
    else bin.unknown += size;
    bin.count += 1;
  }
  return [...columns.values()].flatMap((some) => [...some.values()]);
}

// Bought less sold size per time column.
export function volumeDelta(trades, column) {
  const sums = new Map();
  let [at, sum] = [NaN];
  for (const { time, side, size } of trades) {
    const x = Math.floor(time / column) * column + column / 2;
    if (x !== at) sums.set((at = x), (sum = sums.get(x) ?? { of: 0 }));
    sum.of += side * size;
  }
  const x = [...sums.keys()].sort((a, b) => a - b);
  return { x, y: x.map((time) => sums.get(time).of) };
}

// Bought less sold size at the end of each time column, summed since the last hole; what was traded in a hole is no part of it.
export function cumulativeDelta(trades, holes, from, to, column) {
  const begin = holes.reduce((last, { until }) => (until <= from ? Math.max(last, until) : last), -Infinity);
  const later = holes.filter(({ until }) => until > begin);
  const outside = ({ time }) => time > begin && time <= to && !later.some((hole) => hole.from < time && time <= hole.until);
  const kept = trades.filter(outside).sort((a, b) => a.time - b.time);
  const [x, y] = [[], []];
  let [sum, next, passed] = [0, 0, 0];
  const pass = (time) => {
    for (; passed < later.length && later[passed].from < time; passed++) sum = 0;
  };
  for (let start = Math.floor(from / column) * column; start <= to; start += column) {
    for (; next < kept.length && kept[next].time < start + column; next++) {
      pass(kept[next].time);
      sum += kept[next].side * kept[next].size;
    }
    pass(start + column);
    x.push(start + column / 2);
    y.push(sum);
  }
  return { x, y };
}

// Open, high, low and close of the mid over so many seconds each, none across a gap.
export function priceBars(rows, seconds) {
  const made = [];
  for (const { time, mid } of rows) {
    const [span, last] = [Math.floor(time / (1000 * seconds)), made.at(-1)];
    if (last?.span !== span || time - last.until > STEP_MS) made.push({ span, from: time, until: time, open: mid, high: mid, low: mid, close: mid });
    else Object.assign(last, { until: time, high: Math.max(last.high, mid), low: Math.min(last.low, mid), close: mid });
  }
  return made;
}

// Size bid less size asked over the ten levels, as a share of both.
export function imbalance(levels) {
  let [asks, bids] = [0, 0];
  for (let i = 0; i < 40; i += 4) [asks, bids] = [asks + levels[i + 1], bids + levels[i + 3]];
  return (bids - asks) / (bids + asks);
}

// Traded size by price row.
export function tradedByRow(trades, tick) {
  const sizes = new Map();
  for (const { price, side, size } of trades) {
    const row = priceRow(price, tick, side);
    sizes.set(row, (sizes.get(row) ?? 0) + size);
  }
  return sizes;
}

// "right", "wrong", "pending" of a row's call for one head.
export function verdict(row, head) {
  if (row.truth[head] < 0) return "pending";
  return row.truth[head] === row.calls[head] ? "right" : "wrong";
}

// A range that stands still while what must be seen lies within it and fills a good part of it.
export function steady(kept, low, high, least) {
  if (kept && low >= kept[0] && high <= kept[1] && high - low > least * (kept[1] - kept[0])) return kept;
  const room = 0.08 * (high - low) || Math.abs(high) * 1e-5 || 1;
  return [low - room, high + room];
}
