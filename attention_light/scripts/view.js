// The attention view: a stage whose light is attention, every layer and head in small, one row, one sentence.
//
// `mount(element, message)` draws one message of `AttentionScene.packed` (attention_light/scene.py); nothing is asked of a server.
import { SMALL, STAGES, glow, paintPicture } from "./stages.js";
import { npz, page } from "./files.js";
import { colour } from "./colours.js";
import { element, fillIn, save } from "./dom.js";
import { Layer, unpack } from "./layers.js";

const ENDS = { Home: 0, End: 1 };
const FRAME_MS = 900;
const WAYS = ["looks", "like", "parts"];
const [NAME_LENGTH, NAME_ROOM] = [56, 44]; // pixels of a token's name below a row, and those that the last one takes beside its bar
const LAST_MS = 1200; // that a film rests on its last frame before it begins again
const STOPS = [[8, 10, 16], [58, 38, 22], [138, 84, 22], [222, 158, 40], [255, 224, 120], [255, 252, 236]];
const LUT = Array.from({ length: 256 }, (_, i) => {
  const at = Math.min(STOPS.length - 1.001, (i / 255) * (STOPS.length - 1));
  const [low, part] = [Math.floor(at), at % 1];
  return STOPS[low].map((value, c) => Math.round(value + (STOPS[low + 1][c] - value) * part));
});

class AttentionView {
  constructor(parent, message, { picture, before = null, choice = "", onChoice = null, onErase = null, onState = null, fetchPart = null, addresses = [], style = () => "" }) {
    const { head: scene, read, bytes } = unpack(message);
    Object.assign(this, { parent, message, scene, bytes, onChoice, onErase, onState, fetchPart, addresses, style, words: scene.words });
    this.stage = new STAGES[scene.stage.name](scene, read, picture);
    this.layers = scene.layers.map((entry) => new Layer(entry, { read, bytes }, fetchPart));
    this.measures = scene.measures.map((one) => ({ ...one, values: read(one.shares) }));
    this.kinds = Object.keys(scene.tokens).filter((kind) => scene.tokens[kind].length);
    this.percent = new Intl.NumberFormat(scene.locale, { style: "percent", maximumSignificantDigits: 3 });
    this.number = new Intl.NumberFormat(scene.locale, { maximumSignificantDigits: 3 });
    this.reverse = this.held = false;
    this.erasing = Boolean(scene.arms);
    this.way = scene.stage.litBy; // "looks", "like" or "parts" where the tokens have vectors
    this.erased = new Set(scene.erased ?? []);
    this.pointed = this.hovered = null;
    this.kept = {};
    this.listSquares();
    this.chosen = Object.fromEntries(this.kinds.map((kind) => [kind, this.firstSquare(kind)]));
    const first = this.stage.asks ?? this.kinds[0];
    this.start = { [first]: scene.start ?? scene.tokens[first].length - 1 };
    this.resting = this.measures.length > 0;
    if (this.stage.seconds) this.inPlay = this.stage.asks ? null : 0; // null: an answer that is written whole
    if (scene.opens) this.openOn(scene.opens);
    this.open(scene.choice);
    this.opened = { chosen: { ...this.chosen }, kept: { ...this.kept }, resting: this.resting, lit: this.lit };
    this.open(choice);
    if (before) this.goOn(before);
    this.build();
    if (this.plays) this.play();
    if (this.stage.seconds && (this.sameFilm(before) ? before.film : this.moves())) this.run();
  }

  // -- what there is ------------------------------------------------------------------------------------------------------

  listSquares() {
    this.squares = [];
    this.layers.forEach((layer, l) => {
      if (layer.name === "rollout") this.squares.push({ l, head: "rollout", kind: layer.kind });
      else {
        for (let h = 0; h < layer.heads; h++) this.squares.push({ l, head: h, kind: layer.kind });
        if (layer.heads > 1) this.squares.push({ l, head: "mean", kind: layer.kind });
      }
    });
    this.measures.forEach((_, m) => this.squares.push({ m, head: "measure", kind: this.kinds[0] }));
  }

  // Names a square in any scene of the same model.
  label(square) {
    return square.l === undefined ? this.measures[square.m].name : `${this.layers[square.l].name} ${square.head} ${square.kind}`;
  }

  firstSquare(kind) {
    const own = this.squares.map((one, i) => [one, i]).filter(([one]) => one.kind === kind && one.l !== undefined && one.head !== "rollout");
    const mean = own.filter(([one]) => one.head === "mean").at(-1);
    return (mean ?? own.at(-1) ?? [null, -1])[1];
  }

