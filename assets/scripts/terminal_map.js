// The whole recording's mid with the playhead; a press seeks.

import { element } from "../../attention_light/scripts/dom.js";

export class MiniMap {
  root = element("div", "terminal-map");

  // `seek`: called with the second that is pressed.
  constructor(seek) {
    this.root.addEventListener("pointerdown", ({ clientX }) => {
      const { left, width } = this.root.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (clientX - left) / width));
      seek(Math.round((share * (this.outline.to - this.outline.from)) / 1000));
    });
  }

  build(outline, colour) {
    this.outline = outline;
    this.root.hidden = !outline;
    if (!outline) return;
    delete this.root.dataset.share;
    const { mids } = outline;
    const [low, high] = [Math.min(...mids), Math.max(...mids)];
    const points = mids.map((mid, i) => `${i},${(100 - (100 * (mid - low)) / (high - low || 1)).toFixed(1)}`).join(" ");
    this.root.style.setProperty("--line", colour);
    this.root.innerHTML = `<svg viewBox="0 -6 ${mids.length - 1} 112" preserveAspectRatio="none"><polyline points="${points}"/></svg><i></i>`;
  }

  draw(time) {
    if (!this.outline) return;
    const share = ((time - this.outline.from) / (this.outline.to - this.outline.from)).toFixed(4);
    if (share === this.root.dataset.share) return;
    this.root.dataset.share = share;
    this.root.lastChild.style.transform = `translateX(${100 * (share - 1)}%)`;
  }
}
