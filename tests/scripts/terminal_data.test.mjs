// The live page's functions without a browser: frames that Python encoded, price rows, volume delta.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import * as lib from "../../assets/scripts/terminal_data.js";

// FRAMES names a folder with frames of `core.market.stream.encode` (*.bin) and what went into them (*.json).
for (const name of ["snapshot", "step", "empty"]) {
  test(`the frame "${name}" is read as Python wrote it`, () => {
    const bytes = readFileSync(`${process.env.FRAMES}/${name}.bin`);
    const { rows, ...frame } = lib.decode(new Uint8Array(bytes).buffer);
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
    const sizes = new Map(lib.volumeProfile(trades, 0, 2, step).sizes);
    assert.deepEqual(sizes, new Map([[row(ask, 1), 1], [row(bid, -1), 2]]));
    const bins = new Map(lib.binTrades(trades, 0, 2, 250, step).map((one) => [Math.round(one.price / step), [one.bought, one.sold]]));
    assert.deepEqual(bins, new Map([[row(ask, 1), [1, 0]], [row(bid, -1), [0, 2]]]));
  });
}

test("price rows are fitted to most books and not to one", () => {
  const fitted = (spans) => lib.fittingGroup(spans.map((span) => ({ levels: Object.assign(Array(40).fill(0), { 36: span }) })), 0.01, 23);
  assert.deepEqual([[0.2], [0.24], [4.6], [4.7], [0.2, 0.2, 46]].map(fitted), [1, 2, 20, 50, 1]);
});

test("the delta begins after the last hole at a whole second", () => {
  const store = new lib.MarketData();
  store.rows = [250, 500, 750, 60_250, 60_500, 61_000, 61_250, 61_500, 62_250, 62_500].map((time) => ({ time }));
  const trades = [[300, 5, 1], [60_400, 7, 1], [62_300, 1, 1], [62_900, 4, -1], [63_000, 2, -1], [63_100, 3, 1]];
  store.trades = trades.map(([time, size, side]) => ({ time, size, side }));
  assert.equal(store.stretch, 8);
  assert.deepEqual(store.flow(), { since: 63_000, trades: 1, delta: 3 });
});

test("nothing is drawn across a gap", () => {
  const rows = [250, 500, 1_000].map((time) => ({ time }));
  assert.deepEqual(lib.line(rows, ({ time }) => time), { x: [250, 500, 750, 1_000], y: [250, 500, null, 1_000] });
});