  // "layer.head.token" from 0, or "m.measure.", and marks, as a link keeps it
  open(choice) {
    const [l, head, token, ...marks] = (choice || "").split(".");
    this.reverse ||= marks.includes("seen");
    this.plays = marks.includes("steps");
    if (this.way) this.way = WAYS.find((way) => marks.includes(way)) ?? this.way;
    const at = this.squares.findIndex((one) => (one.m === undefined ? one.l === Number(l) && String(one.head) === head : l === "m" && one.m === Number(head)));
    if (at < 0 || !l) return;
    const square = this.squares[at];
    this.chosen[square.kind] = at;
    this.resting = false;
    if (square.m !== undefined) return;
    const of = this.layers[square.l].of;
    const place = Number.parseInt(token, 10);
    if (place >= 0 && place < this.scene.tokens[of].length) this.kept[of] = place;
  }

  // The strongest pair of two tokens that mean something: layer, head and the token that looks.
  openOn([l, head, token]) {
    const at = this.squares.findIndex((one) => one.l === l && (one.head === head || this.layers[l].heads === 1));
    const { kind, of } = this.layers[l];
    Object.assign(this, { lit: kind });
    this.chosen[kind] = at;
    this.start[of] = token;
  }

  // A newer scene of the same layers keeps what the reader chose in the one before.
  goOn(before) {
    if (before.kinds.join() !== this.kinds.join()) return;
    const another = this.stage.seconds && !this.sameFilm(before);
    const place = new Map(this.squares.map((square, i) => [this.label(square), i]));
    for (const kind of this.kinds) {
      const square = before.squares[before.chosen[kind]];
      this.chosen[kind] = (square && place.get(before.label(square))) ?? this.chosen[kind];
    }
    this.reverse = before.reverse;
    this.plays = Boolean(before.timer);
    if (this.way) this.way = before.way ?? this.way;
    this.withoutFirst = before.withoutFirst;
    if (another) return;
    if (this.erasing === Boolean(before.scene.arms)) this.erasing = before.erasing;
    this.resting = (before.resting || !before.measures.length) && this.measures.length > 0; // a scene without measures had no rest
    this.lit = before.lit;
    this.inPlay = before.inPlay;
    for (const [kind, token] of Object.entries(before.kept)) if (token < this.size(kind)) this.kept[kind] = token;
    if (before.pointed && before.pointed.token < this.size(before.pointed.kind)) this.pointed = before.pointed;
  }

  sameFilm(before) {
    return Boolean(before) && ["seconds", "captions", "words"].every((name) => String(before.stage[name]) === String(this.stage[name]));
  }

  size(kind) {
    return this.scene.tokens[kind].length;
  }

  // -- what is chosen -----------------------------------------------------------------------------------------------------

  tokenOf(kind) {
    if (this.pointed?.kind === kind) return this.pointed.token;
    if (this.stage.asks === kind && this.inPlay !== null) return this.inPlay;
    return this.kept[kind] ?? this.start[kind] ?? null;
  }

  squareOf(kind) {
    const hovered = this.hovered !== null && this.squares[this.hovered].kind === kind ? this.hovered : null;
    return this.squares[hovered ?? this.chosen[kind]];
  }

  // The light on the tokens of a kind: {shares, most, token, reverse, square, text}
  light(kind) {
    const square = this.squareOf(kind);
    const rests = kind === this.kinds[0] && this.resting && this.hovered === null && this.pointed === null && this.kept[kind] === undefined;
    const measure = square?.m !== undefined ? this.measures[square.m] : rests ? this.measures[this.stage.rests?.[this.inPlay] ?? 0] : null;
    if (measure) return this.measured(measure, kind);
    if (!square) {
      const from = this.layers.find((layer) => layer.of === kind && layer.kind !== kind);
      return { shares: new Float32Array(this.size(kind)), most: 0, token: this.tokenOf(kind), reverse: false, square: from ? null : square };
    }
    if (this.way === "like" && this.hovered === null) return this.alike(this.tokenOf(kind));
    const layer = this.layers[square.l];
    if (!layer.here) this.fetch(layer);
    const turned = this.reverse !== this.held;
    const token = this.tokenOf(layer.of) ?? layer.rows - 1;
    const reverse = turned && layer.of === kind;
    const shares = reverse ? layer.column(square.head, token) : layer.row(square.head, token);
    return { shares, most: reverse ? largest(shares) : this.largestOf(shares, shares.length), token: layer.of === kind ? token : null, from: token, reverse, square, layer };
  }

  // What is like a token: the cosines of the tokens' vectors with its own.
  alike(token) {
    const shares = this.stage.likeness(token);
    return { shares, most: 1, token, from: token, reverse: false, like: true };
  }

  // A layer that stayed behind comes when it is first looked at; until then its thinned maps stand for it.
  async fetch(layer) {
    if (layer.coming || layer.absent) return;
    await layer.come();
    if (!this.root.isConnected) return;
    for (const square of this.squares) square.token = null;
    this.repaint(null);
  }

