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
  look(from, newest) {
    if (this.light && !(this.light.time >= from && newest - this.light.time <= STALE_MS)) {
      this.light = null;
      this.draw();
    }
  }

  draw() {
    const { labels } = this.config;
    const { light, canvas } = this;
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
      this.words.textContent = labels.lightNone;
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

  // How strongly the level at a price counted, -1 to 1; 0 for a price without one. `levels` are those of the newest row.
  at(price, tick, levels) {
    if (!this.light) return 0;
    let strongest = 0;
    for (let k = 0; k < 10; k++)
      for (const [side, place] of [[0, k], [2, 10 + k]]) {
        const share = this.light.levels[place] / 1000;
        if (Math.round(levels[4 * k + side] / tick) === price && Math.abs(share) > Math.abs(strongest)) strongest = share;
      }
    return strongest;
  }

  close() {
    clearInterval(this.wanted);
  }
}
