// The live page's functions without a browser: frames that Python encoded, price rows, volume delta.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import * as lib from "../../assets/scripts/terminal_data.js";

const schema = JSON.parse(readFileSync(`${process.env.FRAMES}/schema.json`, "utf8"));

// FRAMES names a folder with frames of `core.market.stream.encode` (*.bin) and what went into them (*.json).
for (const name of ["snapshot", "step", "empty"]) {
  test(`the frame "${name}" is read as Python wrote it`, () => {
    const bytes = readFileSync(`${process.env.FRAMES}/${name}.bin`);
    const { rows, ...frame } = lib.decode(new Uint8Array(bytes).buffer, schema);
    const { rows: written, ...expected } = JSON.parse(readFileSync(`${process.env.FRAMES}/${name}.json`, "utf8"));
    const numbers = (value) => JSON.parse(JSON.stringify(value, (_key, one) => (ArrayBuffer.isView(one) ? [...one] : one)));
    assert.deepEqual(numbers(frame), expected);
    assert.deepEqual(numbers(rows), written);
  });
}

for (const step of [0.01, 0.05, 0.5, 5.0]) {
  test(`a trade stands on the row of what it took, rows ${step} apart`, () => {
    const [ask, bid] = [61_756.01, 61_756.0];
    const row = (price, side) => lib.priceRow(price, step, side);
    assert.equal(row(bid, -1), Math.round(bid / step));
    assert.equal(row(Math.round(ask / step) * step, 1), Math.round(ask / step));
    assert.ok(row(ask, 1) > row(bid, -1));
    const trades = [{ time: 1, price: ask, size: 1, side: 1 }, { time: 1, price: bid, size: 2, side: -1 }];
    const sizes = lib.tradedByRow(trades, step);
    assert.deepEqual(sizes, new Map([[row(ask, 1), 1], [row(bid, -1), 2]]));
    const bins = new Map(lib.binTrades(trades, 250, step).map((one) => [Math.round(one.price / step), [one.bought, one.sold]]));
    assert.deepEqual(bins, new Map([[row(ask, 1), [1, 0]], [row(bid, -1), [0, 2]]]));
  });
}

test("a frame that waited while the feed was paused does not say that it plays", () => {
  const store = new lib.MarketData();
  store.status = 5;
  store.addFrame({ kind: 1, status: 3, rows: [], trades: [], outcomes: [], scores: [] });
  assert.equal(store.status, 5);
});

test("the delta begins after the last hole at a whole second", () => {
  const store = new lib.MarketData();
  store.rows = [250, 500, 750, 60_250, 60_500, 61_000, 61_250, 61_500, 62_250, 62_500].map((time) => ({ time }));
  const trades = [[300, 5, 1], [60_400, 7, 1], [62_300, 1, 1], [62_900, 4, -1], [63_000, 2, -1], [63_100, 3, 1]];
  store.trades = trades.map(([time, size, side]) => ({ time, size, side }));
  assert.equal(store.stretch, 8);
  assert.deepEqual(store.flow(), { since: 63_000, trades: 1, delta: 3 });
});

// Rows with a call, and times of those on both sides of the newest stretch without one.
for (const [name, called, expected] of [
  ["no row", [], undefined],
  ["all", [1, 2, 3], undefined],
  ["the rows before the first call", [0, 0, 3], undefined],
  ["rows that came while nobody watched", [1, 2, 0, 0, 5, 6], [500, 1250]],
  ["the newest of two such stretches", [1, 0, 3, 0, 5], [750, 1250]],
  ["the newest rows", [1, 2, 0, 0], [500, 1000]],
]) {
  test(`no call stands at: ${name}`, () => {
    const rows = called.map((predicted, i) => ({ time: 250 * (i + 1), predicted: predicted > 0 }));
    const hole = lib.uncalled(rows);
    assert.deepEqual(hole && [hole.from, hole.until], expected);
  });
}

test("no call stands in a gap, nor until a window is whole after it", () => {
  const rows = [[250, 1], [500, 1], [9_000, 0], [9_250, 0], [9_500, 1], [9_750, 1]].map(([time, called]) => ({ time, predicted: called > 0 }));
  assert.deepEqual(lib.uncalled(rows), { from: 500, until: 9_500 });
});

// A point's colour is that of the line to the next point, as the library draws it.
test("nothing is drawn across a gap", () => {
  const rows = [250, 500, 1_000].map((time) => ({ time }));
  const colours = rows.map((row, i) => lib.linePoint(row, 1, rows[i + 1]).color);
  assert.deepEqual(colours, [undefined, "transparent", undefined]);
});

const taken = (times) => {
  const store = new lib.MarketData();
  const rows = times.map((time) => ({ time, truth: [] }));
  store.addFrame({ kind: 1, rows, trades: [], outcomes: [], scores: [] });
  return store;
};