  measured(measure, kind) {
    return { shares: measure.values, most: largest(measure.values), token: null, reverse: false, measure, kind };
  }

  // -- drawing ------------------------------------------------------------------------------------------------------------

  build() {
    const root = (this.root = element("div", "attention-view", this.parent));
    const left = element("div", "attention-left", root);
    this.canvas = element("canvas", "attention-stage", left);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", this.words.stage);
    this.canvas.dataset.light = this.scene.stage.name;
    if (this.scene.corner) element("p", "attention-corner", left).textContent = this.scene.corner;
    this.sentence = element("p", "attention-sentence", left);
    this.sentence.setAttribute("aria-live", "polite");
    const right = element("div", "attention-right", root);
    this.grid = element("div", "attention-squares", right);
    this.grid.tabIndex = 0;
    this.grid.setAttribute("role", "group");
    this.grid.setAttribute("aria-label", this.words.squares);
    this.buildSquares();
    this.row = element("canvas", "attention-row", right);
    this.row.setAttribute("role", "img");
    this.formula = element("a", "attention-formula", right);
    this.formula.textContent = this.words.formula;
    this.formula.target = "_blank";
    this.buildTools(element("div", "attention-tools", left));
    this.listen();
    this.scaled = (event) => this.scale(event.detail);
    document.addEventListener("attention-scale", this.scaled);
    this.root.dispatchEvent(new CustomEvent("attention-drawn", { bubbles: true })); // a page may mark squares of its own
    this.resized = new ResizeObserver(() => this.layOut());
    this.resized.observe(root);
    this.layOut();
  }

  buildSquares() {
    const groups = new Map();
    this.squares.forEach((square, i) => {
      const single = square.l !== undefined && this.layers[square.l].heads === 1;
      const key = square.l === undefined || square.head === "rollout" || single ? "whole" : square.l;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    });
    this.grid.classList.toggle("sides", Boolean(this.stage.asks));
    for (const [key, members] of groups) {
      const group = element("div", key === "whole" ? "attention-group whole" : "attention-group", this.grid);
      if (key !== "whole") {
        element("span", "attention-number", group).textContent = this.layers[key].title.match(/\d+(?=\D*$)/)?.[0] ?? key + 1;
        element("span", "attention-name", group).textContent = this.layers[key].title;
      }
      if (this.stage.asks) group.style.gridColumn = key !== "whole" && this.layers[key].of === this.stage.asks ? 2 : 1;
      const line = element("div", "attention-layer", group);
      line.style.setProperty("--heads", Math.max(4, ...this.layers.map((layer) => (layer.heads > 1 ? layer.heads + 1 : 1))));
      for (const i of members) {
        const cell = key === "whole" ? element("div", "attention-cell", line) : line;
        cell.append(this.drawSquare(i));
        if (key === "whole") element("span", "attention-name", cell).textContent = this.name(this.squares[i]);
      }
    }
  }

  drawSquare(i) {
    const square = this.squares[i];
    const small = document.createElement("canvas");
    small.className = "attention-square";
    small.dataset.square = i;
    small.dataset.head = square.head === "measure" ? this.measures[square.m].name : typeof square.head === "number" ? square.head + 1 : square.head;
    small.dataset.layer = square.l === undefined ? "" : this.layers[square.l].name;
    small.title = this.name(square);
    square.canvas = small;
    if (this.overPicture(square)) {
      small.width = small.height = SMALL;
      return small;
    }
    this.paintSquare(square);
    return small;
  }

  paintSquare(square) {
    const [rows, columns, values] = this.squareValues(square);
    square.canvas.width = columns;
    square.canvas.height = rows;
    const context = square.canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const most = this.largestOf(values, columns, square.m === undefined);
    for (let k = 0; k < rows * columns; k++) image.data.set([...LUT[Math.round(255 * glow(values[k], most))], 255], 4 * k);
    context.putImageData(image, 0, 0);
  }

  // The value at which the light is brightest: of weights on all keys but the first, where the rest has a scale of its own.
  largestOf(values, columns, weights = true) {
    if (!this.withoutFirst || !weights) return largest(values);
    let most = 0;
    for (let i = 0; i < values.length; i++) if (i % columns) most = Math.max(most, Math.abs(values[i]));
    return most;
  }

  // A page's "attention-scale": whether the first token's weights, often half of all, set the scale of the others.
  scale(withoutFirst) {
    if (withoutFirst === Boolean(this.withoutFirst)) return;
    this.withoutFirst = withoutFirst;
    for (const square of this.squares) if (!this.overPicture(square)) this.paintSquare(square);
    this.repaint();
  }

