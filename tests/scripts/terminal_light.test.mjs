// What the strip of light under the price says, on a page of stand-ins.
import assert from "node:assert/strict";
import test from "node:test";

const element = () => ({ dataset: {}, append: () => {}, getContext: () => ({ clearRect: () => {}, fillRect: () => {} }) });
globalThis.document = { documentElement: null, hidden: false, createElement: element };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "#102030" });
const { LightStrip } = await import("../../assets/scripts/terminal_light.js");

test("the sentence says when the strongest moment was, and its share of all", () => {
  const strip = new LightStrip(element(), () => true);
  const labels = { light: "{call} {span} {seconds} {share}", lightNone: "none", lightComputing: "computing" };
  const format = { number: (value, places) => value.toFixed(places), percent: (value) => `${(100 * value).toFixed(1)}%` };
  strip.configure({ source: "a", head: 0, labels, classes: ["down", "same", "up"] }, format);
  assert.equal(strip.words.textContent, "none");
  const moments = Array(128).fill(0);
  [moments[100], moments[120]] = [-1000, 400]; // thousandths of the largest; the newest row is the last
  strip.look(0, 0, 2);
  assert.equal(strip.words.textContent, "computing");
  strip.take({ head: 0, label: 2, time: 0, moments, most: 0.5, whole: 2, prices: [9.9, 10.0, 10.1, 12.0], counted: [500, 250, 300, -1000] });
  assert.equal(strip.words.textContent, "up 32 6.75 25.0%");
  // a row of the ladder has what stood at its prices, of whatever level, and no other row is lit
  assert.deepEqual([99, 100, 101, 120, 110].map((row) => strip.at(row, 0.1)), [0.5, 0.25, 0.3, -1, 0]);
  assert.deepEqual([10, 12, 11].map((row) => strip.at(row, 1)), [1, -1000 / 1050, 0]);
  strip.look(0, 250, 0); // another class stands on the screen: its own light is awaited
  assert.equal(strip.words.textContent, "computing");
  assert.equal(strip.at(100, 0.1), 0);
  strip.close();
});