test("a gap has room on the time axis, a long one no more than ten seconds", () => {
  const store = taken([0, 250, 1_000, 3_600_000]);
  assert.equal(store.slots.length, 4 + 2 + 40);
  assert.deepEqual(store.slots.slice(0, 5).map(({ time }) => time), [0, 250, 500, 750, 1_000]);
  assert.deepEqual([store.slotAt(0), store.slotAt(250), store.slotAt(375), store.slotAt(1_000)], [0, 1, 1.5, 4]);
  assert.deepEqual([store.timeAt(4), store.timeAt(45), store.timeAt(47), store.timeAt(-2)], [1_000, 3_600_000, 3_600_500, -500]);
  assert.equal(store.slotAt(1_800_000), 5); // within what is not drawn: at its end
});

test("the summed delta begins at 0 after every hole, and leaves out what was traded in one", () => {
  const holes = [{ from: 1_000, until: 3_000 }, { from: 6_100, until: 6_200 }];
  const trades = [[500, 1], [900, 2], [2_000, 50], [3_500, 4], [5_200, -1], [6_050, 8], [6_150, 70], [6_900, 16]];
  const sums = (from, to) => lib.cumulativeDelta(trades.map(([time, size]) => ({ time, size: Math.abs(size), side: Math.sign(size) })), holes, from, to, 1_000).y;
  assert.deepEqual(sums(0, 7_500), [3, 0, 0, 4, 4, 3, 16, 16]);
  assert.deepEqual(sums(4_000, 5_999), [4, 3]); // of what came before the view, too
});

test("a price bar holds the mids of its span, and none across a gap", () => {
  const mids = [5, 7, 6, 4, 9, 8, 3];
  const rows = [4_500, 4_750, 5_000, 5_250, 5_500, 7_000, 7_250].map((time, i) => ({ time, mid: mids[i] }));
  const bars = lib.priceBars(rows, 5).map(({ from, until, open, high, low, close }) => [from, until, open, high, low, close]);
  assert.deepEqual(bars, [[4_500, 4_750, 5, 7, 5, 7], [5_000, 5_500, 6, 9, 4, 9], [7_000, 7_250, 8, 8, 3, 3]]);
});

test("a book's rows come from its bands where a row holds whole ones, else from its ten levels", () => {
  const levels = Array(40).fill(0);
  for (let i = 0; i < 10; i++) levels.splice(4 * i, 4, 10.5 + i, 1, 10 - i, 2);
  const bands = new Map([[4 * 10, 5], [4 * 9 + 1, 7], [4 * 20 + 2, 99]]); // an ask in 10..11, a bid in 9..10, a coarse one
  const [asks, bids] = lib.restingByRow({ levels }, bands, 2, 1);
  assert.deepEqual([...asks, ...bids], [[6, 5], [4, 7]]);
  levels.splice(0, 2, 10, 3); // of the five in that band three rest on its lower edge, which is a row of its own
  assert.deepEqual([...lib.restingByRow({ levels }, bands, 1, 1)[0]].sort(), [[10, 3], [11, 2]]);
  levels.splice(0, 2, 10, 5);
  assert.deepEqual([...lib.restingByRow({ levels }, bands, 1, 1)[0]], [[10, 5]]);
  levels.splice(0, 2, 10.5, 1);
  assert.equal(lib.restingByRow({ levels }, bands, 0.5, 1)[0].get(21), 1);
  assert.equal(lib.restingByRow({ levels }, null, 1, 0)[1].get(10), 2);
});

test("the tape shows a break between what was traded before it and after, and the delta begins after it", () => {
  const store = new lib.MarketData();
  store.rows = [250, 500, 750, 1_000, 9_000].map((time) => ({ time }));
  store.trades = [[300, 1], [400, 2], [1_500, 3], [2_600, 4], [3_100, 5]].map(([time, size]) => ({ time, size, side: 1 }));
  store.breaks = [{ from: 500, until: 2_000 }];
  assert.deepEqual(store.tape(9).map(({ size, until }) => size ?? until), [5, 4, 3, 2_000, 2, 1]);
  assert.deepEqual(store.tape(4).map(({ size, until }) => size ?? until), [5, 4, 3, 2_000]);
  assert.deepEqual(store.tape(9, 3).map(({ size, until }) => size ?? until), [5, 4, 3, 2_000]);
  assert.deepEqual(store.holes.map(({ from, until }) => [from, until]), [[500, 2_000], [1_000, 9_000]]);
  store.rows = [250, 500, 750, 1_000].map((time) => ({ time }));
  assert.deepEqual(store.flow(), { since: 2_000, trades: 2, delta: 9 });
  store.breaks = [{ from: 4_000, until: 5_000 }]; // nothing was traded since
  assert.deepEqual(store.tape(2).map(({ size, until }) => size ?? until), [5_000, 5]);
});


test("the imbalance of a book is the difference of its sides over their sum", () => {
  const levels = Array(44).fill(0);
  for (let k = 0; k < 10; k++) levels.splice(4 * k, 4, 101 + k, 3, 100 - k, 1); // 30 asked and 10 bid
  levels[41] = 1_000; // an eleventh level
  assert.equal(lib.imbalance(levels), -0.5);
});
