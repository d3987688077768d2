// What the strip of light under the price says, on a page of stand-ins.
import assert from "node:assert/strict";
import test from "node:test";

const element = () => ({ dataset: {}, append: () => {}, getContext: () => ({ clearRect: () => {}, fillRect: () => {} }) });
globalThis.document = { documentElement: null, hidden: false, createElement: element };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "#102030" });
const { LightStrip } = await import("../../assets/scripts/terminal_light.js");

test("the sentence says when the strongest moment was, and its share of all", () => {
  const strip = new LightStrip(element(), () => true);
  const labels = { light: "{call} {span} {seconds} {share}", lightNone: "none" };
  const format = { number: (value, places) => value.toFixed(places), percent: (value) => `${(100 * value).toFixed(1)}%` };
  strip.configure({ source: "a", head: 0, labels, classes: ["down", "same", "up"] }, format);
  assert.equal(strip.words.textContent, "none");
  const moments = Array(128).fill(0);
  [moments[100], moments[120]] = [-1000, 400]; // thousandths of the largest; the newest row is the last
  strip.take({ head: 0, label: 2, time: 0, moments, most: 0.5, whole: 2 });
  assert.equal(strip.words.textContent, "up 32 6.75 25.0%");
  strip.close();
});
