// Where the model looks, now: the window's moments under the price and the ladder's levels, lit by what counted for the call in force.
import { parts } from "../../attention_light/scripts/colours.js";
import { fillIn } from "../../attention_light/scripts/dom.js";

const FOR = parts("warm");
const AGAINST = parts("cool");
const HEIGHT = 22;
const ASK_AGAIN_MS = 2_000;
const STALE_MS = 32_000; // of the market's time: a window, of whose rows none is left then

export class LightStrip {
  constructor(parent, send) {
    this.send = send;
    this.root = document.createElement("div");
    this.root.className = "terminal-light";
    this.canvas = document.createElement("canvas");
    this.canvas.dataset.light = "moments";
    this.canvas.height = 2 * HEIGHT;
    this.words = document.createElement("p");
    this.root.append(this.canvas, this.words);
    parent.append(this.root);
    this.wanted = setInterval(() => this.ask(), ASK_AGAIN_MS);
  }

  configure(config, format) {
    if (this.config?.source !== config.source || this.config?.head !== config.head) this.light = null;
    [this.config, this.format] = [config, format];
    this.ask();
    this.draw();
  }

  // Says which head's light is looked at; nothing is computed for a page that nobody sees.
  ask() {
    const asked = document.hidden || !this.config ? "light" : `light ${this.config.head}`;
    if (this.send(asked)) this.asked = asked;
  }

  take(light) {
    if (light.head !== this.config?.head) return;
    this.light = light;
    this.draw();
  }

  // Light of a window that is over goes, or of one before the last jump or gap, since which the rows run `from` to `newest`.
  // `call`: the class on the screen, undefined before the first; light that explains another one waits for its own.
  look(from, newest, call) {
    if (this.light && !(this.light.time >= from && newest - this.light.time <= STALE_MS)) this.light = null;
    if (this.seen?.light === this.light && this.seen.call === call) return;
    this.seen = { light: this.light, call };
    this.draw();
  }

  get lit() {
    return Boolean(this.light) && this.light.label === this.seen?.call;
  }

  draw() {
    const { labels } = this.config;
    const { canvas } = this;
    const light = this.lit ? this.light : null;
    const moments = light?.moments ?? [];
    canvas.width = Math.max(moments.length, 1);
    canvas.height = HEIGHT;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, HEIGHT);
    moments.forEach((share, i) => {
      const bright = Math.pow(Math.abs(share) / 1000, 0.6);
      context.fillStyle = `rgba(${share < 0 ? AGAINST : FOR}, ${bright})`;
      context.fillRect(i, 0, 1, HEIGHT);
    });
    if (!light) {
      this.words.textContent = this.seen?.call === undefined ? labels.lightNone : labels.lightComputing;
      delete canvas.dataset.value;
      return;
    }
    const best = moments.reduce((top, share, i) => (Math.abs(share) > Math.abs(moments[top]) ? i : top), 0);
    const share = light.whole ? (Math.abs(moments[best]) * light.most) / 1000 / light.whole : 0;
    const seconds = (moments.length - 1 - best) / 4;
    Object.assign(canvas.dataset, { value: share.toPrecision(3), time: light.time });
    this.words.textContent = fillIn(labels.light, {
      call: this.config.classes[light.label],
      span: this.format.number(moments.length / 4, 0),
      seconds: this.format.number(seconds, 2),
      share: this.format.percent(share),
    });
  }

  // How strongly what stood in a row of prices during the window counted, -1 to 1: for the class on the screen, else 0.
  at(price, tick) {
    if (!this.lit) return 0;
    if (this.rows?.light !== this.light || this.rows.tick !== tick) {
      const sums = new Map();
      this.light.prices.forEach((one, i) => sums.set(Math.round(one / tick), (sums.get(Math.round(one / tick)) ?? 0) + this.light.counted[i]));
      this.rows = { light: this.light, tick, sums, most: Math.max(1, ...[...sums.values()].map(Math.abs)) };
    }
    return (this.rows.sums.get(price) ?? 0) / this.rows.most;
  }

  close() {
    clearInterval(this.wanted);
  }
}
