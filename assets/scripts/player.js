// Plays a figure of live_plot.js by itself: frame by frame it cuts the traces and moves the marks (core/figures/play.py).
// Space plays and pauses, left and right arrows step, up and down change the speed, Home and End go to the ends.

import { element } from "./dom.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

export class Player {
  constructor(plot) {
    this.plot = plot;
    this.speed = 1;
    this.bar = element("div", "live-player");
    this.bar.player = this;
    this.back = this.button(() => this.step(-1), "◂");
    this.toggle = this.button(() => (this.timer ? this.pause() : this.run()), "▶");
    this.toggle.classList.add("live-player-toggle");
    this.ahead = this.button(() => this.step(1), "▸");
    this.slider = element("input", "live-player-slider", this.bar);
    this.slider.type = "range";
    this.slider.min = 0;
    this.slider.addEventListener("input", () => {
      this.pause();
      this.show(Number(this.slider.value));
    });
    this.rate = element("select", "live-player-speed", this.bar);
    for (const speed of SPEEDS) this.rate.append(new Option(`${speed}×`, speed, speed === 1, speed === 1));
    this.rate.addEventListener("change", () => (this.speed = Number(this.rate.value)));
    this.count = element("span", "live-player-count", this.bar);
    this.caption = element("p", "live-player-caption", this.bar);
    plot.figure.after(this.bar);
    plot.figure.tabIndex = 0;
    for (const root of [this.bar, plot.figure]) root.addEventListener("keydown", (event) => this.key(event));
  }

  button(press, sign) {
    const made = element("button", "", this.bar);
    made.textContent = sign;
    made.addEventListener("click", press);
    return made;
  }

  // Another figure's frames: shown from where its page stands.
  take(play) {
    const said = JSON.stringify(play);
    if (said === this.said) return;
    this.said = said;
    this.pause();
    this.play = play;
    this.at = play.start;
    this.slider.max = play.frames.length - 1;
    const words = play.words;
    this.slider.setAttribute("aria-label", words.place);
    this.rate.setAttribute("aria-label", words.speed);
    this.back.setAttribute("aria-label", words.back);
    this.ahead.setAttribute("aria-label", words.ahead);
    this.bar.title = words.keys;
    this.tell();
  }

  key(event) {
    if (event.target === this.rate || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.play.frames.length - 1;
    const acts = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      ArrowUp: () => this.faster(1),
      ArrowDown: () => this.faster(-1),
      Home: () => this.step(-last),
      End: () => this.step(last),
      " ": () => (this.timer ? this.pause() : this.run()),
    };
    const act = acts[event.key];
    if (!act || (event.key === " " && event.target.tagName === "BUTTON")) return; // a button is pressed by the space bar itself
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  faster(by) {
    const place = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.speed) + by));
    this.speed = SPEEDS[place];
    this.rate.value = this.speed;
  }

  step(by) {
    this.pause();
    this.show(Math.min(this.play.frames.length - 1, Math.max(0, this.at + by)));
  }

  run() {
    if (this.at >= this.play.frames.length - 1) this.show(0);
    const next = () => {
      this.timer = setTimeout(async () => {
        if (!this.bar.isConnected || this.at >= this.play.frames.length - 1) return this.pause();
        // Steps that come faster than a plot is drawn are taken several at a time.
        const due = this.play.everyMs / this.speed;
        this.show(Math.min(this.play.frames.length - 1, this.at + Math.max(1, Math.round(40 / due))));
        if (this.timer) next();
      }, Math.max(40, this.play.everyMs / this.speed));
    };
    next();
    this.tell();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.play) this.tell();
  }

  show(at) {
    this.at = at;
    this.tell();
    this.plot.again();
  }

  tell() {
    const { frames, words } = this.play;
    this.bar.dataset.frame = this.at;
    this.bar.dataset.playing = Boolean(this.timer);
    this.slider.value = this.at;
    this.toggle.textContent = this.timer ? "❚❚" : "▶";
    this.toggle.setAttribute("aria-label", this.timer ? words.pause : words.play);
    this.count.textContent = `${this.at + 1} / ${frames.length}`;
    this.caption.textContent = frames[this.at][1];
  }

  // The traces as this frame shows them.
  traces(whole) {
    const [shown] = this.play.frames[this.at];
    const cut = [...whole];
    for (const [order, [index, how]] of Object.entries(this.play.how).entries()) {
      if (cut[index]) cut[index] = CUTS[how](cut[index], shown[order]);
    }
    return cut;
  }

  layout(layout) {
    for (const [path, value] of Object.entries(this.play.frames[this.at][2])) {
      const steps = path.split(".");
      const last = steps.pop();
      let place = layout;
      for (const step of steps) place = place?.[step];
      if (place) place[last] = value;
    }
  }

  close() {
    this.pause();
    this.bar.remove();
  }
}

const CUTS = {
  points(trace, count) {
    const cut = (values) => (listed(values) ? array(values).slice(0, count) : values);
    const out = { ...trace };
    for (const name of ["x", "y", "text", "customdata", "texttemplate"]) out[name] = cut(trace[name]);
    if (trace.marker) out.marker = { ...trace.marker, color: cut(trace.marker.color), size: cut(trace.marker.size) };
    if (out.marker && Array.isArray(out.marker.size) && count > 0) out.marker.size[count - 1] = array(trace.marker.size).at(-1);
    return out;
  },
  upto(trace, most) {
    return { ...trace, x: array(trace.x).map((x) => (x !== null && x > most ? null : x)) };
  },
  cells: (trace, count) => masked(trace, (row, column, columns) => row * columns + column < count),
  columns: (trace, count) => masked(trace, (_row, column) => column < count),
  rows: (trace, count) => masked(trace, (row) => row < count),
};

function masked(trace, seen) {
  const z = matrix(trace.z);
  return { ...trace, z: z.map((line, row) => line.map((value, column) => (seen(row, column, line.length) ? value : null))) };
}

const TYPES = {
  f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array,
  u4: Uint32Array,
};

function listed(values) {
  return Array.isArray(values) || values?.bdata !== undefined;
}

// Numbers as plotly's JSON carries them: a list, or base64 of a typed array.
function array(values) {
  if (Array.isArray(values)) return values;
  if (values?.bdata === undefined) return [];
  const bytes = Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0));
  return [...new TYPES[values.dtype](bytes.buffer)].map((value) => (Number.isNaN(value) ? null : value));
}

function matrix(values) {
  if (Array.isArray(values)) return values.map(array);
  const [, columns] = String(values.shape).split(",").map(Number);
  const flat = array(values);
  return Array.from({ length: flat.length / columns }, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}
