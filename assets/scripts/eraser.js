// A picture cut into patches and an eraser: a drag rubs patches out, one that begins on a rubbed-out patch brings them back.
// When the pointer is released the server gets the numbers, from 1, of all patches that are rubbed out.

import { element, mounted } from "./dom.js";

const SIDE = 400;

export const receive = mounted((parent) => new Eraser(parent));

class Eraser {
  constructor(parent) {
    this.canvas = element("canvas", "eraser", parent);
    this.canvas.width = this.canvas.height = SIDE;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.picture = new Image();
    this.picture.addEventListener("load", () => this.draw());
    this.at = 0;
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.rub(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.up());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    for (const name of ["focus", "blur"]) this.canvas.addEventListener(name, () => this.draw());
  }

  show({ image, grid, hidden, ground, label }) {
    this.grid = grid;
    this.ground = ground;
    this.canvas.setAttribute("aria-label", label);
    if (!this.rubbing) this.hidden = new Set(hidden);
    if (this.picture.src === image) this.draw();
    else this.picture.src = image;
  }

  close() {
    this.canvas.remove();
  }

  draw() {
    if (!this.picture.complete || !this.grid) return;
    const context = this.canvas.getContext("2d");
    const side = SIDE / this.grid;
    context.imageSmoothingEnabled = this.picture.width > 64;
    context.drawImage(this.picture, 0, 0, SIDE, SIDE);
    context.strokeStyle = "rgba(133, 140, 150, 0.45)";
    for (let patch = 0; patch < this.grid ** 2; patch += 1) {
      const [x, y] = [(patch % this.grid) * side, Math.floor(patch / this.grid) * side];
      if (this.hidden.has(patch + 1)) this.cover(context, x, y, side);
      context.strokeRect(x, y, side, side);
    }
    if (document.activeElement !== this.canvas || this.rubbing) return;
    context.strokeStyle = "#D5701F";
    context.lineWidth = 3;
    context.strokeRect((this.at % this.grid) * side + 1.5, Math.floor(this.at / this.grid) * side + 1.5, side - 3, side - 3);
    context.lineWidth = 1;
  }

  cover(context, x, y, side) {
    context.fillStyle = this.ground;
    context.fillRect(x, y, side, side);
    context.beginPath();
    context.moveTo(x, y + side);
    context.lineTo(x + side, y);
    context.stroke();
  }

  patch(event) {
    const area = this.canvas.getBoundingClientRect();
    const place = (value, low, size) => Math.min(this.grid - 1, Math.max(0, Math.floor((this.grid * (value - low)) / size)));
    return place(event.clientY, area.top, area.height) * this.grid + place(event.clientX, area.left, area.width);
  }

  down(event) {
    this.rubbing = this.hidden.has(this.patch(event) + 1) ? "delete" : "add";
    this.canvas.setPointerCapture(event.pointerId);
    this.rub(event);
  }

  rub(event) {
    if (!this.rubbing) return;
    this.hidden[this.rubbing](this.patch(event) + 1);
    this.draw();
  }

  up() {
    if (!this.rubbing) return;
    this.rubbing = null;
    this.tell();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.grid, ArrowDown: this.grid }[event.key];
    if (step) this.at = Math.min(this.grid ** 2 - 1, Math.max(0, this.at + step));
    else if (event.key === " ") this.hidden[this.hidden.has(this.at + 1) ? "delete" : "add"](this.at + 1);
    else return;
    event.preventDefault();
    this.draw();
    if (!step) this.tell();
  }

  tell() {
    this.component.setStateValue("hidden", [...this.hidden].sort((one, other) => one - other));
  }
}
