// Prints the terminal's sentences of states that Python gives: [{p, usual, score}] and the configuration, as a line of JSON each.
import { readFileSync } from "node:fs";

import { standingWords, unusualWords } from "../../assets/scripts/terminal_answer.js";

const { config, states } = JSON.parse(readFileSync(process.argv[2], "utf8"), (_key, value) => (value === "inf" ? Infinity : value === "nan" ? NaN : value));
const format = {
  number: (value, places) => value.toFixed(places),
  percent: (value) => `${(100 * value).toFixed(1)}%`,
  span: (value, unit) => `${value} ${unit}`,
};
for (const { p, usual, score } of states) console.log(JSON.stringify([unusualWords(p, usual, config, format), standingWords(score, config, format)]));
