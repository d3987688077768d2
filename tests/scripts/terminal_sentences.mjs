// Prints the terminal's sentences of states that Python gives, as a line of JSON each: of {p, usual, score}, {gives, ...},
// {before, ...}, {warm, time}, {ageMs, ...}, {light, ...} and {rules, ...}, with one configuration.
import { readFileSync } from "node:fs";

import { ReaderAlerts } from "../../assets/scripts/terminal_alert.js";
import { lightWords, reasonWords, withoutWords } from "../../assets/scripts/terminal_reasons.js";
import { backWords, hereWords, standingWords, unusualWords } from "../../assets/scripts/terminal_answer.js";
import { statusWords } from "../../assets/scripts/terminal_status.js";

const { config, states } = JSON.parse(readFileSync(process.argv[2], "utf8"), (_key, value) => (value === "inf" ? Infinity : value === "nan" ? NaN : value));
const format = {
  number: (value, places) => value.toFixed(places),
  percent: (value) => `${(100 * value).toFixed(1)}%`,
  time: String,
  date: (ms) => `day ${ms / 86_400_000}`,
  price: String,
  significant: (value) => String(Number(Number(value).toPrecision(3))),
  short: String,
  push: (value) => (value >= 0 ? "+" : "") + value.toFixed(2),
  span: (value, unit) => `${value} ${unit}`,
};
// Of each rule, and of the proposed ones: itself, its words, how often it would have gone off, and what is said when it does.
const alertWords = ({ rules, rows, trades }) => {
  let announced;
  const store = { rows, trades, provisional: 0, newest: rows.at(-1) };
  const alerts = Object.assign(Object.create(ReaderAlerts.prototype), { store, format, config: { ...config, head: 0, symbol: "X", venue: "V" }, announce: (text) => (announced = text) });
  return [...rules, ...["call", "price", "trade", "wall"].map((kind) => alerts.propose(kind))].map((rule) => {
    alerts.goOff(rule, rows.at(-1), true);
    return [rule, alerts.words(rule), alerts.pastWords(rule), announced];
  });
};
const words = (state) => {
  if (state.rules) return alertWords(state);
  if (state.light !== undefined) return lightWords(state.light, state.row, state.rows, { ...config, window: 128 }, format);
  if (state.ageMs !== undefined) return [statusWords(state, state.ageMs, config, format)];
  if (state.warm !== undefined) return [backWords(state, state.time, { ...config, window: 128 }, format)];
  if (state.score) {
    const given = { ...config, horizon: state.horizon };
    return [unusualWords(state.p, state.usual, given, format), standingWords(state.score, given, format), hereWords(state.score, given, format)];
  }
  return state.gives ? [reasonWords(state, config, format)] : [withoutWords(state, config, format)];
};
for (const state of states) console.log(JSON.stringify(words(state)));
