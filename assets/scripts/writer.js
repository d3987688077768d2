// The next words of a text as bars: a press writes one, "Write on" goes on until "Stop"; and marks on the heads of the attention view.
//
// Temperature and top-p are applied here, from what core/words/desk.py sends of all tokens (`NextWords`).
import { element, fillIn } from "../../attention_light/scripts/dom.js";
import { keepInAddress } from "./kept.js";
import { mounted } from "./mounted.js";

const EVERY_MS = 400; // from one written token to the next
const LATE_MS = 5000; // without an answer the question is asked again
const CORNER = 0.42; // of a square's side: where a press switches its head off
const PRESS = 64; // tokens of a press

export const receive = mounted((parent) => new NextBars(parent));

class NextBars {
  constructor(parent) {
    this.root = element("section", "writer", parent);
    this.keys = element("p", "writer-keys", this.root);
    this.on = this.button(this.keys, () => (this.left ? this.stop() : this.start()));
    this.back = this.button(this.keys, () => this.send("back", {}));
    this.bars = element("ol", "writer-bars", this.root);
    this.state = element("p", "writer-said", this.root);
    this.state.setAttribute("aria-live", "polite");
    const dials = element("p", "writer-dials", this.root);
    this.dials = { t: this.dial(dials, "range"), p: this.dial(dials, "range"), seed: this.dial(dials, "number") };
    this.chips = element("p", "writer-keys", this.root);
    this.note = element("p", "writer-said", this.root);
    this.left = 0;
    this.role = null;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    document.addEventListener("click", (event) => this.press(event), { signal, capture: true });
    document.addEventListener("pointerover", (event) => (this.under = headOf(event.target)), { signal });
    window.addEventListener("popstate", () => this.wentBack(), { signal });
    document.addEventListener("attention-drawn", () => this.mark(), { signal });
  }

  button(parent, act) {
    const made = element("button", "attention-button", parent);
    made.addEventListener("click", act);
    return made;
  }

  dial(parent, type) {
    const label = element("label", "", parent);
    const text = element("span", "", label);
    const input = element("input", "", label);
    input.type = type;
    input.addEventListener("input", () => {
      this.keepInAddress();
      this.draw();
    });
    return { text, input };
  }

