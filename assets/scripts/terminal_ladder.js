// The ladder at the chart's right edge: what rests at each price of its axis now, what changed in a minute, what was traded.

import { element, fillIn } from "../../attention_light/scripts/dom.js";
import * as data from "./terminal_data.js";
import { EarlierBook } from "./terminal_depth.js";
import { button, mark, put, share } from "./terminal_parts.js";

const LEAST = 14; // pixels of a row
const MINUTE_MS = 60_000;

export class Ladder {
  root = element("section", "terminal-ladder");
  rows = [];
  earlier = new EarlierBook(); // the book of a minute before

  // `asked`: called with the place of a row that is pressed.
  constructor(asked) {
    this.asked = asked;
    this.heads = element("p", "heads", this.root);
    this.heads.append(...Array.from({ length: 3 }, () => element("span")));
    this.list = element("div", "rows", this.root);
    this.caption = element("p", "caption", this.root);
    this.list.addEventListener("keydown", (event) => this.walk(event));
  }

  configure({ labels }) {
    [labels.traded, labels.size, labels.change].forEach((text, i) => put(this.heads.children[i], text));
    mark(this.heads.lastChild, "title", labels.changeHelp);
    mark(this.list, "title", labels.withoutHelp);
    this.labels = labels;
  }

  // Price that a row covers, so that rows are high enough to be read: whole bands, where the book has them, else whole ticks.
  step({ perPrice }, { fine, tick }) {
    const least = LEAST / perPrice;
    return fine ? fine * data.niceStep(Math.max(1, least / fine)) : tick * data.niceStep(least / tick);
  }

  // One row a whole price row of the axis {top, perPrice, height}; `book` is the newest, `without` the place that was asked about.
  draw(axis, { store, book, unit, traded, step, without }, format) {
    const row = store.newest;
    this.root.hidden = !row || !axis;
    if (this.root.hidden) return this.rows.splice(0).forEach((line) => line.remove());
    const banded = row.bands && data.holdsBands(step, store.fine);
    const here = knownOf(row, banded && book, step, store.fine);
    const then = this.earlier.follow(store, MINUTE_MS);
    const before = then && knownOf(then.row, banded && then, step, store.fine);
    const [bottom, top] = [axis.top - axis.height / axis.perPrice, axis.top].map((price) => price / step);
    const [first, last] = [Math.ceil(bottom + 0.5), Math.floor(top - 0.5)]; // whole ones
    const places = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => last - i);
    this.fit(places.length, step * axis.perPrice);
    const largest = Math.max(...places.map((place) => here.resting(place)), 1e-12);
    const most = Math.max(...places.map((place) => traded.get(place) ?? 0), 1e-12);
    const size = (value) => (value ? format.significant(value) : "");
    this.places = places;
    places.forEach((place, i) => {
      const [line, resting, volume] = [this.rows[i], here.resting(place), traded.get(place) ?? 0];
      const change = here.knows(place) && before?.knows(place) ? resting - before.resting(place) : 0;
      line.style.transform = `translateY(${((axis.top - (place + 0.5) * step) * axis.perPrice).toFixed(1)}px)`;
      mark(line, "data-side", here.asks.get(place) ? "ask" : here.bids.get(place) ? "bid" : "none");
      mark(line, "data-known", here.knows(place) ? "yes" : "no");
      mark(line, "data-without", without === place ? "yes" : "no");
      mark(line, "aria-label", [format.price(place * step), this.labels.size, size(resting) || "0"].join(" "));
      const texts = [size(volume), size(resting), Math.abs(change) > 1e-6 * largest ? format.change(change) : ""];
      texts.forEach((text, k) => put(line.children[k], text));
      share(line.firstChild, volume / most);
      share(line.children[1], Math.min(1, resting / largest));
    });
    put(this.caption, [fillIn(this.labels.ladder, { step: format.price(step) }), unit].filter(Boolean).join(" · "));
    this.caption.style.transform = `translateY(${axis.height.toFixed(0)}px)`;
  }

  // So many rows, so high.
  fit(count, high) {
    while (this.rows.length < count) {
      const line = button("", "", () => this.press(line));
      for (const name of ["traded", "size", "change"]) element("span", name, line);
      this.list.append(line);
      this.rows.push(line);
      line.tabIndex = -1;
    }
    this.rows.forEach((line, i) => (line.hidden = i >= count));
    this.list.style.setProperty("--high", `${high.toFixed(1)}px`);
    if (this.rows.slice(0, count).every(({ tabIndex }) => tabIndex < 0) && count) this.rows[count >> 1].tabIndex = 0;
  }

  press(line) {
    for (const other of this.rows) other.tabIndex = other === line ? 0 : -1;
    this.asked(this.places[this.rows.indexOf(line)]);
  }

  // Up and down from row to row.
  walk(event) {
    const next = this.rows[this.rows.indexOf(event.target) + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0)];
    if (event.key !== "Escape") event.stopPropagation(); // the page's keys are not for who walks here
    if (!next || next.hidden || next === event.target) return;
    event.preventDefault();
    [event.target.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  }

  // Nothing of an earlier market or moment stays.
  forget() {
    this.earlier = new EarlierBook();
  }
}

// What rests by price row in a row's bands, where `banded` holds them, else in its ten levels; and which rows that says all of.
function knownOf(row, banded, step, fine) {
  const [asks, bids] = data.restingByRow(row, banded && banded.sizes, step, fine);
  const [low, high] = banded ? [banded.low, banded.high] : [row.levels[38], row.levels[36]];
  return {
    asks,
    bids,
    knows: (place) => (place + 1) * step > low && place * step <= high,
    resting: (place) => (asks.get(place) ?? 0) + (bids.get(place) ?? 0),
  };
}
