// Resting liquidity as a picture: what a cell says against a plain sum over the book that it stands for.
import assert from "node:assert/strict";
import test from "node:test";

import { MarketData } from "../../assets/scripts/terminal_data.js";
import { DepthPicture, EarlierBook, NO_ROW, shadeOf, strength } from "../../assets/scripts/terminal_depth.js";

const [FINE, COARSE, TICK] = [1, 20, 0.01];
const key = (price, bid, coarse = 0) => 4 * Math.floor(price / (coarse ? COARSE : FINE)) + 2 * coarse + bid;

// Rows whose books move: bands within ten of the mid, one far one, known from 80 to 125.
function market(count, holes = []) {
  const books = Array.from({ length: count }, (_, i) => {
    const mid = 100 + (i % 7);
    const book = new Map([[key(140, 0, 1), 40 + i]]);
    for (let k = 0; k < 10; k++) if ((i + k) % 3) book.set(key(mid + k, 0), 1 + k + i).set(key(mid - 1 - k, 1), 2 + k);
    return book;
  });
  const rows = books.map((book, i) => {
    const before = i ? books[i - 1] : new Map();
    const keys = [...new Set([...before.keys(), ...book.keys()])].filter((one) => before.get(one) !== book.get(one));
    const sizes = keys.map((one) => book.get(one) ?? 0);
    const levels = Array(40).fill(0);
    for (let k = 0; k < 10; k++) levels.splice(4 * k, 4, 100 + (i % 7) + k * TICK, k + 1, 99.99 + (i % 7) - k * TICK, k + 2);
    return { time: 250 * (i + (holes.includes(i) ? 0 : 0)), truth: [], levels, bands: { low: 80, high: 125, whole: i === 0, keys, sizes } };
  });
  const store = new MarketData();
  store.addFrame({ kind: 1, rows, trades: [], outcomes: [], scores: [], tick: TICK, fine: FINE, coarse: COARSE });
  return { store, books };
}

// What rests in a book between two prices, bids above 0.
function plain(book, low, high) {
  let [asks, bids] = [0, 0];
  for (const [one, size] of book) {
    const price = (one >> 2) * (one & 2 ? COARSE : FINE);
    if (one & 2 || price < low - 1e-9 || price >= high - 1e-9) continue;
    if (one & 1) bids += size;
    else asks += size;
  }
  return bids >= asks ? bids : -asks;
}

for (const unit of [1, 2, 5]) {
  test(`cells of ${unit} hold what rests between their prices, a fine band's worth`, () => {
    const { store, books } = market(60);
    const picture = new DepthPicture();
    picture.cover(store, 20, 50, [85, 120], 35 / unit);
    assert.equal(picture.place.unit, unit);
    for (let slot = 20; slot < 50; slot++)
      for (let price = 85; price < 120; price += unit) {
        const low = Math.floor(price / unit) * unit;
        const there = plain(books[slot], low, low + unit);
        assert.ok(Math.abs(picture.at(slot, price) - there / unit) < 1e-4, `${slot} ${price}`);
        const told = picture.rests(slot, price + 0.3, store); // under the pointer: all of it, and between which prices
        assert.ok(Math.abs(told.size - Math.abs(there)) < 1e-4 && told.low === low && told.high === low + unit, `${slot} ${price}`);
      }
  });
}

test("a row at the touch has the larger of what rests on either side, in whatever order the bands come", () => {
  const bands = [[100, 1, 0.15], [101, 0, 0.31], [101, 1, 4]];
  for (const order of [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]]) {
    const { store } = market(1);
    const sorted = order.map((i) => bands[i]);
    Object.assign(store.rows[0].bands, { keys: sorted.map(([price, bid]) => key(price, bid)), sizes: sorted.map(([, , size]) => size) });
    const picture = new DepthPicture();
    picture.cover(store, 0, 1, [85, 120], 17);
    assert.ok(picture.place.unit >= 2 && Math.abs(picture.rests(0, 101, store).size - 4.15) < 1e-4, order);
  }
});

