// A film's frames played with what the model read: landmarks on the picture, the gloss of each frame, and where it attends.

import { element, mounted } from "./dom.js";
import { drawAttention, drawHands } from "./live_signs.js";

export const receive = mounted((parent) => new FilmPlayer(parent));

class FilmPlayer {
  constructor(parent) {
    this.root = element("section", "live-signs film-player", parent);
    this.root.player = this;
    const body = element("div", "film-player-body", this.root);
    this.stage = element("div", "live-signs-stage", body);
    const read = element("div", "film-player-read", body);
    this.canvas = element("canvas", "film-player-picture", this.stage);
    this.said = element("p", "live-signs-answer", read);
    this.attention = element("canvas", "live-signs-attention", read);
    this.attention.width = 960;
    this.attention.height = 72;
    this.keys = element("p", "live-signs-keys", read);
    this.button = element("button", "live-signs-button", this.keys);
    this.slider = element("input", "film-player-slider", this.keys);
    this.slider.type = "range";
    this.slider.min = 0;
    this.note = element("span", "live-signs-note", this.keys);
    this.caption = element("p", "live-signs-caption", read);
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.slider.addEventListener("input", () => {
      this.pause();
      this.unplayed = false;
      this.draw(Number(this.slider.value));
    });
  }

  close() {
    this.pause();
    this.root.remove();
  }

  show(data) {
    this.data = data;
    this.second = new Intl.NumberFormat(data.language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.caption.textContent = data.words.attention;
    this.slider.setAttribute("aria-label", data.words.place);
    if (this.key !== data.key) {
      this.pause();
      this.key = data.key;
      this.pictures = data.frames.map((source) => Object.assign(new Image(), { src: source }));
      this.weights = Uint8Array.from(atob(data.attention), (letter) => letter.charCodeAt(0));
      this.slider.max = data.frames.length - 1;
      // shown first: the middle of the first gloss, as a film's first picture is often empty; played from the beginning
      const [, first, last] = data.glosses[0] ?? ["", 0, 0];
      const shown = (first + last) >> 1;
      this.unplayed = true;
      this.pictures[shown].decode().then(() => this.unplayed && this.draw(shown), () => {});
      if (data.playing && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
    } else this.draw(this.at ?? 0);
    this.button.textContent = this.timer ? data.words.pause : data.words.play;
  }

  play() {
    const last = this.data.frames.length - 1;
    if (this.unplayed || this.at >= last) this.draw(0);
    this.unplayed = false;
    this.timer = setInterval(() => (this.at < last ? this.draw(this.at + 1) : this.data.playing ? this.draw(0) : this.pause()), 1000 / this.data.fps);
    this.button.textContent = this.data.words.pause;
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.data) this.button.textContent = this.data.words.play;
  }

  draw(at) {
    const { frames, hands, glosses, seconds, words } = this.data;
    this.at = at;
    this.slider.value = at;
    this.root.dataset.frame = at;
    const picture = this.pictures[at];
    const context = this.canvas.getContext("2d");
    this.canvas.width = picture.naturalWidth || 320;
    this.canvas.height = picture.naturalHeight || 320;
    if (picture.complete && picture.naturalWidth) context.drawImage(picture, 0, 0);
    drawHands(context, hands[at] ?? [], this.canvas.width, this.canvas.height);
    const said = glosses.filter(([, first]) => first <= at).map(([gloss, first, last]) => (last >= at ? `[${gloss}]` : gloss));
    this.said.textContent = said.join(" ") || words.nothing;
    const steps = frames.length;
    const row = [...this.weights.subarray(at * steps, (at + 1) * steps)];
    const colour = getComputedStyle(this.root).getPropertyValue("--live-bar") || "#6A5FD9";
    drawAttention(this.attention, row, colour, at);
    this.note.textContent = words.at.replace("{second}", this.second.format(seconds[at]));
  }
}
