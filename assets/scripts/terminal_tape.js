// The tape: the newest trades and the breaks between them, newest first; each place keeps its node, so that nothing moves.

import { element, fillIn } from "../../attention_light/scripts/dom.js";
import { mark, put } from "./terminal_parts.js";

const PLACES = 48;
const ARROWS = { bought: "▲", sold: "▼", unknown: "·" };

export class Tape {
  root = element("section", "terminal-tape");

  // `seen`: called when it comes into sight or leaves it; out of sight it is not drawn.
  constructor(seen) {
    this.root.innerHTML = `<h2></h2><ol>${"<li> </li>".repeat(PLACES)}</ol>`;
    this.items = [...this.root.querySelectorAll("li")];
    this.observer = new IntersectionObserver(
      (entries) => {
        this.inSight = entries.at(-1).isIntersecting;
        seen();
      },
      { rootMargin: "-24px" },
    );
    this.observer.observe(this.root);
  }

  title(text) {
    put(this.root.firstChild, text);
  }

  forget() {
    this.newest = null;
    for (const item of this.items) put(item, "");
  }

  // Time, side, price and size of each trade.
  draw(store, { locale, zone, smallest, labels }, format) {
    const { trades, breaks } = store;
    this.root.hidden = !trades.length;
    const look = `${locale} ${zone} ${breaks.length} ${smallest}`;
    if (!this.inSight || (this.newest === trades.at(-1) && look === this.look)) return;
    [this.newest, this.look] = [trades.at(-1), look];
    const lines = store.tape(PLACES, smallest);
    this.items.forEach((item, i) => {
      const line = lines[i];
      const side = !line ? "" : line.until ? "break" : line.side > 0 ? "bought" : line.side < 0 ? "sold" : "unknown";
      mark(item, "data-side", side);
      if (!line) put(item, "");
      else if (line.until) put(item, fillIn(labels.tradesBreak, { from: format.time(line.from), until: format.time(line.until) }));
      else put(item, `${format.time(line.time)}  ${ARROWS[side]} ${format.price(line.price)}  ${format.significant(line.size)}`);
    });
  }

  close() {
    this.observer.disconnect();
  }
}
