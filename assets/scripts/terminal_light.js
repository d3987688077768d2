// The light of the book: asked for once a head is looked at, and drawn on the heat map's own cells, where each order stood.

import { FRESH_MS, STEP_MS } from "./terminal_data.js";

const ASK_AGAIN_MS = 2_000;
const GONE_MS = 32_000; // a window, of whose rows none is left then
const LEAST = 3; // pixels of a cell

export class Light {
  constructor(send) {
    this.send = send;
    this.wanted = setInterval(() => this.ask(), ASK_AGAIN_MS);
  }

  configure(config) {
    if (this.config?.source !== config.source || this.config?.head !== config.head) this.newest = null;
    this.config = config;
    this.ask();
  }

  // Says which head's light is looked at; nothing is computed for a page that nobody sees.
  ask() {
    this.send(document.hidden || !this.config || this.config.small ? "light" : `light ${this.config.head}`);
  }

  take(light) {
    if (light.head === this.config?.head) this.newest = light;
  }

  // What explains the newest rows, if anything does: none of before the last jump or gap.
  of({ newest, rows, stretch }) {
    const here = newest && this.newest && this.newest.time >= rows[stretch].time && newest.time - this.newest.time <= GONE_MS;
    return (this.newest = here ? this.newest : null);
  }

  // Cells of the heat map in the colour of ink, `unit` of price high: whole for what spoke for the answer, hollow for what spoke against it.
  paint(pen, frame, { store, perPrice, spacing, inkColour }, unit) {
    const light = this.of(store);
    if (!light || store.newest.time - light.time > FRESH_MS) return;
    const [ages, prices, values] = light.cells;
    const high = Math.max(LEAST, unit * perPrice);
    const wide = Math.max(LEAST, spacing);
    ages.forEach((age, i) => {
      const [x, y] = [frame.at(light.time - age * STEP_MS), frame.y((Math.floor(prices[i] / unit + 1e-6) + 0.5) * unit)];
      const ink = `rgba(${inkColour},${(0.15 + (0.8 * Math.abs(values[i])) / 1000).toFixed(2)})`;
      if (values[i] * light.lean >= 0) {
        pen.fillStyle = ink;
        pen.fillRect(x - wide / 2, y - high / 2, wide, high);
      } else {
        pen.lineWidth = 1;
        pen.strokeStyle = ink;
        pen.strokeRect(x - wide / 2, y - high / 2, wide, high);
      }
    });
  }

  close() {
    clearInterval(this.wanted);
  }
}
