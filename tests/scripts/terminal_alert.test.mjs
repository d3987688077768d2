// The alert's condition without a browser: when it goes off, how often, and what it does not reach across.
import assert from "node:assert/strict";
import test from "node:test";

import { countRings, proposed, readRules, RuleWatch, TradeSounds } from "../../assets/scripts/terminal_alert.js";

const UP = { kind: "call", call: 2, share: 0.6, seconds: 1 };
const STEP = 250;

// A row in the second of two heads, whose first says the opposite.
const row = (place, call, share) => ({ time: place * STEP, predicted: call !== null, calls: [2 - (call ?? 1), call ?? 1], probabilities: Object.assign(Array(6).fill(0), { [3 + (call ?? 1)]: share }) });
const up = (place, share = 0.7) => row(place, 2, share);

// Places of the rows at which it goes off, looked at one by one as they come.
function offs(rows, rule = UP, { fresh = () => true, watch = new RuleWatch() } = {}) {
  const store = [];
  return rows.flatMap((one) => {
    store.push(one);
    return watch.look(store, rule, 1, fresh(one.time / STEP)) ? [one.time / STEP] : [];
  });
}

const places = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

test("it goes off once, when the call has stood for the whole time", () => {
  assert.deepEqual(offs(places(0, 20).map((i) => up(i))), [4]); // 1 s after the first row that was looked at
  assert.deepEqual(offs(places(0, 3).map((i) => up(i)), { ...UP, seconds: 0 }), [0]);
  assert.deepEqual(offs(places(0, 20).map((i) => up(i, 0.6))), [4]); // at least
  assert.deepEqual(offs(places(0, 20).map((i) => up(i, 0.59))), []);
});

test("it goes off again only after it did not hold", () => {
  const rows = places(0, 30).map((i) => (i === 12 ? up(i, 0.5) : up(i)));
  assert.deepEqual(offs(rows), [4, 17]);
  const broken = places(0, 30).map((i) => (i === 3 ? row(i, 1, 0.9) : up(i)));
  assert.deepEqual(offs(broken), [8]);
});

test("any call counts where any is asked for, and the class where one is", () => {
  const rows = places(0, 10).map((i) => row(i, i % 3, 0.7));
  assert.deepEqual(offs(rows, { ...UP, call: -1 }), [4]);
  assert.deepEqual(offs(rows), []);
  assert.deepEqual(offs(places(0, 10).map((i) => row(i, 0, 0.7)), { ...UP, call: 0 }), [4]);
});

test("no signal is no call, whatever its probabilities are", () => {
  const silent = (place) => ({ ...row(place, 2, 0.9), calls: [2, -1], probabilities: [0, 0, 0.9, 0.9, 0.9, 0.9] });
  assert.deepEqual(offs(places(0, 10).map(silent), { ...UP, call: -1 }), []);
  assert.deepEqual(offs(places(0, 12).map((i) => (i === 3 ? silent(i) : up(i))), { ...UP, call: -1 }), [8]);
});

test("nothing lasts across a gap, a jump, or rows without a call", () => {
  const held = [0, 1, 2, 3];
  assert.deepEqual(offs([...held, 5, 6, 7, 8].map((i) => up(i))), []);
  assert.deepEqual(offs([...held, 5, 6, 7, 8, 9].map((i) => up(i))), [9]);
  assert.deepEqual(offs([...places(100, 104), 50, 51, 52, 53].map((i) => up(i))), []); // wound back
  assert.deepEqual(offs([...held.map((i) => up(i)), row(4, null, 0), ...places(5, 9).map((i) => up(i))]), []);
});

test("a stale call sets nothing off, and its time does not count", () => {
  const rows = places(0, 20).map((i) => up(i));
  assert.deepEqual(offs(rows, UP, { fresh: () => false }), []);
  assert.deepEqual(offs(rows, UP, { fresh: (place) => place > 3 }), [8]);
  const watch = new RuleWatch();
  assert.deepEqual(offs(rows.slice(0, 4), UP, { watch }), []);
  assert.equal(watch.look(rows.slice(0, 4), UP, 1, false), null); // it went stale without a new row
  assert.deepEqual(offs(rows.slice(4, 8), UP, { watch }), []);
});

test("rows that come together count one by one, and what was there before is passed over", () => {
  const watch = new RuleWatch();
  const past = places(0, 200).map((i) => up(i));
  assert.equal(watch.look(past, UP, 1, true), null);
  const more = [...past, ...places(200, 203).map((i) => up(i))];
  assert.equal(watch.look(more, UP, 1, true), null);
  assert.equal(watch.look([...more, up(203)], UP, 1, true)?.time, 203 * STEP);
  const meanwhile = [...more, up(203), row(204, 1, 0.9), ...places(205, 210).map((i) => up(i))];
  assert.equal(watch.look(meanwhile, UP, 1, true)?.time, 209 * STEP);
});