test("the earlier book is that of a minute before the newest row, and none across a gap", () => {
  const { store, books } = market(400);
  const earlier = new EarlierBook();
  const rows = store.rows;
  for (const count of [100, 240, 241, 300, 400]) {
    store.rows = rows.slice(0, count);
    const then = earlier.follow(store, 60_000);
    if (count <= 240) assert.equal(then, null);
    else assert.deepEqual([...then.sizes].sort(), [...books[count - 241]].sort());
  }
  store.rows = [...rows, { ...rows[399], time: rows[399].time + 10_000 }];
  assert.equal(earlier.follow(store, 60_000), null);
});

test("steps that come later, and a view that moves on, give the picture that would be painted anew", () => {
  const { store } = market(400);
  const [grown, anew] = [new DepthPicture(), new DepthPicture()];
  for (let to = 60; to <= 400; to += 7) grown.cover(store, Math.max(0, to - 60), to, [85, 120], 35);
  anew.cover(store, 340, 396, [85, 120], 35);
  for (let slot = 340; slot < 396; slot++) for (let price = 85; price < 120; price++) assert.equal(grown.at(slot, price), anew.at(slot, price));
});

test("a view that grows by a jump has all of its steps in the picture", () => {
  const { store } = market(400);
  const [grown, anew] = [new DepthPicture(), new DepthPicture()];
  grown.cover(store, 0, 20, [85, 120], 35);
  grown.cover(store, 10, 390, [85, 120], 35);
  anew.cover(store, 10, 390, [85, 120], 35);
  for (let slot = 10; slot < 390; slot++) for (let price = 85; price < 120; price++) assert.equal(grown.at(slot, price), anew.at(slot, price));
});

test("what is not known is told from what is empty, and a coarse band is spread over the fine ones it stands for", () => {
  const { store } = market(10);
  const picture = new DepthPicture();
  picture.cover(store, 0, 10, [70, 170], 100);
  assert.ok(Number.isNaN(picture.at(3, 75)) && picture.at(3, 82) === 0 && Number.isNaN(picture.at(3, 130)));
  assert.ok(Math.abs(picture.at(3, 145) + 43 / 20) < 1e-6); // seen, though the depth there is not known
});

test("finer than a band the ten levels stand on their own prices", () => {
  const { store } = market(3);
  const picture = new DepthPicture();
  picture.cover(store, 0, 3, [99.7, 100.3], 60);
  assert.equal(picture.place.unit, TICK);
  assert.equal(picture.at(0, 100.005), -1);
  assert.equal(picture.at(0, 99.995), 2);
  assert.equal(picture.at(0, 100.155), picture.at(0, 100.255)); // past the tenth level: its band's size
  const [band, level] = [100.155, 100.005].map((price) => picture.rests(0, price, store));
  assert.deepEqual([band.size, band.low, band.high], [Math.abs(picture.at(0, 100.155)), 100, 101]);
  assert.ok(level.size === 1 && Math.abs(level.low - 100) < 1e-9 && Math.abs(level.high - 100.01) < 1e-9);
});

test("a row finer than a band holds whole ticks", () => {
  const units = [0.06, 0.03, 0.02, 0.01, 0.001].map((wanted) => new DepthPicture().unit({ fine: 0.05, tick: 0.01 }, wanted));
  assert.deepEqual(units, [0.1, 0.05, 0.05, 0.01, 0.01]);
});

test("a missing step is a column of its own", () => {
  const { store } = market(5);
  store.slots.splice(2, 0, { time: 490 });
  const picture = new DepthPicture();
  picture.cover(store, 0, 6, [85, 120], 35);
  assert.equal(picture.at(2, 100), undefined);
  assert.equal(picture.rests(2, 100, store), null);
  assert.ok([...picture.values.subarray(2 * picture.place.height, 3 * picture.place.height)].every((value) => value === NO_ROW));
});

test("colours are logarithmic between two sizes, and stronger for more", () => {
  const bound = { low: Math.log(0.1), span: Math.log(1_000) };
  assert.deepEqual([0.01, 0.1, 100, 1e6].map((size) => shadeOf(size, bound)), [0, 0, 255, 255]);
  assert.equal(shadeOf(Math.sqrt(10), bound), Math.round(255 / 2));
  assert.ok(strength(1) > strength(0.9) && strength(0.9) > strength(0) && strength(0) > 0);
});