  overPicture(square) {
    return this.scene.stage.name === "picture" && (square.l !== undefined || this.measures[square.m].shares.shape.length === 1);
  }

  squareValues(square) {
    if (square.l !== undefined) return this.layers[square.l].map(square.head);
    const { shape } = this.measures[square.m].shares;
    if (shape.length === 1) return [1, shape[0], this.measures[square.m].values];
    const [n, width] = shape;
    const values = new Float32Array(n * width); // moments run to the right, columns of the book down
    for (let t = 0; t < n; t++) for (let c = 0; c < width; c++) values[c * n + t] = Math.abs(this.measures[square.m].values[t * width + c]);
    return [width, n, values];
  }

  name(square) {
    if (square.m !== undefined) return this.measures[square.m].title;
    const layer = this.layers[square.l];
    if (square.head === "rollout") return layer.title === layer.name ? this.words.rollout : layer.title;
    if (square.head === "mean") return `${layer.title}, ${this.words.mean}`;
    return layer.heads > 1 ? `${layer.title}, ${fillIn(this.words.head, { number: square.head + 1 })}` : layer.title;
  }

  // Many layers stand line by line, the number of each at the edge, in squares of as many pixels as the height of the stage leaves,
  // but 12 or more.
  layOutSquares(height) {
    const lines = this.grid.querySelectorAll(".attention-group:not(.whole)").length;
    const heads = Math.max(1, ...this.layers.map((layer) => (layer.heads > 1 ? layer.heads + 1 : 1)));
    const natural = this.grid.clientWidth / Math.max(4, heads) - 4;
    const room = Math.max(height, innerHeight * 0.6) - 40;
    const close = !this.stage.asks && lines * (natural + 22) > room;
    this.grid.classList.toggle("close", close);
    const side = Math.min(natural, Math.max(12, Math.floor(room / lines) - 2), (this.grid.clientWidth - 26) / heads - 2);
    if (close) this.grid.style.setProperty("--square", `${Math.max(12, Math.floor(side))}px`);
  }

  layOut() {
    const narrow = this.root.clientWidth < 760;
    const many = this.squares.length > 40 || Boolean(this.stage.asks); // small ones: the stage is wider
    this.root.classList.toggle("narrow", narrow);
    this.root.classList.toggle("many", many);
    const width = Math.round(this.canvas.parentElement.clientWidth);
    const height = Math.round(Math.max(220, Math.min(innerHeight * (narrow ? 0.46 : many ? 0.7 : 0.66), narrow ? width * 1.15 : 660)));
    if (!width || (this.laid === `${width}x${height}` && this.drawn)) return;
    this.laid = `${width}x${height}`;
    const ratio = Math.min(2, devicePixelRatio || 1);
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.canvas.style.height = `${height}px`;
    this.layOutSquares(height);
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.stage.size(width, height);
    const wide = Math.max(120, this.row.clientWidth);
    Object.assign(this.row, { width: wide * ratio, height: 128 * ratio });
    this.rowContext = this.row.getContext("2d");
    this.rowContext.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.rowWidth = wide;
    this.repaint();
  }

  repaint(begun = performance.now()) {
    this.root.classList.toggle("erasing", this.erasing); // a stroke rubs and does not scroll
    const lights = Object.fromEntries(this.kinds.map((kind) => [kind, this.light(kind)]));
    if (this.pointed && this.inPlay !== undefined && !this.stage.asks) this.inPlay = this.pointed.token;
    Object.assign(lights, { inPlay: this.inPlay, active: this.activeKind(), parts: this.way === "parts" });
    this.stage.paint(this.context, lights);
    for (const token of this.erased) this.stage.cover(this.context, token);
    const active = lights[lights.active] ?? lights[this.kinds[0]];
    if (this.scene.stage.name === "picture") this.paintSquares(lights);
    this.paintRow(active);
    this.say(active);
    const measure = active.measure ? this.measures.indexOf(active.measure) : -1;
    for (const square of this.squares) square.canvas.classList.toggle("chosen", measure >= 0 ? square.m === measure : square === active.square);
    this.drawn = true;
    if (begun !== null) performance.measure("light", { start: begun, end: performance.now() });
  }

  activeKind() {
    if (this.hovered !== null) return this.squares[this.hovered].kind;
    return this.lit ?? this.kinds.find((kind) => this.chosen[kind] >= 0) ?? this.kinds[0];
  }

  // The kind that is lit where a token of this kind is pointed at: its own, or where nothing looks at it, one that it looks at.
  litBy(kind) {
    if (this.chosen[kind] >= 0) return kind;
    const looked = this.layers.filter((layer) => layer.of === kind).map((layer) => layer.kind);
    return looked.includes(this.lit) ? this.lit : (looked.at(-1) ?? kind);
  }

