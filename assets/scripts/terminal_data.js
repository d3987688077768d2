// What the live page knows of a market: decoded frames of core/market/stream.py, kept in time order.

const HEADER = 14;
const SCORES = 15;
const ROW_FIXED = 42;
const KEPT_ROWS = 14_400; // an hour
const STEP_MS = 250;
const SNAPSHOT = 1;

// One frame's bytes -> {kind, step, heads, rows, trades, outcomes, scores, ...}
export function decode(buffer) {
  const v = new Float64Array(buffer);
  const [kind, step, heads, rowCount, tradeCount, outcomeCount, receivedMs, status, warm, provisional, beganMs, tick, deepRows, deepWidth] = v;
  const width = ROW_FIXED + 6 * heads;
  let at = HEADER;
  const rows = [];
  for (let i = 0; i < rowCount; i++, at += width) {
    const row = v.subarray(at, at + width);
    const part = (first, count) => row.subarray(ROW_FIXED + first * heads, ROW_FIXED + (first + count) * heads);
    rows.push({
      time: row[0],
      levels: row.subarray(1, 41),
      mid: (row[1] + row[3]) / 2,
      predicted: row[41] === 1,
      probabilities: part(0, 3),
      calls: part(3, 1),
      momentum: part(4, 1),
      truth: part(5, 1),
    });
  }
  const trades = [];
  for (let i = 0; i < tradeCount; i++, at += 4) trades.push({ time: v[at], price: v[at + 1], size: v[at + 2], side: v[at + 3] });
  const outcomes = [];
  for (let i = 0; i < outcomeCount; i++, at += 3) outcomes.push({ time: v[at], head: v[at + 1], truth: v[at + 2] });
  const scores = [];
  for (let i = 0; i < heads; i++, at += SCORES) {
    const [resolved, matthews, naiveMatthews, f1, naiveF1, recent, recentMatthews, recentNaiveMatthews, ...rest] = v.subarray(at, at + SCORES);
    const [trades, result, reach, logLoss, naiveLogLoss, apart, apartAccuracy] = rest;
    const worth = { trades, result, reach };
    scores.push({ resolved, matthews, naiveMatthews, f1, naiveF1, recent, recentMatthews, recentNaiveMatthews, ...worth, logLoss, naiveLogLoss, apart, apartAccuracy });
  }
  // Levels past the tenth, of the last rows: float32, two to a number.
  const deep = new Float32Array(buffer, 8 * at, deepRows * deepWidth);
  for (let i = 0; i < deepRows; i++) rows[rowCount - deepRows + i].deep = deep.subarray(i * deepWidth, (i + 1) * deepWidth);
  return { kind, step, heads, rows, trades, outcomes, scores, receivedMs, status, warm, provisional, beganMs, tick };
}

export class MarketData {
  constructor() {
    this.clear();
  }

  clear() {
    this.rows = [];
    this.trades = [];
    this.scores = [];
    this.step = -1;
    this.status = 0;
    this.tick = 0;
  }

  // Take a frame in; true where it replaced what was there (a jump, a loop, or the first one).
  take(frame) {
    const newest = this.rows.at(-1)?.time ?? -Infinity;
    const anew = frame.kind === SNAPSHOT || (frame.rows.length > 0 && frame.rows[0].time <= newest);
    if (anew) this.clear();
    this.rows.push(...frame.rows);
    this.trades.push(...frame.trades);
    if (this.rows.length > KEPT_ROWS) {
      this.rows.splice(0, this.rows.length - KEPT_ROWS);
      const first = this.rows[0].time;
      this.trades = this.trades.filter((trade) => trade.time >= first);
    }
    for (const { time, head, truth } of frame.outcomes) {
      const row = this.rows[this.indexOf(time)];
      if (row?.time === time) row.truth[head] = truth;
    }
    for (const name of ["step", "status", "warm", "scores", "receivedMs", "provisional", "beganMs", "tick"]) this[name] = frame[name];
    return anew;
  }

  // Index of the first row at or after this time.
  indexOf(time) {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].time < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  between(from, to) {
    return this.rows.slice(this.indexOf(from), this.indexOf(to + 1));
  }

