// A sheet to draw on. After each stroke the drawing is sent to the server as the data URL of a PNG; after clearing, as an empty text.

const sheets = new WeakMap();

export function receive(component) {
  const { parentElement, data } = component;
  let sheet = sheets.get(parentElement);
  if (!sheet) {
    sheet = new Sheet(parentElement, data.side);
    sheets.set(parentElement, sheet);
  }
  sheet.tell = (drawing) => component.setStateValue("drawing", drawing);
  sheet.name(data.labels);
  return () => {
    sheets.delete(parentElement);
    sheet.root.remove();
  };
}

class Sheet {
  constructor(parent, side) {
    this.root = document.createElement("div");
    this.root.className = "sheet";
    this.canvas = document.createElement("canvas");
    this.canvas.width = this.canvas.height = side;
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.tool = "pen";
    this.before = []; // what undo goes back to
    this.blank();
    const tools = this.row();
    this.buttons = {};
    for (const tool of ["pen", "fill", "eraser"]) this.buttons[tool] = this.button(tools, () => this.take(tool));
    this.buttons.undo = this.button(tools, () => this.undo());
    this.buttons.clear = this.button(tools, () => this.clear());
    const dials = this.row();
    this.width = this.dial(dials, 2, 60, 16);
    this.shade = this.dial(dials, 0, 230, 60);
    this.root.insertBefore(this.canvas, dials.nextSibling);
    parent.append(this.root);
    this.take("pen");
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.up());
  }

  row() {
    const row = document.createElement("div");
    row.className = "sheet-row";
    this.root.append(row);
    return row;
  }

  button(row, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", act);
    row.append(button);
    return button;
  }

  dial(row, low, high, value) {
    const label = document.createElement("label");
    const words = document.createElement("span");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: low, max: high, value });
    label.append(words, input);
    row.append(label);
    return { input, words };
  }

  name(labels) {
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", labels.sheet);
    for (const [tool, button] of Object.entries(this.buttons)) button.textContent = labels[tool];
    this.width.words.textContent = labels.width;
    this.shade.words.textContent = labels.shade;
  }

  take(tool) {
    this.tool = tool;
    for (const each of ["pen", "fill", "eraser"]) this.buttons[each].setAttribute("aria-pressed", String(each === tool));
  }

  blank() {
    this.context.fillStyle = "#fff";
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  colour() {
    const level = this.tool === "eraser" ? 255 : Number(this.shade.input.value);
    return [level, level, level];
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  remember() {
    this.before.push(this.context.getImageData(0, 0, this.canvas.width, this.canvas.height));
    if (this.before.length > 30) this.before.shift();
  }

  down(event) {
    this.remember();
    const [x, y] = this.at(event);
    if (this.tool === "fill") {
      this.fill(Math.floor(x), Math.floor(y));
      return this.send();
    }
    this.canvas.setPointerCapture(event.pointerId);
    this.last = [x, y];
    this.line(x, y);
  }

  move(event) {
    if (!this.last) return;
    const [x, y] = this.at(event);
    this.line(x, y);
    this.last = [x, y];
  }

  up() {
    if (!this.last) return;
    this.last = null;
    this.send();
  }

  line(x, y) {
    const c = this.context;
    c.strokeStyle = `rgb(${this.colour().join(",")})`;
    c.lineWidth = Number(this.width.input.value);
    c.lineCap = c.lineJoin = "round";
    c.beginPath();
    c.moveTo(...this.last);
    c.lineTo(x, y);
    c.stroke();
  }

  // Flood fill: all pixels connected to this one whose level is close to it.
  fill(x, y) {
    const { width, height } = this.canvas;
    const image = this.context.getImageData(0, 0, width, height);
    const pixels = image.data;
    const start = pixels[4 * (y * width + x)];
    const [level] = this.colour();
    const seen = new Uint8Array(width * height);
    const waiting = [[x, y]];
    while (waiting.length) {
      const [i, j] = waiting.pop();
      const place = j * width + i;
      if (i < 0 || j < 0 || i >= width || j >= height || seen[place] || Math.abs(pixels[4 * place] - start) > 48) continue;
      seen[place] = 1;
      pixels[4 * place] = pixels[4 * place + 1] = pixels[4 * place + 2] = level;
      waiting.push([i + 1, j], [i - 1, j], [i, j + 1], [i, j - 1]);
    }
    this.seam(pixels, seen, start, level);
    this.context.putImageData(image, 0, 0);
  }

  // Also fills the soft edge of a stroke beside the filled pixels, where a pale line would remain.
  seam(pixels, seen, start, level) {
    const { width, height } = this.canvas;
    for (let j = 1; j < height - 1; j++) {
      for (let i = 1; i < width - 1; i++) {
        const place = j * width + i;
        const touches = seen[place - 1] || seen[place + 1] || seen[place - width] || seen[place + width];
        const value = pixels[4 * place];
        if (seen[place] || !touches || Math.abs(value - level) >= Math.abs(start - level)) continue;
        pixels[4 * place] = pixels[4 * place + 1] = pixels[4 * place + 2] = level;
      }
    }
  }

  undo() {
    const last = this.before.pop();
    if (!last) return;
    this.context.putImageData(last, 0, 0);
    this.send();
  }

  clear() {
    this.remember();
    this.blank();
    this.tell("");
  }

  send() {
    this.tell(this.canvas.toDataURL("image/png"));
  }
}
