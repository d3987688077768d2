// The answer of now: three probabilities beside how often each class came so far, and how the answers stand beside the naive rules.

import { element, fillIn } from "../../attention_light/scripts/dom.js";
import * as data from "./terminal_data.js";
import { fill, mark, put, share } from "./terminal_parts.js";
import { ReasonsPanel } from "./terminal_reasons.js";
import { bookKnown } from "./terminal_status.js";

const USUAL = 0.1; // a probability within this share of its class's rate is as usual
const STANDINGS = ["ahead", "behind", "undecided"]; // as core/market/stream.py counts them

// The sentence on a row's probabilities: the class that stands furthest above its share so far, if any is. `usual` may be of NaN.
export function unusualWords(p, usual, { classes, labels }, format) {
  const times = classes.map((_name, k) => p[k] / usual[k]);
  const known = [...usual].every((rate) => rate > 0);
  if (!known) return "";
  const most = times.indexOf(Math.max(...times));
  if (times[most] <= 1 + USUAL) return labels.asUsual;
  return fillIn(labels.aboveUsual, { call: classes[most], share: format.percent(p[most]), times: format.number(times[most], 1) });
}

// How the answers of one head stand beside the rules in this session; where the market's journal goes back further, that is said after it.
export function standingWords(score, config, format) {
  if (!leadHere(score)) return leadWords(score, config, format);
  return fillIn(config.labels.session, { words: goingOn({ ...score, untilMs: NaN }, config, format) });
}

// The same since the market's journal here began (D44); "" where it began with this session.
export function hereWords(score, config, format) {
  const lead = leadHere(score);
  if (!lead) return "";
  const span = spanWords(lead.independent * config.horizon * data.STEP_MS, format);
  return fillIn(config.labels.here, { date: format.date(lead.sinceMs), span, words: goingOn(lead, config, format) });
}

// The lead with all that the journal knew before; null where it knew nothing.
function leadHere(score) {
  if (!Number.isFinite(score?.herePerCall)) return null;
  const { hereSinceMs: sinceMs, hereOutcomes: independent, hereStanding: standing, hereNearest: nearest, herePerCall: perCall, hereUntilMs: untilMs } = score;
  return { sinceMs, independent, standing, nearest, perCall, untilMs, decided: STANDINGS.indexOf("undecided") };
}

// A lead's sentence as the rest of another.
function goingOn(lead, config, format) {
  const labels = { ...config.labels, held: "" };
  return leadWords(lead, { ...config, labels }, format).replace(/^\p{L}/u, (first) => first.toLowerCase());
}

// How a lead stands (D43).
function leadWords(score, { rivals, labels }, format) {
  const count = format.number(score.independent, 0);
  if (!Number.isFinite(score.perCall)) return [fillIn(labels.few, { count }), labels.held].join(" ").trim();
  const standing = STANDINGS[score.standing];
  const words = { rule: rivals[score.nearest], lead: format.number(Math.abs(score.perCall), 3), count };
  if (standing !== "undecided") return fillIn(labels[standing], words);
  const now = fillIn(score.perCall > 0 ? labels.undecidedFor : score.perCall < 0 ? labels.undecidedAgainst : labels.undecidedEven, words);
  const was = STANDINGS[score.decided] === "undecided" ? "" : labels[`was_${STANDINGS[score.decided]}`];
  return [was, now, untilWords(score.untilMs, labels, format)].filter(Boolean).join(" ");
}

// How long a decision takes at this rate; "" where none is in sight.
function untilWords(ms, labels, format) {
  if (!Number.isFinite(ms)) return "";
  return ms > 30 * 24 * 3_600_000 ? labels.untilLong : fillIn(labels.until, { span: spanWords(ms, format) });
}

function spanWords(ms, format) {
  const minutes = Math.max(1, Math.ceil(ms / 60_000));
  return minutes < 90 ? format.span(minutes, "minute") : minutes < 48 * 60 ? format.span(Math.round(minutes / 60), "hour") : format.span(Math.round(minutes / 1440), "day");
}

// When the next call comes after a gap: once a whole window of rows has; none while the book is not known. And from when the last one
// is, which stands there until then. Where the window is whole, the row came while nobody watched, and nothing was called.
export function backWords(store, time, config, format) {
  const { labels, window } = config;
  const left = window - (store.warm ?? 0);
  const span = format.span(Math.ceil((left * data.STEP_MS) / 1000), "second");
  return fillIn(!bookKnown(store, config) ? labels.notKnown : left > 0 ? labels.backAfter : labels.unwatched, { span, time: format.time(time) });
}

// Since when the scores count, and the newest time since then in which nothing was called: a jump, an outage, or nobody watched.
export function sinceWords(score, rows, labels, format) {
  if (!score?.sinceMs || !rows.length) return "";
  const hole = data.uncalled(rows);
  const [time, from, to] = [score.sinceMs, hole?.from, hole?.until].map((at) => at && format.time(at));
  return hole && hole.from >= score.sinceMs ? fillIn(labels.sinceWithout, { time, from, to }) : fillIn(labels.since, { time });
}

export class AnswerPanel {
  root = element("section", "terminal-call");
  reasons = new ReasonsPanel();

  find(name) {
    return this.root.querySelector(name);
  }

