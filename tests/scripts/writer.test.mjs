// The writer's bars without a browser: shares by the dials, heads of squares; and which tokens of a text can be rubbed out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { headOf, sharesAt } from "../../assets/scripts/writer.js";

Object.assign(globalThis, { document: {}, getComputedStyle: () => ({ getPropertyValue: () => "#000000" }) });
const { STAGES } = await import("../../attention_light/scripts/stages.js");

test("bars have the shares by which words are drawn", () => {
  const { next, temperatures, drawn } = JSON.parse(readFileSync(`${process.env.FRAMES}/next_words.json`, "utf-8"));
  for (const { at, place, shares } of drawn) sharesAt(next, temperatures, at, place).forEach((share, i) => assert.ok(Math.abs(share - shares[i]) < 1e-6));
});

test("a square's head is named by its layer, and nothing else is one", () => {
  const square = (layer, head) => ({ classList: { contains: (name) => name === "attention-square" }, dataset: { layer, head } });
  assert.deepEqual(headOf(square("layer 19", "7")), [18, 6]);
  assert.equal(headOf(square("layer 19", "mean")), null);
  assert.equal(headOf(square("rollout", "rollout")), null);
  assert.equal(headOf({ classList: { contains: () => false }, dataset: {} }), null);
  assert.equal(headOf(null), null);
});

test("every token of a text can be rubbed out, but the model's own signs", () => {
  const words = ["[CLS]", "Paris", "<0xF0>", "[", "<s>", "in"];
  const stage = new STAGES.words({ tokens: { word: words }, stage: { words, joined: words.map(() => false), answer: [] } });
  assert.deepEqual(words.map((_, i) => stage.erases(i)), [false, true, true, true, false, true]);
});
