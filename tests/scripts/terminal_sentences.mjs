// Prints the terminal's sentences of states that Python gives, as a line of JSON each: of {p, usual, score}, {gives, ...},
// {before, ...}, {warm, time} and {ageMs, ...}, with one configuration.
import { readFileSync } from "node:fs";

import { reasonWords, withoutWords } from "../../assets/scripts/terminal_reasons.js";
import { backWords, hereWords, standingWords, unusualWords } from "../../assets/scripts/terminal_answer.js";
import { statusWords } from "../../assets/scripts/terminal_status.js";

const { config, states } = JSON.parse(readFileSync(process.argv[2], "utf8"), (_key, value) => (value === "inf" ? Infinity : value === "nan" ? NaN : value));
const format = {
  number: (value, places) => value.toFixed(places),
  percent: (value) => `${(100 * value).toFixed(1)}%`,
  time: String,
  date: (ms) => `day ${ms / 86_400_000}`,
  price: String,
  significant: (value) => String(Number(value.toPrecision(3))),
  push: (value) => (value >= 0 ? "+" : "") + value.toFixed(2),
  span: (value, unit) => `${value} ${unit}`,
};
const words = (state) => {
  if (state.ageMs !== undefined) return [statusWords(state, state.ageMs, config, format)];
  if (state.warm !== undefined) return [backWords(state.warm, state.time, { ...config, window: 128 }, format)];
  if (state.score) {
    const given = { ...config, horizon: state.horizon };
    return [unusualWords(state.p, state.usual, given, format), standingWords(state.score, given, format), hereWords(state.score, given, format)];
  }
  return state.gives ? [reasonWords(state, config, format)] : [withoutWords(state, config, format)];
};
for (const state of states) console.log(JSON.stringify(words(state)));