  paintSquares(lights) {
    const token = lights.patch.from ?? this.start.patch;
    for (const square of this.squares) {
      const shown = square.m === undefined ? token : "measure"; // which hangs on no token
      if (!this.overPicture(square) || square.token === shown) continue;
      square.token = shown;
      const shares = square.m === undefined ? this.layers[square.l].row(square.head, token) : this.measures[square.m].values;
      const most = largest(shares.subarray(this.stage.extra));
      paintPicture(square.canvas.getContext("2d"), this.stage, { shares, most }, [0, 0, SMALL, SMALL]);
    }
  }

  paintRow(light) {
    const context = this.rowContext;
    const [width, height] = [this.rowWidth, 128];
    context.clearRect(0, 0, width, height);
    const bars = this.bars(light);
    const named = (width - NAME_ROOM) / bars.length >= 13;
    const step = (named ? width - NAME_ROOM : width) / bars.length;
    const tall = named ? 74 : 110;
    const best = strongest(bars);
    const ink = getComputedStyle(this.root).color;
    const [orange, blue] = [colour("orange"), colour("blue")];
    context.font = '12px "Source Sans", "Source Sans 3", sans-serif';
    bars.forEach(([name, share], i) => {
      const h = light.most > 0 ? tall * Math.min(1, Math.abs(share) / light.most) : 0;
      context.fillStyle = i === best ? orange : blue;
      context.fillRect(i * step + 0.5, tall + 6 - h, Math.max(1, step - 1.5), Math.max(h, 0.5));
      if (!named) return;
      context.save();
      context.translate(i * step + step / 2 - 2, tall + 14);
      context.rotate(0.75);
      context.fillStyle = ink;
      context.fillText(shortened(context, name.replace(/[“”]/g, "")), 0, 6);
      context.restore();
    });
    this.row.setAttribute("aria-label", `${this.words.row}: ${bars[best][0]} ${this.percent.format(bars[best][1])}`);
  }

  // names and shares of the row in force; a measure of a book's moments and columns is summed over the columns
  bars(light) {
    const kind = light.kind ?? light.square?.kind ?? this.kinds[0];
    const names = this.scene.tokens[light.reverse ? light.layer.of : kind];
    const width = light.shares.length / names.length;
    return names.map((name, i) => [name, width === 1 ? light.shares[i] : light.shares.subarray(i * width, (i + 1) * width).reduce((a, b) => a + Math.abs(b), 0)]);
  }

  say(light) {
    const bars = this.bars(light);
    const best = strongest(bars);
    const whole = bars.reduce((sum, [, share]) => sum + Math.abs(share), 0);
    const share = light.measure ? (whole ? bars[best][1] / whole : 0) : bars[best][1];
    const values = { key: bars[best][0], share: this.percent.format(light.measure ? Math.abs(share) : share), measure: light.measure?.title };
    const square = light.square;
    if (square && !light.measure) {
      const names = this.scene.tokens[light.layer.of];
      values.layer = square.head === "rollout" ? this.words.whole : light.layer.title;
      values.head = square.head === "rollout" ? this.words.rollout : square.head === "mean" ? this.words.mean : fillIn(this.words.head, { number: square.head + 1 });
      values.query = light.reverse ? bars[best][0] : names[light.from];
      values.key = light.reverse ? names[light.from] : bars[best][0];
      values.times = this.number.format(share * bars.length);
      values.count = this.number.format(bars.length);
    }
    if (light.like) Object.assign(values, this.likeIt(light, bars));
    if (this.way && light.measure) {
      const patches = light.shares.subarray(this.stage.extra);
      Object.assign(values, { count: this.number.format(patches.filter((one) => one > 0.5).length), whole: this.number.format(patches.length), value: this.number.format(bars[best][1]) });
    }
    if (this.way === "parts") values.share = this.percent.format(this.scene.stage.explained);
    const behind = light.layer && !light.layer.here;
    const template = this.way === "parts" ? "parts" : light.like ? "like" : this.way && light.measure ? "stands" : behind ? (light.layer.absent ? "absent" : "coming") : light.measure ? (share > 0 ? "counts" : share < 0 ? "against" : "idle") : light.reverse ? "seen" : "looks";
    const sentence = fillIn(this.words[template], values);
    const named = light.layer && light.layer.title === light.layer.name; // as the model writes it
    const text = named ? sentence : sentence[0].toUpperCase() + sentence.slice(1);
    if (this.sentence.textContent !== text) this.sentence.textContent = text;
    const id = !light.measure && this.addresses.length ? light.layer?.formula : ""; // a file of its own has no index beside it
    this.formula.hidden = !id;
    if (id && this.formula.dataset.id !== id) Object.assign(this.formula, { href: `equations?find=${id}` }).dataset.id = id;
    Object.assign(this.canvas.dataset, {
      layer: light.layer?.name ?? "",
      head: light.like ? "like" : light.measure ? light.measure.name : typeof square?.head === "number" ? square.head + 1 : (square?.head ?? ""),
      token: light.from ?? "",
      value: behind ? "" : Number(share.toPrecision(3)),
    });
    if (this.inPlay !== undefined) this.canvas.dataset.frame = this.inPlay ?? "";
  }

