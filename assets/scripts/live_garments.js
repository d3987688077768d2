// What stands before the live camera: its class with a bar for each, the patches that it came from, stills, and shots of own
// classes while their button is held.

import { mounted } from "./mounted.js";
import { element } from "../../attention_light/scripts/dom.js";
import { LiveCamera } from "./live_camera.js";

const BARS = 4;
const DARKEST = 190; // of 255
const SHOT_MS = 250; // between two shots while a button is held
const MAX_SHOTS = 40; // of one press

export const receive = mounted((parent) => new LiveGarments(parent));

class LiveGarments extends LiveCamera {
  constructor(parent) {
    super(parent);
    this.facing = "environment";
    this.stage.dataset.light = "picture";
    this.still = element("button", "live-signs-button", this.keys);
    this.still.addEventListener("click", () => this.give("still", this.sheet.toDataURL("image/jpeg", 0.9)));
    this.keys.append(this.note);
    this.bars = element("ol", "live-garments-bars", this.root);
    this.stage.after(this.bars);
    this.hold = element("p", "live-signs-keys", this.root);
    this.stage.before(this.hold);
  }

  give(name, value) {
    this.component.setTriggerValue(name, value);
  }

  show(data) {
    this.names = data.names;
    const classes = data.record ?? [];
    this.still.hidden = classes.length > 0;
    if (classes.join("\n") !== this.classes?.join("\n")) this.offer(classes, data.words);
    super.show(data);
  }

  label() {
    super.label();
    this.still.textContent = this.words.still;
    this.still.disabled = !this.running;
    for (const one of this.hold.children) one.disabled = !this.running;
  }

  // -- own classes: a button each, held while shots are taken -----------------------------------------------------------------

  offer(classes, words) {
    this.classes = classes;
    this.hold.replaceChildren();
    classes.forEach((name, row) => {
      const one = element("button", "live-signs-button", this.hold);
      one.textContent = words.hold.replace("{name}", name);
      const down = (event) => {
        event.preventDefault();
        this.shoot(row, one);
      };
      one.addEventListener("pointerdown", down);
      one.addEventListener("keydown", (event) => (event.key === " " || event.key === "Enter") && !event.repeat && down(event));
      for (const end of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"]) one.addEventListener(end, () => this.shot());
    });
  }

  shoot(row, button) {
    if (!this.running || this.taking) return;
    const shots = [];
    const take = () => {
      shots.push(this.sheet.toDataURL("image/jpeg", 0.85));
      button.textContent = this.words.taken.replace("{count}", shots.length);
      if (shots.length >= MAX_SHOTS) this.shot();
    };
    this.taking = { row, button, shots, timer: setInterval(take, SHOT_MS) };
    take();
  }

  shot() {
    if (!this.taking) return;
    const { row, button, shots, timer } = this.taking;
    clearInterval(timer);
    this.taking = null;
    button.textContent = this.words.hold.replace("{name}", this.classes[row]);
    this.give("shots", { row, shots });
  }

  // -- what was seen ----------------------------------------------------------------------------------------------------------

  paint(context, seen) {
    if (!seen.relevance || this.classes.length) return;
    const { width, height } = this.over;
    const whole = Math.max(width, height); // the frame stands in the middle of a square
    const side = seen.relevance.length;
    const dark = new ImageData(side, side); // what did not speak for the answer stays dark
    seen.relevance.flat().forEach((value, at) => (dark.data[4 * at + 3] = DARKEST * (1 - Math.sqrt(value))));
    this.map ??= document.createElement("canvas");
    this.map.width = this.map.height = side;
    this.map.getContext("2d").putImageData(dark, 0, 0);
    context.drawImage(this.map, (width - whole) / 2, (height - whole) / 2, whole, whole);
  }

  tell(seen) {
    if (this.classes.length && seen.relevance) return this.say(this.words.teach); // nothing of one's own is taught yet
    const order = seen.probabilities.map((share, row) => [share, row]).sort(([a], [b]) => b - a);
    const percent = (share) => `${Math.round(100 * share)} %`;
    const [best, label] = order[0];
    this.root.dataset.label = label;
    this.answer.textContent = seen.familiar ? `${this.names[label]}, ${percent(best)}` : this.words.unsure;
    const none = Math.max(0, 1 - seen.probabilities.reduce((sum, share) => sum + share, 0));
    const shown = seen.relevance ? order.slice(0, BARS) : [...seen.probabilities, none].map((share, row) => [share, row]);
    while (this.bars.children.length > shown.length) this.bars.lastChild.remove();
    shown.forEach(([share, row], place) => {
      const bar = this.bars.children[place] ?? element("li", "", this.bars);
      bar.textContent = `${this.names[row] ?? this.words.none} ${percent(share)}`;
      bar.style.setProperty("--share", percent(share).replace(" ", ""));
    });
    this.say(seen.relevance ? this.words.told : "");
  }

  async stop() {
    this.shot();
    this.bars.replaceChildren();
    this.answer.textContent = "";
    await super.stop();
  }
}
