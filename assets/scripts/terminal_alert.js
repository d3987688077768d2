// The reader's alerts, kept in this browser alone: a call that stands, a price crossed, a large trade, a wall, a feed that falls silent.

import { element, fillIn } from "../../attention_light/scripts/dom.js";
import { keep, kept } from "./kept.js";
import { STEP_MS } from "./terminal_data.js";
import { button, put } from "./terminal_parts.js";

const KEPT = "observatory:alert"; // in localStorage: rules, [{"kind", ...}]
const SOUNDS = "observatory:trade-sounds"; // in localStorage: whether large trades sound
const MOST = 6; // alerts at once
const FRESH = ["live", "replaying", "simulating"]; // statuses in which the newest row is of now
const NO_SIGNAL = -1; // a row's answer where it calls nothing
const ANY = -1; // of a rule: any class; else 0 down, 2 up
const HOUR_MS = 3_600_000;
const OFTEN = 4; // times that a proposed rule would have gone off in what is known, at most
const TONES = { bought: 880, sold: 440, alert: 660 }; // Hz
const SIZED_MS = 60_000; // of the market, after which it is looked at anew which trades are large

// What a rule of each kind asks of a row; `before` is the row before it, `largest` the largest trade between the two.
const ASKS = {
  call({ call, share }, row, head) {
    const answer = row.predicted ? row.calls[head] : NO_SIGNAL;
    return answer !== NO_SIGNAL && (call === ANY || answer === call) && row.probabilities[3 * head + answer] >= share;
  },
  price: ({ price }, row, _head, before) => Boolean(before) && row.mid >= price !== before.mid >= price,
  trade: ({ size }, _row, _head, _before, largest) => largest >= size,
  wall: ({ size }, row) => row.levels.some((value, i) => i % 2 === 1 && value >= size),
  feed: () => false, // of the status, not of a row
};
export const KINDS = Object.keys(ASKS);

// Whether what a rule asks has held long enough; said once, until it no longer held.
export class RuleWatch {
  since = null; // time of the first row of the stretch in which it holds
  last = NaN; // time of the newest row looked at
  told = false;
  fresh = null; // whether the newest row was of now, at the last look

  // Look at a market's rows, oldest first, of which those after the last look count; the first look begins at the newest row.
  // `fresh`: whether the newest row is of now. Returns the row that sets the alert off, else null.
  look(rows, rule, head, fresh, trades = []) {
    const newest = rows.at(-1);
    if (!newest) return null;
    const turned = rule.kind === "feed" && this.fresh !== null && fresh !== this.fresh;
    this.fresh = fresh;
    if (turned) return newest;
    const goesOn = fresh && newest.time >= this.last;
    if (!goesOn) this.since = null;
    const from = goesOn ? rows.findLastIndex(({ time }) => time <= this.last) + 1 : rows.length - 1;
    for (let i = fresh ? from : rows.length; i < rows.length; i++) this.step(rows[i], rule, head, rows[i - 1], trades);
    this.last = newest.time;
    return this.rings(newest, rule) ? newest : null;
  }

  // Whether it goes off at this row, which was looked at.
  rings({ time }, { seconds = 0 }) {
    const rings = this.since !== null && !this.told && time - this.since >= 1000 * seconds;
    this.told ||= rings;
    return rings;
  }

  step(row, rule, head, before, trades) {
    if (row.time - this.last > STEP_MS) this.since = null; // nothing lasts across a gap
    this.last = row.time;
    let largest = 0;
    const after = before?.time ?? row.time - STEP_MS;
    for (let k = trades.length - 1; k >= 0 && trades[k].time > after; k--) if (trades[k].time <= row.time) largest = Math.max(largest, trades[k].size);
    const holds = ASKS[rule.kind](rule, row, head, before, largest);
    this.since = holds ? (this.since ?? row.time) : null;
    if (!holds) this.told = false;
  }
}

// How often a rule would have gone off over these rows and trades.
export function countRings(rows, rule, head, trades) {
  const watch = new RuleWatch();
  let [count, next] = [0, 0];
  rows.forEach((row, i) => {
    const first = next;
    while (next < trades.length && trades[next].time <= row.time) next += 1;
    watch.step(row, rule, head, rows[i - 1], trades.slice(first, next));
    count += watch.rings(row, rule);
  });
  return count;
}

// A rule of a kind that this market reaches, now and then: the most of what is asked that still goes off, or goes off no more than often.
export function proposed(kind, { rows, trades, newest }, head) {
  const atMost = (rules) => rules.find((rule) => countRings(rows, rule, head, trades) > 0) ?? rules.at(-1);
  if (kind === "call") return atMost([0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4].map((share) => ({ kind, call: ANY, share, seconds: 3 })));
  if (kind === "price") return { kind, price: newest?.mid ?? 0 };
  if (kind === "feed") return { kind };
  const sizes = kind === "trade" ? trades.map(({ size }) => size) : rows.map(({ levels }) => Math.max(...levels.filter((_, i) => i % 2)));
  const largest = [...new Set(sizes)].sort((a, b) => b - a).slice(0, OFTEN);
  const least = largest.at(-1) ?? 1;
  const unit = 10 ** (Math.floor(Math.log10(least)) - 2);
  return { kind, size: Number((Math.floor(least / unit) * unit).toPrecision(3)) };
}