  build(config) {
    const { labels, classes } = config;
    const open = this.find("details")?.open ? " open" : "";
    this.root.innerHTML =
      `<h2></h2><p class="called"></p><p class="rule"></p><progress></progress><div class="bars">` +
      classes.map((name) => `<div class="bar"><span>${name}</span><i><b></b><u></u><s></s></i><em></em></div>`).join("") +
      `</div><p class="standing"></p><p class="here"></p><p class="worth"></p><details${open}><summary></summary><dl class="score"></dl><p class="since"></p></details>`;
    put(this.find("h2"), labels.callsAhead);
    put(this.find("summary"), labels.more);
    this.reasons.build(config);
    this.find(".bars").after(this.reasons.root);
  }

  draw(row, store, light, config, format) {
    Object.assign(this, { config, format });
    const { head, classes, labels, arrows } = config;
    const score = store.scores[head];
    const usual = score ? [score.usualDown, score.usualStationary, score.usualUp] : [NaN, NaN, NaN];
    // Until the next call after a gap the last one stands there in grey.
    const last = row && !row.predicted ? store.rows.findLast(({ predicted }) => predicted) : row;
    const p = last?.predicted ? last.probabilities.subarray(3 * head, 3 * head + 3) : null;
    const call = p ? last.calls[head] : undefined;
    const waits = p && (last !== row || !bookKnown(store, config));
    mark(this.root, "data-old", waits ? "yes" : "no");
    const [called, rule] = [this.find(".called"), this.find(".rule")];
    mark(called, "data-call", call === undefined ? "none" : String(call));
    if (!p) {
      put(called, labels.noPrediction);
      put(rule, fillIn(labels.untilCall, { done: store.warm ?? 0, whole: config.window }));
    } else {
      put(called, `${arrows[call]} ${classes[call]} ${format.percent(p[call])}`);
      if (waits) put(rule, backWords(store, last.time, config, format));
      else put(rule, score?.outcomes ? unusualWords(p, usual, config, format) : labels.untilOutcome);
    }
    this.reasons.draw(store, light, config, format);
    const after = p ? this.reasons.without?.after : undefined;
    this.root.querySelectorAll(".bar").forEach((bar, k) => {
      mark(bar, "data-without", after ? "known" : "none");
      bar.style.setProperty("--without", (after?.[k] ?? 0).toFixed(3));
      mark(bar, "data-empty", p ? "no" : "yes");
      mark(bar, "data-usual", usual[k] >= 0 ? "known" : "none");
      share(bar, p ? p[k] : 0);
      bar.style.setProperty("--usual", usual[k] >= 0 ? usual[k].toFixed(3) : "0");
      mark(bar, "title", usual[k] >= 0 ? fillIn(labels.usual, { call: classes[k], share: format.percent(usual[k]) }) : "");
      put(bar.lastChild, p ? format.percent(p[k]) : "");
    });
    this.drawWaiting(waits ? null : p, score, store);
    this.drawScore(score, store);
  }

  // How far it is to the first call, then to the first outcome, in rows.
  drawWaiting(p, score, store) {
    const bar = this.find("progress");
    bar.hidden = Boolean(p && score?.outcomes) || !bookKnown(store, this.config);
    if (bar.hidden) return;
    const whole = p ? this.config.horizon : this.config.window;
    const first = p ? store.rows.findIndex(({ predicted }, i) => predicted && i >= store.stretch) : 0;
    const done = p ? store.rows.length - 1 - first : (store.warm ?? 0);
    [bar.max, bar.value] = [whole, Math.min(done, whole)];
  }

  drawScore(score, store) {
    const { labels, rivals, arrows, classes, fee } = this.config;
    const number = (value, places = 0) => this.format.number(value, places);
    const sentences = { ".standing": [standingWords, score], ".here": [hereWords, leadHere(score)] };
    for (const [name, [words, lead]] of Object.entries(sentences)) {
      put(this.find(name), words(score ?? { independent: 0 }, this.config, this.format));
      mark(this.find(name), "data-standing", Number.isFinite(lead?.perCall) ? STANDINGS[lead.standing] : "none");
    }
    const lines = [];
    if (score && Number.isFinite(score.perCall)) {
      const of = (count) => fillIn(labels.ofOutcomes, { count: number(count), whole: number(score.independent) });
      const rule = rivals[score.nearest];
      lines.push(["stat", labels.right, of(score.right)], ["stat", fillIn(labels.nearest, { rule }), of(score.nearestRight)]);
      if (score.nearestCall >= 0) lines.push(["stat", fillIn(labels.nearestNow, { rule }), `${arrows[score.nearestCall]} ${classes[score.nearestCall]}`]);
    }
    fill(this.find(".score"), lines);
    const trades = { fee: number(fee, 1), count: number(score?.trades ?? 0), result: score ? this.worth(score) : "–" };
    put(this.find(".worth"), score && Number.isFinite(score.result) ? fillIn(labels.worth, trades) : fillIn(labels.worthNone, trades));
    put(this.find(".since"), sinceWords(score, store.rows, labels, this.format));
  }

  // A taker's mean result after the spread and the fee of two fills, with its interval.
  worth({ result, reach }) {
    if (!Number.isFinite(result)) return "–";
    const after = (value) => `${value > 0 ? "+" : ""}${this.format.number(value, 1)}`;
    const net = result - 2 * this.config.fee;
    const interval = Number.isFinite(reach) ? ` (${after(net - reach)} – ${after(net + reach)})` : "";
    return `${after(net)}${interval} ${this.config.labels.bps}`;
  }
}
