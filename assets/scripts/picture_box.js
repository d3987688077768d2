// A picture with a box to drag: by its inside it moves, by a corner it changes its size, elsewhere a new one is drawn.
// Other boxes may be pressed to take their place. When the pointer is released the box is sent to the server as its edges in percent of the picture.

import { element, mounted } from "./dom.js";

const LEAST = 3; // percent: a smaller box is a click

export const receive = mounted((parent) => new PictureBox(parent));

class PictureBox {
  constructor(parent) {
    this.root = element("div", "picture-box", parent);
    this.image = element("img", "", this.root);
    this.image.draggable = false;
    this.frame = element("div", "picture-box-frame", this.root);
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "group");
    for (const corner of ["left top", "right top", "left bottom", "right bottom"]) {
      element("i", corner, this.frame).dataset.corner = corner;
    }
    this.root.addEventListener("pointerdown", (event) => this.down(event));
    this.root.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.root.addEventListener(name, () => this.up());
    this.frame.addEventListener("keydown", (event) => this.key(event));
  }

  show({ image, box, others, label }) {
    if (this.image.src !== image) this.image.src = image;
    this.image.alt = label;
    this.frame.setAttribute("aria-label", label);
    if (!this.start) this.place(box);
    for (const old of this.root.querySelectorAll(".picture-box-other")) old.remove();
    for (const other of others) this.offer(other);
  }

  close() {
    this.root.remove();
  }

  send(box) {
    this.component.setStateValue("box", box);
  }

  offer({ label, ...box }) {
    const button = element("button", "picture-box-other");
    place(button, box);
    element("span", "", button).textContent = label;
    button.addEventListener("click", () => this.send(box));
    this.root.insertBefore(button, this.frame);
  }

  place(box) {
    this.box = box;
    place(this.frame, box);
  }

  at(event) {
    const area = this.root.getBoundingClientRect();
    const share = (value, low, size) => Math.min(100, Math.max(0, (100 * (value - low)) / size));
    return [share(event.clientX, area.left, area.width), share(event.clientY, area.top, area.height)];
  }

  down(event) {
    if (event.target.closest(".picture-box-other")) return;
    event.preventDefault();
    const corner = event.target.dataset.corner;
    const inside = this.frame.contains(event.target);
    // A box around the whole picture cannot be moved: dragging in it draws a new one.
    const whole = this.box.right - this.box.left > 99 && this.box.bottom - this.box.top > 99;
    const what = corner ?? (inside && !whole ? "move" : "new");
    this.start = { at: this.at(event), box: this.box, what };
    this.root.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.start) return;
    const { at: [x0, y0], box, what } = this.start;
    const [x, y] = this.at(event);
    if (what === "new") return this.place(ordered({ left: x0, right: x, top: y0, bottom: y }));
    if (what === "move") return this.place(moved(box, x - x0, y - y0));
    const [across, down] = what.split(" ");
    this.place(ordered({ ...box, [across]: x, [down]: y }));
  }

  up() {
    if (!this.start) return;
    const before = this.start.box;
    this.start = null;
    const { left, top, right, bottom } = this.box;
    if (right - left < LEAST || bottom - top < LEAST) this.place(before);
    else this.tell();
  }

  key(event) {
    const step = { ArrowLeft: [-2, 0], ArrowRight: [2, 0], ArrowUp: [0, -2], ArrowDown: [0, 2] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [x, y] = step;
    const { box } = this;
    const larger = ordered({ ...box, right: Math.min(100, box.right + x), bottom: Math.min(100, box.bottom + y) });
    this.place(event.shiftKey ? larger : moved(box, x, y));
    clearTimeout(this.later);
    this.later = setTimeout(() => this.tell(), 400);
  }

  tell() {
    const { left, top, right, bottom } = this.box;
    const [l, t, r, b] = [left, top, right, bottom].map(Math.round);
    if (r > l && b > t) this.send({ left: l, top: t, right: r, bottom: b });
  }
}

function place(element, { left, top, right, bottom }) {
  Object.assign(element.style, { left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%` });
}

function ordered({ left, right, top, bottom }) {
  return { left: Math.min(left, right), right: Math.max(left, right), top: Math.min(top, bottom), bottom: Math.max(top, bottom) };
}

function moved({ left, right, top, bottom }, x, y) {
  const across = Math.min(100 - right, Math.max(-left, x));
  const down = Math.min(100 - bottom, Math.max(-top, y));
  return { left: left + across, right: right + across, top: top + down, bottom: bottom + down };
}
