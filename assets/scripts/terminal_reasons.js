// Why this forecast: what each group of the book and its course gives to P(up) - P(down), and what an order at a price counts.

import { element, fillIn } from "../../attention_light/scripts/dom.js";
import { FRESH_MS, STEP_MS } from "./terminal_data.js";
import { mark, put, share } from "./terminal_parts.js";

const LEAST = 0.005; // what is less is written as nothing
const USUAL = 0.02; // a lean of the usual book that is said
const REACH = 0.1; // of the bars at least, so that a little looks like it
const FIRST_MS = 30_000; // after the first call, when what is usual is known
const NAMED = 2; // reasons for the answer that the sentence names, beside one against it

// The sentence on an answer's reasons: which way it leans, what pushes it there most, and what holds against it.
export function reasonWords({ lean, usual, gives, states }, { labels }, format) {
  const named = (i) => `${labels.groupStates[i][states[i] + 1]} (${format.push(gives[i])})`;
  const order = gives.map((_give, i) => i).sort((a, b) => Math.abs(gives[b]) - Math.abs(gives[a]));
  const strong = order.filter((i) => Math.abs(gives[i]) >= LEAST);
  if (!strong.length) return fillIn(labels.reasonsNone, { least: format.number(LEAST, 3) });
  if (Math.abs(lean) < LEAST) return fillIn(labels.reasonsEven, { reasons: strong.slice(0, NAMED).map(named).join(", ") });
  const pushing = strong.filter((i) => gives[i] * lean > 0).slice(0, NAMED);
  const against = strong.find((i) => gives[i] * lean < 0);
  const words = {
    way: labels.ways[lean > 0 ? 1 : 0],
    lean: format.push(lean),
    usual: format.push(usual),
    reasons: pushing.map(named).join(", "),
    reason: against === undefined ? "" : named(against),
  };
  const mostlyUsual = lean * usual > 0 && Math.abs(usual) > Math.abs(lean) / 2; // most of it is there without what the groups move
  const sentences = mostlyUsual
    ? [labels.reasonsMostlyUsual, ...(pushing.length ? [labels.reasonsFor] : [])]
    : [pushing.length ? labels.reasonsLean : labels.reasonsLeanAlone];
  if (against !== undefined) sentences.push(labels.reasonsAgainst);
  if (!mostlyUsual && Math.abs(usual) >= USUAL) sentences.push(labels.reasonsUsual);
  return sentences.map((one) => fillIn(one, words)).join(" ");
}

// The heading over the reasons, and the word in place of them where there are none; `rows`: since the last gap.
export function lightWords(light, row, rows, { window, labels }, format) {
  if (light) return [row.time - light.time > FRESH_MS ? fillIn(labels.reasonsOld, { time: format.time(light.time) }) : labels.reasons, ""];
  const waiting = (rows - window) * STEP_MS < FIRST_MS ? labels.reasonsWaiting : labels.reasonsComputed;
  return [labels.reasons, row?.predicted ? waiting : ""];
}

// The sentence on an answer that was asked again without what rests at a price beyond its neighbours.
export function withoutWords({ price, size, left, rows, before, after }, { labels, classes }, format) {
  const at = { price: format.price(price) };
  if (!rows) return fillIn(labels.withoutNothing, at);
  const moved = after.map((p, k) => p - before[k]);
  const most = moved.reduce((top, move, k) => (Math.abs(move) > Math.abs(moved[top]) ? k : top), 0);
  const words = { ...at, size: format.significant(size), left: format.significant(left), call: classes[most] };
  const shares = { before: format.percent(before[most]), after: format.percent(after[most]) };
  const cut = fillIn(size > left ? labels.withoutCut : labels.withoutPast, words);
  return `${cut} ${fillIn(Math.abs(moved[most]) < LEAST ? labels.withoutLittle : labels.withoutMoved, { ...words, ...shares })}`;
}

export class ReasonsPanel {
  root = element("section", "terminal-reasons");

  build(config) {
    const { labels } = config;
    this.config = config;
    this.without = null;
    this.root.innerHTML =
      `<h3></h3><div class="pushes">${labels.groups.map((name) => `<div class="push"><span>${name}</span><i><b></b></i><em></em></div>`).join("")}</div>` +
      '<p class="why"></p><p class="measured"></p><p class="without" aria-live="polite"></p>';
  }

  // An answer to a question about a price; null takes it away.
  answer(without) {
    this.without = without?.head === this.config?.head ? without : null;
  }

  draw({ newest: row, rows, stretch }, light, config, format) {
    const { labels } = config;
    const [heading, waiting] = lightWords(light, row, rows.length - stretch, config, format);
    put(this.root.querySelector("h3"), heading);
    const [why, pushes] = [this.root.querySelector(".why"), this.root.querySelectorAll(".push")];
    const reach = Math.max(REACH, ...(light?.gives ?? []).map(Math.abs));
    pushes.forEach((push, i) => {
      const give = light?.gives[i] ?? 0;
      mark(push, "data-way", Math.abs(give) < LEAST ? "none" : give > 0 ? "up" : "down");
      share(push, Math.abs(give) / reach);
      put(push.lastChild, light ? (Math.abs(give) < LEAST ? format.number(0, 2) : format.push(give)) : "");
    });
    mark(this.root, "data-fresh", light && row.time - light.time <= FRESH_MS ? "yes" : "no");
    put(why, light ? reasonWords(light, config, format) : waiting);
    mark(why, "title", light ? fillIn(labels.reasonsOf, { time: format.time(light.time), minutes: format.number(light.minutes, 0) }) : "");
    put(this.root.querySelector(".measured"), light ? labels.reasonsMeasured : "");
    if (this.without && row && !(row.time >= this.without.time)) this.without = null; // a jump back
    put(this.root.querySelector(".without"), this.without ? `${format.time(this.without.time)}: ${withoutWords(this.without, config, format)}` : "");
  }
}