// Sounds of large trades, a switch of their own: high where the largest of a step bought, low where it sold. `play`: is given the Hz.
export class TradeSounds {
  on = false;
  last = NaN; // time of the newest row looked at
  size = Infinity; // from which a trade is large: no more than often in what is known
  sized = NaN;

  constructor(play) {
    this.play = play;
  }

  // The newest rows and trades; what a jump, or a playback faster than a second a step, passes over is silent.
  look(store) {
    const [before, now] = [this.last, store.newest?.time];
    if (!this.on || !now || now === before) return;
    this.last = now;
    if (now - before > 0 && now - before <= 4 * STEP_MS) {
      const large = store.trades.filter(({ time, size }) => time > before && time <= now && size >= this.size);
      const largest = large.sort((a, b) => b.size - a.size)[0];
      if (largest) this.play(largest.side < 0 ? TONES.sold : TONES.bought);
    } else this.sized = NaN;
    if (!(now - this.sized < SIZED_MS)) [this.size, this.sized] = [proposed("trade", store).size, now];
  }
}

// Rules as they were kept, one alone where a browser kept one; none for anything else.
export function readRules(value) {
  return [value].flat().map(readRule).filter(Boolean).slice(0, MOST);
}

function readRule(value) {
  const { kind = "call", call, share, seconds, price, size } = value ?? {};
  if (kind === "call") {
    const known = [ANY, 0, 2].includes(call) && share >= 0 && share <= 1 && seconds >= 0 && seconds <= 3600;
    return known ? { kind, call, share: Number(share), seconds: Number(seconds) } : null;
  }
  if (kind === "price") return price > 0 ? { kind, price: Number(price) } : null;
  if (kind === "feed") return { kind };
  return KINDS.includes(kind) && size > 0 ? { kind, size: Number(size) } : null;
}

// The alerts with their form, a dialog. `announce`: called with the sentence of one that went off; `changed`: when one is set or removed.
export class ReaderAlerts {
  constructor(parent, store, announce, changed) {
    Object.assign(this, { store, announce, changed, alerts: readRules(kept(KEPT)).map(watched) });
    this.sounds = Object.assign(new TradeSounds(sound), { on: kept(SOUNDS) === true });
    this.dialog = element("dialog", "terminal-alerting", parent);
    this.dialog.addEventListener("keydown", (event) => event.stopPropagation()); // the page's keys are not for who fills this in
  }

  configure(config, format) {
    const { source, head } = this.config ?? {};
    Object.assign(this, { config, format });
    if (source !== config.source || head !== config.head) this.alerts = this.alerts.map(({ rule }) => watched(rule));
  }

  // Rows that the venue has confirmed: one that it has not may be taken back (D27).
  get rows() {
    const { rows, provisional } = this.store;
    return provisional ? rows.slice(0, -provisional) : rows;
  }

  // The newest rows, after each frame and change of status.
  look() {
    this.sounds.look(this.store);
    if (!this.alerts.length || !this.config) return;
    const fresh = FRESH.includes(this.config.statusNames[this.store.status]);
    for (const { rule, watch } of this.alerts) {
      const row = watch.look(this.rows, rule, this.config.head, fresh, this.store.trades);
      if (row) this.goOff(rule, row, fresh);
    }
  }

  goOff(rule, row, fresh) {
    const { labels, symbol, venue, head } = this.config;
    const words = rule.kind === "feed" ? labels.alertFeed[fresh ? 1 : 0] : this.words({ ...rule, call: row.calls[head] });
    const text = fillIn(labels.alertText, { symbol, venue, rule: words });
    this.announce(text);
    sound(TONES.alert);
    try {
      if (globalThis.Notification?.permission === "granted") new Notification(document.title, { body: text });
    } catch {
      // a telephone's browser shows none without a service worker
    }
  }

  // A rule in words.
  words({ kind, call, share, seconds, price, size }) {
    const { labels, classes } = this.config;
    const numbers = { price: this.format.price(price), size: this.format.significant(size), share: this.format.percent(share) };
    return fillIn(labels.alertRules[kind], { ...numbers, call: call === ANY ? labels.alertAny : classes[call], seconds: this.format.short(seconds) });
  }

  // -- the form -------------------------------------------------------------------------------------------------------

  open() {
    this.build(this.propose("call"));
    this.dialog.showModal();
  }

  propose(kind) {
    return proposed(kind, { rows: this.rows, trades: this.store.trades, newest: this.store.newest }, this.config.head);
  }

