// When a live feed was good today: each state's minutes in its colour, grey where it was not followed.

import { colour } from "../../attention_light/scripts/colours.js";
import { element, fillIn } from "../../attention_light/scripts/dom.js";
import { mark } from "./terminal_parts.js";

const MINUTE_MS = 60_000;
const MINUTES = 1_440;

export class DayStrip {
  root = element("canvas", "terminal-day");

  // `pointed`: called with the words of the place that is pointed at, and with none when the pointer leaves.
  constructor(pointed) {
    for (const kind of ["pointermove", "pointerdown"]) this.root.addEventListener(kind, ({ offsetX }) => pointed(this.wordsAt(offsetX / this.root.clientWidth)));
    this.root.addEventListener("pointerleave", () => pointed(""));
    this.root.hidden = true;
  }

  // Runs of states {until, runs} of a feed, or null for what has no day.
  draw(day, config, format) {
    Object.assign(this, { config, format });
    this.root.hidden = !day?.runs.length;
    if (this.root.hidden) return;
    [this.root.width, this.root.height] = [MINUTES, 1];
    const pen = this.root.getContext("2d");
    this.midnight = day.until - (day.until % (MINUTES * MINUTE_MS) || MINUTES * MINUTE_MS);
    this.stretches = day.runs.map(([from, state], i) => ({ from, until: day.runs[i + 1]?.[0] ?? day.until, state }));
    for (const { from, until, state } of this.stretches) {
      pen.fillStyle = colour(config.feedStates[state][1]);
      pen.fillRect((from - this.midnight) / MINUTE_MS, 0, (until - from) / MINUTE_MS, 1);
    }
    mark(this.root, "role", "img");
    mark(this.root, "aria-label", this.stretches.map((one) => this.words(one)).join(" "));
  }

  words({ from, until, state }) {
    const { labels, feedStates } = this.config;
    return fillIn(labels.feedState, { from: this.format.time(from), until: this.format.time(until), state: feedStates[state][0] });
  }

  // The state behind a place of the strip, 0 to 1, and from when until when it lasted.
  wordsAt(place) {
    const time = this.midnight + place * MINUTES * MINUTE_MS;
    const stretch = this.stretches.find(({ from, until }) => from <= time && time < until);
    return stretch ? this.words(stretch) : fillIn(this.config.labels.feedNone, { time: this.format.time(time) });
  }
}
