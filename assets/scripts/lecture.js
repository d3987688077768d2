// The lecture on a projector's stage: 1,280 by 720 units as large as the screen, so that no size shows another picture.
//
// Space and Page down go on view by view (over a question to its answer) and stop by stop, Page up goes back, arrows turn the view's
// dial, Esc leaves. The address holds the view and its dial, and a view is drawn from these and the hands that were counted.
import { element, typing } from "../../attention_light/scripts/dom.js";
import { keep, keepInAddress, kept } from "./kept.js";
import { mounted } from "./mounted.js";

const WIDE = 1280;
const HIGH = 720;
const SVG = "http://www.w3.org/2000/svg";

export const receive = mounted((parent) => new Stage(parent));

class Stage {
  constructor(parent) {
    this.root = element("section", "lecture-stage", parent);
    this.page = element("div", "lecture-page", this.root);
    const head = element("header", "", this.page);
    this.where = element("p", "lecture-where", head);
    this.dial = element("p", "lecture-dial", head);
    this.question = element("h1", "", this.page);
    this.figure = element("div", "lecture-figure", this.page);
    this.sentence = element("p", "lecture-sentence", this.page);
    this.sentence.setAttribute("aria-live", "polite");
    this.pointed = element("p", "lecture-pointed", this.page);
    this.notes = element("aside", "lecture-notes", this.page);
    this.notes.hidden = true;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.key(event), { signal, capture: true });
    document.addEventListener("keyup", (event) => event.key === " " && !typing(event.target) && event.preventDefault(), { signal, capture: true });
    window.addEventListener("resize", () => this.fit(), { signal });
    window.addEventListener("popstate", () => this.open(), { signal });
    this.root.addEventListener("pointerover", (event) => (this.pointed.textContent = event.target.closest("[data-reading]")?.dataset.reading ?? ""), { signal });
    this.root.addEventListener("click", (event) => this.press(event.target), { signal });
    this.fit();
  }

  show(data) {
    this.data = data;
    this.votes = new Map(kept(this.hands, "sessionStorage"));
    this.number = new Intl.NumberFormat(data.locale, { maximumSignificantDigits: 3 });
    this.fixed = new Intl.NumberFormat(data.locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    this.open();
  }

  close() {
    this.listeners.abort();
    this.root.remove();
  }

  fit() {
    const scale = Math.min(innerWidth / WIDE, innerHeight / HIGH);
    this.page.style.transform = `translate(${(innerWidth - scale * WIDE) / 2}px, ${(innerHeight - scale * HIGH) / 2}px) scale(${scale})`;
  }

  // The view and the dial that the address names.
  open() {
    const asked = new URL(location.href).searchParams;
    const at = asked.get("stop") ?? "";
    const found = this.data.views.findIndex((one) => one.at === at || one.at === `${at}.1`);
    this.view = Math.max(found, 0);
    const { frames, first } = this.data.views[this.view];
    const turned = Number(asked.get("dial") ?? first + 1) - 1;
    this.turned = Number.isInteger(turned) && turned >= 0 && turned < frames.length ? turned : first;
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const step = { " ": event.shiftKey ? -1 : 1, PageDown: 1, PageUp: -1 }[event.key];
    const turn = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step) this.walk(step);
    else if (turn) this.turn(turn);
    else if (event.key === "n" || event.key === "N") this.notes.hidden = !this.notes.hidden;
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  press(target) {
    const act = target.closest("[data-act]")?.dataset.act;
    const vote = target.closest("[data-vote]")?.dataset.vote;
    if (act === "on") this.walk(1);
    else if (act === "back") this.walk(-1);
    else if (act === "up") this.turn(1);
    else if (act === "down") this.turn(-1);
    else if (act === "leave") this.leave();
    else if (vote) {
      this.votes.set(vote, (this.votes.get(vote) ?? 0) + 1);
      this.keepHands();
      this.draw();
    }
  }

  // The class's hands outlast a reload, until the lecture is left; a browser that keeps nothing loses them.
  keepHands() {
    keep(this.hands, [...this.votes], "sessionStorage");
  }

  get hands() {
    return `hands ${this.data.locale}`;
  }

  leave() {
    this.votes.clear();
    this.keepHands();
    const to = new URL(location.href);
    to.searchParams.delete("stop");
    to.searchParams.delete("dial");
    to.searchParams.delete("text");
    location.assign(to);
  }

  // One step of the path: a view, or a question's answer.
  walk(step) {
    const { asks, frames } = this.data.views[this.view];
    if (asks && frames[this.turned + step]) return this.turn(step);
    const to = this.data.views[this.view + step];
    if (!to) return;
    this.view += step;
    this.turned = to.asks && step < 0 ? to.frames.length - 1 : to.first;
    this.keep();
  }

  turn(step) {
    const last = this.data.views[this.view].frames.length - 1;
    this.turned = Math.min(Math.max(this.turned + step, 0), last);
    this.keep();
  }

  keep() {
    keepInAddress({ stop: this.data.views[this.view].at, dial: this.turned + 1 });
    this.draw();
  }

  draw() {
    const { at, title, question, dial, values, panels, frames, notes } = this.data.views[this.view];
    const { sentence, panels: turned } = frames[this.turned];
    this.page.dataset.at = at;
    this.page.dataset.dial = this.turned + 1;
    this.where.replaceChildren(knob("back", "◀", this.data.words.back), `${at} · ${title}`, knob("on", "▶", this.data.words.on), knob("leave", "✕", this.data.words.leave));
    this.dial.replaceChildren(...(dial ? [knob("down", "−", this.data.words.down), `${dial}: ${typeof values[this.turned] === "number" ? this.number.format(values[this.turned]) : values[this.turned]}`, knob("up", "+", this.data.words.up)] : []));
    this.question.textContent = question;
    this.sentence.textContent = sentence;
    this.pointed.textContent = "";
    this.notes.textContent = notes;
    this.figure.replaceChildren();
    panels.forEach((panel, i) => {
      const whole = { ...panel, ...turned[i] };
      const place = element("div", `lecture-panel lecture-${whole.kind}`, this.figure);
      place.style.flexGrow = whole.wide ?? 1;
      if (whole.title) element("h2", "", place).textContent = whole.title;
      this[whole.kind](place, whole);
    });
  }

  // Tokens: the light behind them, what stands below each, and the place that is asked about; a field for a text of one's own.
  tokens(place, { tokens, light, below, marked, own }) {
    const line = element("p", "", place);
    if (own) this.field(place, own);
    const most = Math.max(...(light ?? [0]), 1e-9);
    tokens.forEach((token, i) => {
      const word = element("span", i === marked ? "lecture-marked" : "", line);
      word.textContent = token.trim() || "␣";
      if (light) {
        word.style.setProperty("--light", Math.max(light[i], 0) / most);
        word.dataset.reading = `${token.trim()}: ${this.number.format(light[i])}`;
      }
      if (below) element("small", "", word).textContent = below[i];
    });
  }

  // The server takes the text apart, which the address holds as the place of the dial after those that are bundled.
  field(place, bundled) {
    const field = element("input", "lecture-own", place);
    Object.assign(field, { type: "text", maxLength: this.data.most, placeholder: this.data.words.own, ariaLabel: this.data.words.own });
    field.addEventListener("change", () => {
      keepInAddress({ text: field.value, dial: bundled + 1 });
      field.blur();
      this.component.setTriggerValue("text", field.value);
    });
  }

  // Bars: one, or what was beside what is; with `voted`, names alone and the votes of the room.
  bars(place, { names, shares, was, voted, right, most, plain }) {
    const top = most ?? Math.max(...shares.map(Math.abs), 1e-9);
    const key = (i) => `${this.data.views[this.view].at} ${i}`;
    const hands = names.map((_name, i) => this.votes.get(key(i)) ?? 0);
    const count = hands.reduce((a, b) => a + b);
    if (right !== undefined && count) this.sentence.append(` ${this.data.words.hands.replace("{right}", hands[right]).replace("{count}", count)}`);
    names.forEach((name, i) => {
      const row = element(voted ? "button" : "p", "", place);
      element("b", "", row).textContent = name.trim();
      const bar = element("i", shares[i] < 0 ? "lecture-below" : "", row);
      const value = element("span", "", row);
      if (voted) {
        row.dataset.vote = key(i);
        value.textContent = hands[i];
        bar.style.setProperty("--share", hands[i] / Math.max(...hands, 1));
        if (i === right) row.classList.add("lecture-right");
        row.disabled = right !== undefined;
        return;
      }
      bar.style.setProperty("--share", Math.abs(shares[i]) / top);
      if (was) bar.style.setProperty("--was", Math.abs(was[i]) / top);
      value.textContent = plain ? this.number.format(shares[i]) : share(shares[i], this.data.locale);
      row.dataset.reading = `${name.trim()}: ${this.number.format(shares[i])}${was ? ` ← ${this.number.format(was[i])}` : ""}`;
    });
  }

  // A matrix: light by the share of its row's largest cell, or of the whole's, `null` a masked cell; numbers where there is room.
  matrix(place, { rows, columns, cells, row, whole, numbers }) {
    const table = element("table", "", place);
    table.classList.toggle("lecture-small", cells[0].length > 12);
    table.classList.toggle("lecture-many", columns.length > 8 && columns.some((one) => one.length > 2));
    const top = element("tr", "", table);
    element("td", "lecture-corner", top);
    for (const name of columns) element("th", "", top).textContent = name;
    const all = Math.max(...cells.flat().map((one) => Math.abs(one ?? 0)), 1e-9);
    cells.forEach((values, i) => {
      const line = element("tr", row === undefined || row === i ? "" : "lecture-dim", table);
      element("th", "", line).textContent = rows[i];
      values.forEach((value, j) => {
        const cell = element("td", value === null ? "lecture-masked" : value < 0 ? "lecture-below" : "", line);
        if (value === null) return;
        cell.style.setProperty("--light", Math.abs(value) / (whole ? all : Math.max(...values.map(Math.abs), 1e-9)));
        if (numbers) cell.textContent = this.fixed.format(value).replace(/^(-?)0(?=\D)/, "$1");
        cell.dataset.reading = `${rows[i]} → ${columns[j]}: ${this.number.format(value)}`;
      });
    });
  }

  // A picture, light over its patches; a row of frames, each as bright as it is looked at.
  pictures(place, { sources, light, grid }) {
    const most = Math.max(...light.flat());
    sources.forEach((source, i) => {
      const frame = element("figure", "", place);
      const picture = element("img", "", frame);
      picture.src = `data:image/*;base64,${source}`;
      picture.alt = "";
      if (!grid) {
        frame.style.setProperty("--light", light[i] / most);
        frame.dataset.reading = this.number.format(light[i]);
        return;
      }
      const patches = element("div", "lecture-patches", frame);
      patches.style.gridTemplateColumns = `repeat(${grid[1]}, 1fr)`;
      for (const value of light) element("i", "", patches).style.opacity = 0.8 * (1 - value / most);
    });
  }

  // Curves over steps, each with its name at its end.
  curves(place, { names, curves, x, y, limit, until }) {
    const [w, h, left, low] = [1180, 400, 70, 340];
    const chart = drawn("svg", { viewBox: `0 0 ${w} ${h}` }, place);
    const top = Math.max(...curves.flat());
    const at = (i, count) => left + (i * (w - left - 330)) / (count - 1);
    const up = (value) => low - (value / top) * (low - 20);
    for (const tick of [0, top / 2, top]) drawn("text", { x: left - 8, y: up(tick) + 6, "text-anchor": "end" }, chart).textContent = this.fixed.format(tick);
    drawn("path", { d: `M${left} 20V${low}H${at(1, 2)}`, class: "lecture-axis" }, chart);
    drawn("text", { x: at(1, 2), y: low + 32, "text-anchor": "end" }, chart).textContent = `${x} (${this.number.format(until)})`;
    drawn("text", { x: left + 8, y: 16 }, chart).textContent = y;
    if (limit) {
      drawn("path", { d: `M${left} ${up(limit.value)}H${at(1, 2)}`, class: "lecture-limit" }, chart);
      drawn("text", { x: at(1, 2) + 10, y: up(limit.value) - 14 }, chart).textContent = limit.name;
    }
    curves.forEach((curve, n) => {
      drawn("path", { d: curve.map((one, i) => `${i ? "L" : "M"}${at(i, curve.length)} ${up(one)}`).join(""), class: `lecture-curve-${n}` }, chart);
      drawn("text", { x: at(1, 2) + 10, y: up(curve.at(-1)) + 12, class: `lecture-name-${n}` }, chart).textContent = names[n];
    });
  }

  // Rows of numbers channel by channel, all on one zero line each; as tall as each allows, or with `whole` in one scale.
  channels(place, { rows, whole }) {
    const count = rows[0].values.length;
    const [w, each, left] = [1200, 400 / rows.length, 230];
    const chart = drawn("svg", { viewBox: `0 0 ${w} 400` }, place);
    const all = rows.flatMap((row) => row.values);
    rows.forEach(({ name, values, value }, n) => {
      const zero = n * each + each / 2;
      const most = Math.max(...(whole ? all : values).map(Math.abs), 1e-9);
      drawn("text", { x: 0, y: zero + 6 }, chart).textContent = name;
      if (value !== undefined) drawn("text", { x: w, y: zero + 6, "text-anchor": "end" }, chart).textContent = this.fixed.format(value);
      values.forEach((one, i) => {
        const tall = (Math.abs(one) / most) * (each / 2 - 6);
        const wide = (w - left - 110) / count;
        const bar = drawn("rect", { x: left + i * wide, y: one < 0 ? zero : zero - tall, width: wide - 3, height: tall + 1, class: one < 0 ? "lecture-below" : "" }, chart);
        bar.dataset.reading = `${name} · ${i + 1}: ${this.number.format(one)}`;
      });
    });
  }

  // Two arrows of one length, each turned by its place.
  turns(place, { arrows }) {
    const chart = drawn("svg", { viewBox: "-300 -215 600 435" }, place);
    drawn("circle", { r: 170, class: "lecture-axis" }, chart);
    arrows.forEach(({ name, angle }, n) => {
      const [x, y] = [170 * Math.cos(angle), -170 * Math.sin(angle)];
      drawn("path", { d: `M0 0L${x} ${y}`, class: `lecture-curve-${n}` }, chart);
      drawn("circle", { cx: x, cy: y, r: 8, class: `lecture-dot-${n}` }, chart);
      drawn("text", { x: 1.08 * x, y: 1.14 * y + 6, "text-anchor": x < 0 ? "end" : "start", class: `lecture-name-${n}` }, chart).textContent = name;
    });
  }

  // Texts, each under its name.
  texts(place, { names, texts }) {
    texts.forEach((text, i) => {
      element("h3", "", place).textContent = names[i];
      element("p", "", place).textContent = text;
    });
  }
}

const share = (value, locale) => new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 2 }).format(value);

function knob(act, sign, name) {
  const made = element("button", "");
  made.dataset.act = act;
  made.textContent = sign;
  made.setAttribute("aria-label", name);
  return made;
}

function drawn(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}
