// What stands before the live camera, lit by a map of its patches; and stills.

import { mounted } from "./mounted.js";
import { element } from "../../attention_light/scripts/dom.js";
import { LiveCamera } from "./live_camera.js";

const DARKEST = 190; // of 255

export const receive = mounted((parent) => new LivePicture(parent));

class LivePicture extends LiveCamera {
  constructor(parent) {
    super(parent);
    this.facing = "environment";
    this.stage.dataset.light = "picture";
    this.still = element("button", "live-signs-button", this.keys);
    this.still.addEventListener("click", () => this.component.setTriggerValue("still", this.sheet.toDataURL("image/jpeg", 0.9)));
    this.keys.append(this.note);
  }

  label() {
    super.label();
    this.still.textContent = this.words.still;
    this.still.disabled = !this.running;
  }

  paint(context, seen) {
    const { width, height } = this.over;
    const whole = Math.max(width, height); // the frame stands in the middle of a square
    const side = seen.light.length;
    const dark = new ImageData(side, side); // what is not lit stays dark
    seen.light.flat().forEach((value, at) => (dark.data[4 * at + 3] = DARKEST * (1 - Math.sqrt(value))));
    this.map ??= document.createElement("canvas");
    this.map.width = this.map.height = side;
    this.map.getContext("2d").putImageData(dark, 0, 0);
    context.drawImage(this.map, (width - whole) / 2, (height - whole) / 2, whole, whole);
  }

  tell(seen) {
    this.answer.textContent = this.words[seen.what].replace("{share}", this.percent.format(seen.share));
    this.say(this.words.light);
  }

  async stop() {
    this.answer.textContent = "";
    await super.stop();
  }
}