  build(rule) {
    const { labels, classes } = this.config;
    const form = element("form");
    element("h2", "", form).textContent = labels.alert;
    element("p", "", form).textContent = labels.alertAbout;
    this.addList(form, rule);
    const kinds = field(form, labels.alertWhen, "select");
    for (const kind of KINDS) kinds.add(new Option(labels.alertKinds[kind], kind, false, kind === rule.kind));
    kinds.addEventListener("change", () => this.build(this.propose(kinds.value)));
    const number = (name, value, more) => field(form, name, "input", { type: "number", min: 0, step: "any", required: true, value, ...more });
    let read = () => rule;
    if (rule.kind === "call") {
      const select = field(form, labels.alertCall, "select");
      for (const [value, name] of [[ANY, labels.alertAny], [2, classes[2]], [0, classes[0]]]) select.add(new Option(name, value, false, value === rule.call));
      const least = number(labels.alertShare, Number((100 * rule.share).toFixed(6)), { max: 100 });
      const long = number(labels.alertSeconds, rule.seconds, { max: 3600 });
      read = () => ({ kind: "call", call: Number(select.value), share: least.valueAsNumber / 100, seconds: long.valueAsNumber });
    } else if (rule.kind !== "feed") {
      const name = rule.kind === "price" ? "price" : "size";
      const asked = number(labels.alertNumbers[rule.kind], rule[name]);
      read = () => ({ kind: rule.kind, [name]: asked.valueAsNumber });
    }
    const past = element("p", "past", form);
    const tell = () => put(past, rule.kind === "feed" || !form.checkValidity() ? "" : this.pastWords(read()));
    form.addEventListener("input", tell);
    tell();
    this.addPresses(form, read);
    if (this.store.trades.length) this.addSounds(form);
    this.dialog.replaceChildren(form);
    this.dialog.setAttribute("aria-label", labels.alert);
  }

  // How often it would have gone off in what this screen knows, an hour at most.
  pastWords(rule) {
    const last = this.rows.at(-1)?.time ?? 0;
    const rows = this.rows.filter(({ time }) => time > last - HOUR_MS);
    const count = countRings(rows, rule, this.config.head, this.store.trades);
    const span = this.format.span(Math.max(1, Math.round((rows.length * STEP_MS) / 60_000)), "minute");
    return fillIn(this.config.labels.alertPast, { count: this.format.number(count, 0), span });
  }

  // The alerts that are set, each with a press that removes it.
  addList(form, shown) {
    const list = element("ul", "", form);
    for (const { rule } of this.alerts) {
      const item = element("li", "", list);
      item.append(this.words(rule));
      item.append(button("", this.config.labels.alertRemove, () => this.keep(this.alerts.filter((one) => one.rule !== rule), shown)));
    }
  }

  addSounds(form) {
    const { size } = this.propose("trade");
    const name = fillIn(this.config.labels.tradeSounds, { size: this.format.significant(size) });
    const box = field(form, name, "input", { type: "checkbox", checked: this.sounds.on });
    box.addEventListener("change", () => {
      this.sounds.on = box.checked;
      keep(SOUNDS, box.checked);
      if (box.checked) sound(TONES.bought);
      this.changed();
    });
  }

  addPresses(form, read) {
    const { labels } = this.config;
    const presses = element("div", "presses", form);
    const sends = element("button", "", presses);
    Object.assign(sends, { type: "submit", textContent: labels.alertSet, disabled: this.alerts.length === MOST });
    presses.append(button("", labels.close, () => this.dialog.close()));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.set(read());
    });
    const state = element("p", "state", form);
    state.setAttribute("role", "status");
    const denied = globalThis.Notification?.permission !== "granted";
    const full = this.alerts.length === MOST && fillIn(labels.alertMost, { count: MOST });
    put(state, this.alerts.length ? full || (denied ? labels.alertDenied : "") : labels.alertNone);
  }

  // Set one more. The press is when a browser may be asked for its notifications, and lets the page sound.
  async set(rule) {
    const known = this.alerts.some((one) => JSON.stringify(one.rule) === JSON.stringify(rule));
    sound(TONES.alert, 0);
    this.keep(known ? this.alerts : [...this.alerts, watched(rule)], rule);
    if (globalThis.Notification?.permission === "default") {
      await Notification.requestPermission();
      this.build(rule);
    }
  }

  // Keep these alerts, with a rule in the form.
  keep(alerts, shown) {
    this.alerts = alerts;
    keep(KEPT, alerts.map(({ rule }) => rule));
    this.build(shown);
    this.changed();
  }
}

const watched = (rule) => ({ rule, watch: new RuleWatch() });

function field(form, name, tag, values = {}) {
  const label = element("label", "", form);
  label.append(name);
  return Object.assign(element(tag, "", label), values);
}

// A short tone, of one context for all: a browser gives few.
function sound(hertz, volume = 0.08) {
  try {
    const context = (sound.context ??= new AudioContext());
    context.resume(); // one that began before the first press is silent
    const [tone, gain] = [context.createOscillator(), context.createGain()];
    gain.gain.value = volume;
    tone.frequency.value = hertz;
    tone.connect(gain).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + 0.25);
  } catch {
    // a browser without sound
  }
}