  // The patch that is most like another one, and how many are.
  likeIt(light, bars) {
    const patches = bars.map(([name, cosine], i) => [name, cosine, i]).slice(this.stage.extra);
    const others = patches.filter(([, , i]) => i !== light.token);
    const next = others.reduce((top, one) => (one[1] > top[1] ? one : top));
    const count = patches.filter(([, cosine]) => cosine >= 0.5).length;
    return { query: bars[light.token][0], key: next[0], cosine: this.number.format(next[1]), count: this.number.format(count), whole: this.number.format(patches.length) };
  }

  // -- what a reader does -------------------------------------------------------------------------------------------------

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return this.stage.at(event.clientX - box.left, event.clientY - box.top);
    };
    const pointed = (event) => {
      const begun = performance.now();
      const at = place(event);
      const turned = event.shiftKey;
      if (at?.[0] === this.pointed?.kind && at?.[1] === this.pointed?.token && turned === this.held) return;
      this.held = turned;
      this.pointed = at ? { kind: at[0], token: at[1] } : null;
      if (at) this.lit = this.litBy(at[0]);
      this.repaint(begun);
    };
    const rub = (event) => {
      const at = place(event);
      if (at?.[0] === this.kinds[0] && this.stage.erases(at[1])) this.let(() => this.erased[this.rubbing](at[1]));
    };
    const ended = () => {
      if (this.rubbing) this.onErase([...this.erased]);
      this.rubbing = null;
    };
    this.canvas.addEventListener("pointermove", (event) => (this.rubbing ? rub(event) : pointed(event)));
    this.canvas.addEventListener("pointerup", ended);
    this.canvas.addEventListener("pointercancel", ended);
    this.canvas.addEventListener("pointerleave", () => this.let(() => (this.pointed = null)));
    this.canvas.addEventListener("pointerdown", (event) => {
      pointed(event);
      const at = place(event);
      if (this.erasing && at) {
        this.rubbing = this.erased.has(at[1]) ? "delete" : "add"; // a drag that begins on an erased one brings back
        this.canvas.setPointerCapture(event.pointerId);
        rub(event);
      } else if (at) this.keep(at[0], at[1]);
    });
    this.canvas.addEventListener("keydown", (event) => this.stageKey(event));
    this.canvas.addEventListener("keyup", (event) => event.key === "Shift" && this.let(() => (this.held = false)));
    this.grid.addEventListener("pointerover", (event) => this.hover(event.target.dataset.square));
    this.grid.addEventListener("pointerleave", () => this.let(() => (this.hovered = null)));
    this.grid.addEventListener("click", (event) => this.choose(event.target.dataset.square));
    this.grid.addEventListener("keydown", (event) => this.squareKey(event));
  }

  let(change) {
    const begun = performance.now();
    change();
    this.repaint(begun);
  }

  keep(kind, token) {
    const same = this.kept[kind] === token;
    this.let(() => {
      if (same) delete this.kept[kind];
      else this.kept[kind] = token;
      this.resting = this.resting && !Object.keys(this.kept).length;
      this.lit = this.litBy(kind);
    });
    if (!same) this.pause(null);
    this.report();
  }

  hover(at) {
    if (at === undefined || Number(at) === this.hovered) return;
    this.let(() => (this.hovered = Number(at)));
  }

  choose(at) {
    if (at === undefined) return;
    const square = this.squares[at];
    // back to rest: by the measure of the rest, or where a film has several, by the chosen one again
    const rest = this.stage.rests?.length ? square.m !== undefined && this.chosen[square.kind] === Number(at) : square.m === 0;
    this.let(() => {
      this.resting = rest;
      this.chosen[square.kind] = rest ? this.firstSquare(square.kind) : Number(at);
      this.lit = square.kind;
    });
    this.report();
  }

  free() {
    this.let(() => {
      Object.assign(this, { pointed: null, hovered: null, resting: this.opened.resting, lit: this.opened.lit });
      this.kept = { ...this.opened.kept };
      this.chosen = { ...this.opened.chosen };
    });
    this.report();
  }

  stageKey(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Escape") this.free();
    else if (event.key === "Shift") this.let(() => (this.held = true));
    else if (event.key === " " && this.inPlay !== undefined) this.turn();
    else if (event.key === "Enter" || event.key === " ") {
      const kind = this.pointed?.kind ?? this.activeKind();
      const token = this.tokenOf(kind) ?? this.size(kind) - 1;
      if (!this.erasing) this.keep(kind, token);
      else if (kind === this.kinds[0] && this.stage.erases(token)) {
        this.let(() => this.erased.delete(token) || this.erased.add(token));
        this.onErase([...this.erased]);
      }
    } else if (steps[event.key] || ENDS[event.key] !== undefined) {
      const kind = this.pointed?.kind ?? this.stage.asks ?? this.lit ?? this.kinds[0];
      const from = this.tokenOf(kind) ?? this.size(kind) - 1;
      this.held = event.shiftKey;
      const token = steps[event.key] ? this.stage.step(kind, from, ...steps[event.key]) : ENDS[event.key] * (this.size(kind) - 1);
      this.let(() => (this.pointed = { kind, token }));
    } else return;
    event.preventDefault();
  }

  squareKey(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    const now = this.hovered ?? this.squares.indexOf(this.squareOf(this.activeKind()));
    if (event.key === "Escape") this.free();
    else if (event.key === "Enter" || event.key === " ") this.choose(now);
    else if (ENDS[event.key] !== undefined) this.hover(ENDS[event.key] * (this.squares.length - 1));
    else if (by) {
      const row = this.squares[now].canvas.closest(".attention-layer").children.length;
      const line = /Up|Down/.test(event.key) ? row : 1;
      this.hover(Math.min(this.squares.length - 1, Math.max(0, now + by * line)));
    } else return;
    event.preventDefault();
  }

  report() {
    const light = this.light(this.activeKind());
    const square = light.square ?? this.squareOf(this.activeKind());
    if (square?.l !== undefined) this.onState?.({ layer: square.l, head: square.head, token: light.from ?? this.tokenOf(this.layers[square.l].of) });
    const of = square?.l === undefined ? null : this.layers[square.l].of;
    const place = this.resting || !square ? ".." : of === null ? `m.${square.m}.` : `${square.l}.${square.head}.${this.kept[of] ?? ""}`;
    const marks = [this.reverse && "seen", this.way !== this.scene.stage.litBy && this.way, this.timer && "steps"].filter(Boolean);
    this.onChoice?.(this.resting && !marks.length ? "" : [place, ...marks].join("."));
  }

  // Sets layer, head and token from outside; what does not exist changes nothing.
  choosePlace(l, head, token) {
    const at = this.squares.findIndex((one) => one.l === l && (one.head === head || (this.layers[l].heads === 1 && one.head === 0)));
    if (at < 0) return;
    const { kind, of } = this.layers[l];
    this.let(() => {
      this.chosen[kind] = at;
      this.lit = kind;
      this.resting = false;
      if (token >= 0 && token < this.size(of)) this.kept[of] = token;
    });
  }

  setErased(tokens) {
    this.let(() => (this.erased = new Set(tokens)));
  }

  // Layer after layer, from the input to the answer: the mean of heads of each, for the chosen token.
  play() {
    if (this.timer) return this.stop();
    const kind = this.activeKind();
    const order = this.squares.map((one, i) => [one, i]).filter(([one]) => one.kind === kind && one.l !== undefined && one.head !== "rollout" && (one.head === "mean" || this.layers[one.l].heads === 1));
    let at = 0;
    const next = () => {
      if (at >= order.length) return this.stop();
      this.let(() => (this.hovered = order[at++][1]));
    };
    this.playing.textContent = this.words.stop;
    this.timer = setInterval(next, FRAME_MS);
    this.report();
    next();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playing.textContent = this.words.play;
    this.let(() => (this.hovered = null));
    this.report();
  }

  // A film's frames come into play at their own seconds, over and over, an answer's symbols once; one under the pointer stays.
  run() {
    const { seconds, asks } = this.stage;
    const wait = (i) => 1000 * (seconds[i + 1] - seconds[i]) || LAST_MS;
    if (asks) this.let(() => Object.assign(this, { kept: {}, inPlay: 0 }));
    const next = () => {
      if (asks && this.inPlay === seconds.length - 1) return this.pause(null);
      if (!this.pointed) {
        this.inPlay = (this.inPlay + 1) % seconds.length;
        this.repaint(null);
      }
      this.film = setTimeout(next, wait(this.inPlay));
    };
    this.film = setTimeout(next, wait(this.inPlay));
    this.sentence.setAttribute("aria-live", "off"); // else it would be read out all the time
    this.filmKey.textContent = this.words.pause;
  }

  // Ends the play; of an answer the symbol in play stays, or another one.
  pause(symbol = this.inPlay) {
    clearTimeout(this.film);
    this.film = null;
    if (this.stage.asks) this.let(() => (this.inPlay = symbol));
    this.sentence.setAttribute("aria-live", "polite");
    if (this.filmKey) this.filmKey.textContent = this.words.run;
  }

  turn() {
    this.pointed = null;
    if (this.film) this.pause();
    else this.run();
  }

  // Tells whether a film plays by itself.
  moves() {
    return !Object.keys(this.kept).length && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  buildTools(bar) {
    const press = (text, act) => {
      const button = element("button", "attention-button", bar);
      button.textContent = text;
      button.addEventListener("click", () => act(button));
      return button;
    };
    if (this.way) {
      const ways = { looks: this.words.litByLooks, like: this.words.litByLike, parts: this.words.litByParts };
      const keys = Object.entries(ways).map(([way, text]) => [way, press(text, () => {
        this.let(() => (this.way = way));
        this.report();
        mark();
      })]);
      const mark = () => keys.forEach(([way, key]) => key.setAttribute("aria-pressed", way === this.way));
      for (const [way, key] of keys) key.dataset.way = way;
      mark();
    }
    if (this.stage.seconds) this.filmKey = press(this.words.run, () => this.turn());
    press(this.words.reverse, (button) => {
      this.let(() => (this.reverse = !this.reverse));
      this.report();
      button.setAttribute("aria-pressed", this.reverse);
    }).setAttribute("aria-pressed", this.reverse);
    this.playing = press(this.words.play, () => this.play());
    if (this.scene.erased && this.onErase)
      press(this.words.erase, (button) => {
        this.let(() => (this.erasing = !this.erasing));
        button.setAttribute("aria-pressed", this.erasing);
      }).setAttribute("aria-pressed", this.erasing);
    this.buildFiles(bar);
    element("span", "attention-help", bar).textContent = this.words.help;
  }

  // One menu of what a reader takes away; a file of its own has no view to give, and so two entries.
  buildFiles(bar) {
    const menu = (this.files = element("details", "attention-files", bar));
    element("summary", "attention-button", menu).textContent = this.words.take;
    const list = element("div", "attention-list", menu);
    const entry = (text, ending, make) => {
      const button = element("button", "attention-button", list);
      button.textContent = text;
      button.addEventListener("click", async () => {
        menu.open = false;
        save(await make(), `attention-${this.scene.stage.name}.${ending}`);
      });
    };
    entry(this.words.png, "png", () => new Promise((done) => this.canvas.toBlob(done)));
    if (this.addresses.length) entry(this.words.html, "html", async () => page(this.message, await this.parts(), this.scene.answer, this.addresses, this.style()));
    entry(this.words.npz, "npz", async () => {
      await Promise.all(this.layers.map((one) => one.come()));
      return npz(this.arrays());
    });
    menu.addEventListener("keydown", (event) => event.key === "Escape" && (menu.open = false));
    document.addEventListener("pointerdown", this.shut);
  }

  // Messages of the layers that stayed behind, by their numbers.
  parts() {
    return Promise.all(this.layers.filter((one) => one.thin).map((one) => this.fetchPart?.(one.part)));
  }

  // Closes the menu at a press elsewhere.
  shut = (event) => {
    if (!this.files.contains(event.target)) this.files.open = false;
  };

  arrays() {
    return [...this.layers.flatMap((one) => one.arrays()), ...this.scene.measures.map((one) => [one.name, this.bytes(one.shares), one.shares.shape, one.shares.type])];
  }

  close() {
    clearInterval(this.timer);
    clearTimeout(this.film);
    this.resized.disconnect();
    document.removeEventListener("pointerdown", this.shut);
    document.removeEventListener("attention-scale", this.scaled);
    this.root.remove();
  }
}

// As much of a name as stands under its bar.
function shortened(context, name) {
  const fits = (text) => context.measureText(text).width <= NAME_LENGTH;
  if (fits(name)) return name;
  const letters = [...name];
  while (letters.length > 1 && !fits(`${letters.join("")}…`)) letters.pop();
  return `${letters.join("")}…`;
}

function largest(values) {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

const strongest = (bars) => bars.reduce((top, bar, i) => (Math.abs(bar[1]) > Math.abs(bars[top][1]) ? i : top), 0);

// Draws a message in an element; resolves to the view, whose `close` ends it. `options`: see `AttentionView`.
export async function mount(parent, message, options = {}) {
  const { head: scene, bytes } = unpack(message);
  let picture = null;
  if (scene.stage.picture) picture = await createImageBitmap(new Blob([bytes(scene.stage.picture)]));
  return new AttentionView(parent, message, { ...options, picture });
}

// The same of a file of its own, which holds the message and the parts that it has in base64.
export function mountText(message, parts) {
  const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return mount(document.getElementById("view"), decoded(message), { fetchPart: (i) => parts[i] && decoded(parts[i]) });
}