test("what the browser kept are rules or nothing", () => {
  const call = { kind: "call", call: 0, share: 0.5, seconds: 2 };
  assert.deepEqual(readRules({ ...call, more: 1 }), [call]); // one alone, as it was kept once
  assert.deepEqual(readRules([{ kind: "wall", size: 3, x: 1 }, null, { kind: "price", price: 2.5 }, { kind: "feed" }]), [{ kind: "wall", size: 3 }, { kind: "price", price: 2.5 }, { kind: "feed" }]);
  assert.equal(readRules(places(1, 9).map((price) => ({ kind: "price", price }))).length, 6);
  for (const wrong of [{ kind: "wall", size: 0 }, { kind: "price" }, { kind: "other", size: 1 }, null, "", "[", {}, [7], { ...call, call: 1 }, { ...call, share: 5 }, { ...call, seconds: -1 }, { ...call, share: "x" }]) {
    assert.deepEqual(readRules(wrong), [], String(wrong));
  }
});

const book = (place, mid, size = 1) => ({ ...up(place), mid, levels: Object.assign(Array(40).fill(1), { 7: size }) });

test("a price, a large trade, a wall and a silent feed set it off where they happen", () => {
  const mids = [10, 11, 11, 9, 9, 12, 12, 12];
  assert.deepEqual(offs(mids.map((mid, i) => book(i, mid)), { kind: "price", price: 10.5 }), [1, 3, 5]);
  assert.deepEqual(offs([1, 5, 5, 1, 9, 2].map((size, i) => book(i, 10, size)), { kind: "wall", size: 5 }), [1, 4]);
  const trades = [[300, 2], [700, 8], [1000, 9], [1300, 1]].map(([time, size]) => ({ time, size }));
  const watch = new RuleWatch();
  const rows = places(0, 8).map((i) => book(i, 10));
  const rings = rows.filter((_, i) => watch.look(rows.slice(0, i + 1), { kind: "trade", size: 8 }, 1, true, trades));
  assert.deepEqual(rings.map(({ time }) => time / STEP), [3]); // the trade after it comes before it no longer held
  assert.deepEqual(offs(rows, { kind: "feed" }, { fresh: (place) => place < 3 || place > 5 }), [3, 6]);
});

test("how often a rule would have gone off is how often it does, and a proposed one does", () => {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const rows = places(0, 600).map((i) => ({ ...row(i, Math.floor(3 * random()), random()), mid: 10 + Math.sin(i / 9), levels: Array.from({ length: 40 }, random) }));
  const trades = places(1, 300).map((i) => ({ time: i * 500 - 100, size: random() }));
  const rules = [{ ...UP, seconds: 0 }, { ...UP, call: -1, share: 0.2 }, { kind: "price", price: 10.3 }, { kind: "wall", size: 0.999 }, { kind: "trade", size: 0.97 }];
  for (const rule of rules) {
    const watch = new RuleWatch();
    const seen = rows.filter((_, i) => watch.look(rows.slice(0, i + 1), rule, 1, true, trades)).length;
    assert.equal(countRings(rows, rule, 1, trades), seen, JSON.stringify(rule));
    assert.ok(seen > 0, JSON.stringify(rule));
  }
  const held = places(0, 100).map((i) => up(i, 0.62));
  assert.deepEqual(proposed("call", { rows: held, trades: [], newest: held.at(-1) }, 1), { kind: "call", call: -1, share: 0.6, seconds: 3 });
  for (const kind of ["trade", "wall"]) {
    const count = countRings(rows, proposed(kind, { rows, trades, newest: rows.at(-1) }, 1), 1, trades);
    assert.ok(count > 0 && count < 60, `${kind} ${count}`);
  }
});

test("large trades sound where they are switched on, one a step, and none that a jump passes over", () => {
  const trades = [[100, 5, 1], [300, 6, -1], [350, 7, 1], [400, 8, 1], [600, 9, -1], [900, 5, 1], [1100, 7, 1], [1150, 6, -1], [9000, 20, 1]];
  const known = trades.map(([time, size, side]) => ({ time, size, side }));
  const heard = [];
  const sounds = new TradeSounds((hertz) => heard.push([store.newest.time, hertz]));
  const store = {};
  const look = (time) => sounds.look(Object.assign(store, { newest: { time }, trades: known.filter((one) => one.time <= time) }));
  [250, 500].forEach(look);
  assert.deepEqual(heard, []); // it is off
  sounds.on = true;
  [500, 750, 750, 1000, 1250, 9250].forEach(look);
  assert.equal(sounds.size, 7); // of the four largest by then; 5 when it was switched on
  assert.deepEqual(heard, [[750, 440], [1000, 880], [1250, 880]]);
});