  show(data) {
    const first = !this.data;
    this.data = data;
    this.percent = new Intl.NumberFormat(data.locale, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.number = new Intl.NumberFormat(data.locale, { maximumFractionDigits: 2 });
    if (first) this.open();
    this.back.textContent = data.words.back;
    this.back.disabled = !data.written;
    this.drawChips();
    this.draw();
    this.mark();
    if (data.ended || !data.room) this.stop();
    if (this.left) this.goOn();
  }

  open() {
    const { t, p, seed } = this.dials;
    Object.assign(t.input, { min: 0, max: this.data.temperatures.length - 1, step: 1, value: nearest(this.data.temperatures, this.data.temperature) });
    Object.assign(p.input, { min: 0, max: this.data.topPs.length - 1, step: 1, value: nearest(this.data.topPs, this.data.topP) });
    Object.assign(seed.input, { min: 0, max: 999999, step: 1, value: this.data.seed });
  }

  get temperature() {
    return this.data.temperatures[this.dials.t.input.value];
  }

  get topP() {
    return this.data.topPs[this.dials.p.input.value];
  }

  get seed() {
    const value = Math.trunc(Number(this.dials.seed.input.value));
    return value >= 0 && value <= 999999 ? value : 0;
  }

  // -- drawing ------------------------------------------------------------------------------------------------------------

  shares(next) {
    return sharesAt(next, this.data.temperatures, Number(this.dials.t.input.value), Number(this.dials.p.input.value));
  }

  draw() {
    const { words, next, before } = this.data;
    const shares = this.shares(next);
    const was = before && this.shares(before);
    const rest = Math.max(0, 1 - shares.reduce((sum, one) => sum + one, 0));
    this.bars.replaceChildren();
    next.names.forEach((name, i) => {
      const row = this.bar(shares[i], was?.[i]);
      const press = element("button", "writer-word", row);
      press.append(...spelled(name));
      press.title = fillIn(words.write, { word: name, share: this.percent.format(shares[i]) });
      press.disabled = this.left > 0 || !this.data.room;
      press.dataset.token = next.ids[i];
      press.addEventListener("click", () => {
        this.newEntry();
        this.send("write", { token: next.ids[i] });
      });
      this.amount(row, shares[i], was?.[i]);
    });
    const row = this.bar(rest, was && Math.max(0, 1 - was.reduce((sum, one) => sum + one, 0)));
    element("span", "writer-others", row).textContent = words.others;
    this.amount(row, rest);
    this.on.textContent = this.left ? words.stop : words.on;
    this.on.disabled = !this.left && !this.data.room;
    this.dials.t.text.textContent = this.temperature ? fillIn(words.temperature, { value: this.number.format(this.temperature) }) : words.likeliest;
    this.dials.p.text.textContent = fillIn(words.topP, { value: this.number.format(this.topP) });
    this.dials.seed.text.textContent = words.seed;
    this.dials.seed.input.disabled = this.temperature === 0;
    const { turn, ended, room } = this.data;
    this.state.textContent = turn ? fillIn(words.turn, { place: turn }) : ended ? words.ended : room ? "" : words.full;
    this.root.dataset.tokens = this.data.written;
  }

  bar(share, was) {
    const row = element("li", "", this.bars);
    row.style.setProperty("--share", share);
    if (was !== undefined && was !== null) row.style.setProperty("--was", was);
    return row;
  }

  amount(row, share, was) {
    const text = was === undefined || was === null ? this.percent.format(share) : `${this.percent.format(was)} → ${this.percent.format(share)}`;
    element("span", "writer-share", row).textContent = text;
  }

  drawChips() {
    this.chips.replaceChildren();
    for (const role of this.data.roles) {
      const chip = this.button(this.chips, () => {
        this.role = this.role === role.code ? null : role.code;
        this.drawChips();
        this.mark();
      });
      chip.textContent = role.title;
      chip.title = role.note;
      chip.setAttribute("aria-pressed", String(this.role === role.code));
    }
    const role = this.data.roles.find((one) => one.code === this.role);
    this.note.textContent = [role?.note, this.data.count].filter(Boolean).join(" ");
    const scale = this.button(this.chips, () => {
      this.withoutFirst = !this.withoutFirst;
      document.dispatchEvent(new CustomEvent("attention-scale", { detail: this.withoutFirst }));
      this.drawChips();
    });
    scale.textContent = this.data.words.scale;
    scale.setAttribute("aria-pressed", String(Boolean(this.withoutFirst)));
    if (!this.data.off.length) return;
    const all = this.button(this.chips, () => this.send("off", { heads: [] }));
    all.textContent = fillIn(this.data.words.allOn, { heads: this.data.off.map(([l, h]) => `${l + 1}.${h + 1}`).join(", ") });
  }

  // Heads of the chosen role, those that count most, and those that are off, on the squares of the attention view.
  mark() {
    if (!this.data) return;
    const name = ([l, h]) => `${l}.${h}`;
    const role = new Set((this.data.roles.find((one) => one.code === this.role)?.heads ?? []).map(name));
    const [off, strong] = [new Set(this.data.off.map(name)), new Set(this.data.strongest.map(name))];
    for (const square of document.querySelectorAll(".attention-square")) {
      const head = headOf(square);
      const has = (set) => Boolean(head) && set.has(name(head));
      square.classList.toggle("writer-role", has(role));
      square.classList.toggle("writer-off", has(off));
      square.classList.toggle("writer-strong", has(strong));
    }
  }

  // -- what a reader does -------------------------------------------------------------------------------------------------

  send(name, value) {
    this.component.setTriggerValue(name, { ...value, temperature: this.temperature, topP: this.topP, seed: this.seed });
  }

  // The browser's Back leads to the text before this press: a page's choices alone change the address of an entry (frame.js).
  newEntry() {
    window.observatoryHistory(history.state, "", location.href);
  }

  start() {
    this.newEntry();
    this.left = PRESS;
    this.draw();
    this.ask();
  }

  ask() {
    this.asked = performance.now();
    this.written = this.data.written;
    this.send("write", { on: true });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), LATE_MS);
  }

  // The answer came: the next token once its time has come.
  goOn() {
    if (this.data.written > this.written) this.left -= 1;
    if (!this.left) return this.stop();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), Math.max(0, EVERY_MS - (performance.now() - this.asked)));
  }

  stop() {
    if (!this.left && !this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.left = 0;
    this.draw();
    this.send("rest", {});
  }

  wentBack() {
    const wrote = new URLSearchParams(location.search).get("wrote");
    this.send("link", { tokens: wrote ? wrote.split(".") : [] });
  }

  key(event) {
    if (event.target.closest?.("input, textarea, [contenteditable]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Backspace" && this.data?.written) this.send("back", {});
    else if (event.key === "o" && this.pointed()) this.toggle(this.pointed());
    else if (event.key === "Escape" && this.left) this.stop();
    else return;
    event.preventDefault();
  }

  // The head under the pointer, else the one that the keyboard has reached among the squares.
  pointed() {
    return this.under ?? (document.activeElement?.classList.contains("attention-squares") ? headOf(document.activeElement.querySelector(".chosen")) : null);
  }

  press(event) {
    const head = headOf(event.target);
    if (!head) return;
    const box = event.target.getBoundingClientRect();
    if (event.clientX < box.right - CORNER * box.width || event.clientY > box.top + CORNER * box.height) return;
    event.stopPropagation();
    this.toggle(head);
  }

  toggle([layer, head]) {
    const others = this.data.off.filter(([l, h]) => l !== layer || h !== head);
    this.send("off", { heads: others.length < this.data.off.length ? others : [...others, [layer, head]] });
  }

  keepInAddress() {
    keepInAddress({ t: this.temperature, p: this.topP === 1 ? "" : this.topP, seed: this.seed });
  }

  close() {
    clearTimeout(this.timer);
    this.listeners.abort();
    this.root.remove();
  }
}

// Shares of words at a temperature and a top-p, by their places among the dials', as `choose` of core/words/writer.py draws them.
export function sharesAt(next, temperatures, at, place) {
  if (!at) return next.scores.map(Math.exp); // the likeliest is written; the bars stay the network's own
  return next.scores.map((score, i) =>
    next.ranks[i] < next.counts[at - 1][place] ? Math.exp(score / temperatures[at] - next.totals[at - 1]) / next.masses[at - 1][place] : 0,
  );
}

// Layer and head, from 0, of a square of the attention view; null of anything else.
export function headOf(target) {
  if (!target?.classList?.contains("attention-square")) return null;
  const layer = /^layer (\d+)$/.exec(target.dataset.layer ?? "");
  return layer && /^\d+$/.test(target.dataset.head) ? [Number(layer[1]) - 1, Number(target.dataset.head) - 1] : null;
}

// A piece with its space in sight.
function spelled(name) {
  const space = element("span", "writer-space");
  space.textContent = "␣";
  const rest = name.replaceAll("\n", "↵");
  return rest.startsWith(" ") ? [space, rest.slice(1)] : [rest];
}

function nearest(values, wanted) {
  return values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
}
