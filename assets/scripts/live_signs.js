// Signs before the live camera: the hand is drawn, glosses are named, and a game asks for a sign.

import { colour } from "../../attention_light/scripts/colours.js";
import { mounted } from "./mounted.js";
import { element } from "../../attention_light/scripts/dom.js";
import { LiveCamera } from "./live_camera.js";

const BONES = [
  [0, 1], [1, 2], [2, 3], [3, 4], [0, 5], [5, 6], [6, 7], [7, 8], [5, 9], [9, 10], [10, 11], [11, 12],
  [9, 13], [13, 14], [14, 15], [15, 16], [13, 17], [0, 17], [17, 18], [18, 19], [19, 20],
];
const COLOURS = [colour("orange"), colour("blue")];
const DIFFERS = colour("red");
const HELD = 4; // frames for which an asked sign must be the likeliest
const PRAISE_MS = 1200;

export const receive = mounted((parent) => new LiveSigns(parent));

// Fingers of the first hand in `differs` (0 for the thumb) are drawn as another shape than the one asked for.
function drawHands(context, hands, width, height, differs = []) {
  hands.forEach((points, index) => {
    const finger = (to) => Math.floor((to - 1) / 4);
    const colour = (to) => (index === 0 && to > 0 && differs.includes(finger(to)) ? DIFFERS : COLOURS[index % COLOURS.length]);
    context.lineWidth = Math.max(2, width / 240);
    for (const [from, to] of BONES) {
      context.strokeStyle = colour(from === 0 || finger(from) !== finger(to) ? 0 : to);
      context.beginPath();
      context.moveTo(points[from][0] * width, points[from][1] * height);
      context.lineTo(points[to][0] * width, points[to][1] * height);
      context.stroke();
    }
    points.forEach(([x, y], place) => {
      context.fillStyle = colour(place);
      context.beginPath();
      context.arc(x * width, y * height, Math.max(2.5, width / 160), 0, 2 * Math.PI);
      context.fill();
    });
  });
}

// Attention of the newest frame: a bar for each of the last ones, the newest at the right.
function drawAttention(canvas, weights, colour) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  if (!weights.length) return;
  const most = Math.max(...weights, 1e-9);
  const step = width / Math.max(weights.length, 48);
  context.fillStyle = colour;
  weights.forEach((weight, index) => {
    const bar = (weight / most) * (height - 2);
    context.fillRect(width - (weights.length - index) * step, height - bar, Math.max(1, step - 1), bar);
  });
}

class LiveSigns extends LiveCamera {
  constructor(parent) {
    super(parent);
    this.stage.dataset.light = "film";
    this.guesses = element("p", "live-signs-guesses", this.root);
    this.stage.after(this.guesses);
    this.attention = element("canvas", "live-signs-attention", this.root);
    this.attention.width = 960;
    this.attention.height = 72;
    this.caption = element("p", "live-signs-caption", this.root);
  }

  show(data) {
    super.show(data);
    this.caption.textContent = data.words.attention;
    if (data.asked.length && !this.game) this.begin(data.asked);
    if (!data.asked.length) this.game = null;
  }

  // -- the game: a sign is asked for, watched, and counted ------------------------------------------------------------------

  begin(signs) {
    this.game = { signs, streak: 0, held: 0, left: [] };
    this.ask();
  }

  ask() {
    const game = this.game;
    if (!game.left.length) game.left = game.signs.map((sign) => [Math.random(), sign]).sort(([a], [b]) => a - b).map(([, sign]) => sign);
    game.asked = game.left.pop();
    game.held = 0;
    game.praised = 0;
    this.wanted = { ...this.wanted, asked: game.asked };
    this.wish({ asked: game.asked });
    this.root.dataset.asked = game.asked;
    this.askAloud();
  }

  askAloud() {
    const { words, game } = this;
    this.answer.textContent = words.show.replace("{sign}", game.asked);
    this.guesses.textContent = words.streak.replace("{streak}", game.streak);
    this.root.dataset.streak = game.streak;
  }

  watch(found) {
    const { game, words } = this;
    if (game.praised) {
      if (performance.now() > game.praised) this.ask();
      return;
    }
    game.held = found.now === game.asked ? game.held + 1 : 0;
    if (game.held >= HELD) {
      game.streak += 1;
      game.praised = performance.now() + PRAISE_MS;
      this.askAloud();
      this.answer.textContent = words.right.replace("{sign}", game.asked);
      return;
    }
    const fingers = found.differs?.map((finger) => words.fingers[finger]);
    this.say(!found.hands.length ? words.noHand : !fingers ? words.moves : fingers.length ? words.differs.replace("{fingers}", fingers.join(", ")) : words.alike);
  }

  // -- what was read --------------------------------------------------------------------------------------------------------

  paint(context, found) {
    const { width, height } = this.over;
    drawHands(context, found.hands, width, height, this.game && !this.game.praised ? (found.differs ?? []) : []);
    drawAttention(this.attention, found.attention, getComputedStyle(this.root).getPropertyValue("--live-bar") || colour("violet"));
  }

  tell(found) {
    const { words } = this;
    this.root.dataset.hands = found.hands.length;
    if (this.game) return this.watch(found);
    const glosses = found.glosses.map(([gloss]) => gloss).join(" ");
    this.root.dataset.glosses = glosses;
    this.answer.textContent = found.now ?? found.glosses.at(-1)?.[0] ?? "";
    this.guesses.textContent = glosses ? words.answer.replace("{glosses}", glosses) : words.nothing;
    this.say(!found.hands.length ? words.noHand : found.now ? words.now.replace("{gloss}", found.now).replace("{share}", this.percent.format(found.probability)) : found.hands.length > 1 ? words.two : words.between);
  }
}