  // Trades in a span of time; they come nearly in order, so a second is allowed for.
  tradesBetween(from, to) {
    let first = this.trades.length;
    while (first > 0 && this.trades[first - 1].time >= from - 1_000) first -= 1;
    return this.trades.slice(first).filter(({ time }) => time >= from && time <= to);
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

  // Bought less sold size since the first whole second of the newest stretch: what a jump or a gap left out is no part of it.
  flow() {
    const since = Math.ceil(this.rows[this.stretch].time / 1000) * 1000;
    const trades = this.trades.filter(({ time }) => time > since);
    return { since, trades: trades.length, delta: trades.reduce((total, trade) => total + trade.side * trade.size, 0) };
  }
}

// Values of rows as a line: null wherever two rows are more than one step apart, so that nothing is drawn across a gap.
export function line(rows, value) {
  const x = [];
  const y = [];
  let before = null;
  for (const row of rows) {
    if (before !== null && row.time - before > STEP_MS) {
      x.push(before + STEP_MS);
      y.push(null);
    }
    x.push(row.time);
    y.push(value(row));
    before = row.time;
  }
  return { x, y };
}

// Which row of the price axis a price stands on, rows being `step` apart: asks and buys on the row at or above it, bids and sells
// on the row at or below it, so that a trade stands where what it took was resting. Side: above 0 asks and buys, below 0 bids and sells.
export function priceRow(price, step, side) {
  const place = Number((price / step).toFixed(6));
  return side > 0 ? Math.ceil(place) : side < 0 ? Math.floor(place) : Math.round(place);
}

// How many ticks a row of the ladder covers, so that `count` of them reach over the books of most of these rows: 1, 2, 5, 10, 20, ...
export function fittingGroup(rows, tick, count) {
  const spans = rows.map(({ levels }) => levels[36] - levels[38]).sort((a, b) => a - b);
  const wanted = (spans[Math.floor(spans.length / 2)] ?? 0) / count / tick;
  for (let power = 1; power < 1e12; power *= 10) {
    for (const step of [1, 2, 5]) if (step * power >= wanted) return step * power;
  }
  return 1;
}

// Trades put into time columns and price rows, with bought and sold sizes; none is dropped.
export function binTrades(trades, from, to, column, tick) {
  const bins = new Map();
  for (const trade of trades) {
    if (trade.time < from || trade.time > to) continue;
    const x = Math.floor(trade.time / column) * column + column / 2;
    const price = priceRow(trade.price, tick, trade.side);
    const key = `${x}|${price}`;
    const bin = bins.get(key) ?? { time: x, price: price * tick, bought: 0, sold: 0, unknown: 0, count: 0 };
    bin[trade.side > 0 ? "bought" : trade.side < 0 ? "sold" : "unknown"] += trade.size;
    bin.count += 1;
    bins.set(key, bin);
  }
  return [...bins.values()];
}

// Bought less sold size per time column.
export function volumeDelta(trades, from, to, column) {
  const sums = new Map();
  for (const trade of trades) {
    if (trade.time < from || trade.time > to) continue;
    const x = Math.floor(trade.time / column) * column + column / 2;
    sums.set(x, (sums.get(x) ?? 0) + trade.side * trade.size);
  }
  const x = [...sums.keys()].sort((a, b) => a - b);
  return { x, y: x.map((time) => sums.get(time)) };
}

// Traded size per price, the price with the most (point of control), and the span that holds 70 % of it (value area).
export function volumeProfile(trades, from, to, tick) {
  const sizes = new Map();
  let total = 0;
  let weighted = 0;
  for (const trade of trades) {
    if (trade.time < from || trade.time > to) continue;
    const price = priceRow(trade.price, tick, trade.side);
    sizes.set(price, (sizes.get(price) ?? 0) + trade.size);
    total += trade.size;
    weighted += trade.size * trade.price;
  }
  if (!total) return null;
  const [poc] = [...sizes.entries()].reduce((a, b) => (b[1] > a[1] ? b : a));
  let low = poc;
  let high = poc;
  let inside = sizes.get(poc);
  const prices = [...sizes.keys()];
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  while (inside < 0.7 * total && (low > least || high < most)) {
    const below = low > least ? (sizes.get(low - 1) ?? 0) : -1;
    const above = high < most ? (sizes.get(high + 1) ?? 0) : -1;
    if (above >= below) inside += Math.max(0, sizes.get(++high) ?? 0);
    else inside += Math.max(0, sizes.get(--low) ?? 0);
  }
  return { sizes, tick, total, poc: poc * tick, low: low * tick, high: high * tick, vwap: weighted / total };
}

// "right", "wrong", "pending" of a row's call for one head.
export function verdict(row, head) {
  if (row.truth[head] < 0) return "pending";
  return row.truth[head] === row.calls[head] ? "right" : "wrong";
}
