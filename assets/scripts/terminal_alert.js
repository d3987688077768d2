// The reader's one alert, kept in this browser alone: the answer in view is Up, Down or any, at least so probable for so long.

import { element, fillIn } from "../../attention_light/scripts/dom.js";

const KEPT = "observatory:alert"; // in localStorage: {"call", "share", "seconds"}
const STEP_MS = 250;
const FRESH = ["live", "replaying", "simulating"]; // statuses in which the newest row is of now
const NO_SIGNAL = -1; // a row's answer where it calls nothing
const ANY = -1; // of a rule: any class; else 0 down, 2 up
const FIRST = { call: ANY, share: 0.6, seconds: 3 }; // of a form that nobody has filled in

// Whether what is asked of the call has held long enough; said once, until it no longer held.
export class CallWatch {
  since = null; // time of the first row of the stretch in which it holds
  last = NaN; // time of the newest row looked at
  told = false;

  // Look at a market's rows, oldest first, of which those after the last look count; the first look begins at the newest row.
  // `fresh`: whether the newest row is of now. Returns the row that sets the alert off, else null.
  look(rows, { call, share, seconds }, head, fresh) {
    const newest = rows.at(-1);
    if (!newest) return null;
    const goesOn = fresh && newest.time >= this.last;
    if (!goesOn) this.since = null;
    const from = goesOn ? rows.findLastIndex(({ time }) => time <= this.last) + 1 : rows.length - 1;
    for (const row of fresh ? rows.slice(from) : []) {
      if (row.time - this.last > STEP_MS) this.since = null; // nothing lasts across a gap
      this.last = row.time;
      const answer = row.predicted ? row.calls[head] : NO_SIGNAL;
      const holds = answer !== NO_SIGNAL && (call === ANY || answer === call) && row.probabilities[3 * head + answer] >= share;
      this.since = holds ? (this.since ?? row.time) : null;
      if (!holds) this.told = false;
    }
    this.last = newest.time;
    if (this.since === null || this.told || newest.time - this.since < 1000 * seconds) return null;
    this.told = true;
    return newest;
  }
}

// A rule as it was kept; null for anything else.
export function readRule(text) {
  try {
    const { call, share, seconds } = JSON.parse(text);
    const known = [ANY, 0, 2].includes(call) && share >= 0 && share <= 1 && seconds >= 0 && seconds <= 3600;
    return known ? { call, share: Number(share), seconds: Number(seconds) } : null;
  } catch {
    return null;
  }
}

// The alert with its form, a dialog. `said`: called with the sentence of one that went off; `changed`: when it is set or removed.
export class CallAlert {
  constructor(parent, said, changed) {
    Object.assign(this, { said, changed, rule: readRule(kept()), watch: new CallWatch() });
    this.dialog = element("dialog", "terminal-alerting", parent);
    this.dialog.addEventListener("keydown", (event) => event.stopPropagation()); // the page's keys are not for who fills this in
  }

  configure(config, format) {
    const { source, head } = this.config ?? {};
    Object.assign(this, { config, format });
    if (source !== config.source || head !== config.head) this.watch = new CallWatch();
  }

  // The newest confirmed rows of the store, after each frame.
  look({ rows, provisional, status }) {
    if (!this.rule || !this.config) return;
    const sure = provisional ? rows.slice(0, -provisional) : rows; // a row that the venue has not confirmed may be taken back (D27)
    const row = this.watch.look(sure, this.rule, this.config.head, FRESH.includes(this.config.statusNames[status]));
    if (row) this.goOff(row.calls[this.config.head]);
  }

  goOff(call) {
    const { labels, symbol, classes } = this.config;
    const text = fillIn(labels.alertText, { symbol, call: classes[call], ...this.words() });
    this.said(text);
    sound();
    try {
      if (globalThis.Notification?.permission === "granted") new Notification(document.title, { body: text });
    } catch {
      // a telephone's browser shows none without a service worker
    }
  }

  words() {
    const { call, share, seconds } = this.rule;
    const { labels, classes } = this.config;
    return { rule: call === ANY ? labels.alertAny : classes[call], share: this.format.percent(share), seconds: this.format.short(seconds) };
  }

  // -- the form -------------------------------------------------------------------------------------------------------

  open() {
    this.build();
    this.dialog.showModal();
  }

  build() {
    const { labels, classes } = this.config;
    const { call, share, seconds } = this.rule ?? FIRST;
    const form = element("form");
    element("h2", "", form).textContent = labels.alert;
    element("p", "", form).textContent = labels.alertAbout;
    const calls = [[ANY, labels.alertAny], [2, classes[2]], [0, classes[0]]];
    const select = field(form, labels.alertCall, "select");
    for (const [value, name] of calls) select.add(new Option(name, value, false, value === call));
    const least = field(form, labels.alertShare, "input", { type: "number", min: 0, max: 100, step: "any", required: true, value: Number((100 * share).toFixed(6)) });
    const long = field(form, labels.alertSeconds, "input", { type: "number", min: 0, max: 3600, step: "any", required: true, value: seconds });
    const presses = element("div", "presses", form);
    const press = (name, act) => {
      const made = element("button", "", presses);
      made.textContent = name;
      if (act) made.addEventListener("click", act);
      else made.type = "submit";
    };
    press(labels.alertSet);
    if (this.rule) press(labels.alertRemove, () => this.set(null));
    press(labels.close, () => this.dialog.close());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.set({ call: Number(select.value), share: least.valueAsNumber / 100, seconds: long.valueAsNumber });
    });
    const state = element("p", "state", form);
    state.setAttribute("role", "status");
    const denied = globalThis.Notification?.permission !== "granted";
    state.textContent = this.rule ? `${fillIn(labels.alertIs, this.words())}${denied ? ` ${labels.alertDenied}` : ""}` : labels.alertNone;
    this.dialog.replaceChildren(form);
    this.dialog.setAttribute("aria-label", labels.alert);
  }

  // Keep a rule, or none. The press is when a browser may be asked for its notifications, and lets the page sound.
  async set(rule) {
    this.rule = rule;
    this.watch = new CallWatch();
    keep(rule);
    if (rule) sound(0);
    this.build();
    this.changed();
    if (rule && globalThis.Notification?.permission === "default") {
      await Notification.requestPermission();
      this.build();
    }
  }
}

function field(form, name, tag, values = {}) {
  const label = element("label", "", form);
  label.append(name);
  return Object.assign(element(tag, "", label), values);
}

// What this browser keeps, where it lets a page keep anything.
function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function keep(rule) {
  try {
    if (rule) localStorage.setItem(KEPT, JSON.stringify(rule));
    else localStorage.removeItem(KEPT);
  } catch {
    // then it holds until the page is left
  }
}

function sound(volume = 0.08) {
  try {
    const context = new AudioContext();
    const tone = context.createOscillator();
    const gain = context.createGain();
    gain.gain.value = volume;
    tone.frequency.value = 660;
    tone.connect(gain).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + 0.25);
    tone.onended = () => context.close();
  } catch {
    // a browser without sound
  }
}
