// The live camera: frames go to the app one at a time, and its answer (landmarks, glosses, attention) is drawn as it comes.

const SIDE = 480; // pixels of a frame's longer side, as it is sent
const QUALITY = 0.75;
const EVERY_MS = 100; // ten frames a second at most
const RATE_OVER = 20; // frames over which the rate shown is measured
const BONES = [
  [0, 1], [1, 2], [2, 3], [3, 4], [0, 5], [5, 6], [6, 7], [7, 8], [5, 9], [9, 10], [10, 11], [11, 12],
  [9, 13], [13, 14], [14, 15], [15, 16], [13, 17], [0, 17], [17, 18], [18, 19], [19, 20],
];
const COLOURS = ["#D5701F", "#2F7EC7"];

const views = new WeakMap();

export function receive(component) {
  const { parentElement, data } = component;
  let view = views.get(parentElement);
  if (!view) {
    view = new LiveSigns(parentElement);
    views.set(parentElement, view);
  }
  view.configure(data);
  return () => {
    views.delete(parentElement);
    view.stop();
    view.root.remove();
  };
}

export function drawHands(context, hands, width, height) {
  hands.forEach((points, index) => {
    context.strokeStyle = context.fillStyle = COLOURS[index % COLOURS.length];
    context.lineWidth = Math.max(2, width / 240);
    context.beginPath();
    for (const [from, to] of BONES) {
      context.moveTo(points[from][0] * width, points[from][1] * height);
      context.lineTo(points[to][0] * width, points[to][1] * height);
    }
    context.stroke();
    for (const [x, y] of points) {
      context.beginPath();
      context.arc(x * width, y * height, Math.max(2.5, width / 160), 0, 2 * Math.PI);
      context.fill();
    }
  });
}

// Attention of one frame: a bar for each frame. Live, the newest is at the right; of a film the frame that looks is marked.
export function drawAttention(canvas, weights, colour, marked = null) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  if (!weights.length) return;
  const most = Math.max(...weights, 1e-9);
  const step = width / (marked === null ? Math.max(weights.length, 48) : weights.length);
  if (marked !== null) {
    context.fillStyle = "rgba(128, 128, 128, 0.35)";
    context.fillRect(marked * step, 0, Math.max(2, step), height);
  }
  context.fillStyle = colour;
  weights.forEach((weight, index) => {
    const bar = (weight / most) * (height - 2);
    context.fillRect(width - (weights.length - index) * step, height - bar, Math.max(1, step - 1), bar);
  });
}

export function element(tag, name, parent) {
  const made = document.createElement(tag);
  made.className = name;
  parent?.append(made);
  return made;
}

class LiveSigns {
  constructor(parent) {
    this.root = element("section", "live-signs", parent);
    this.root.live = this;
    this.keys = element("p", "live-signs-keys", this.root);
    this.button = element("button", "live-signs-button", this.keys);
    this.button.type = "button";
    this.turn = element("button", "live-signs-button", this.keys);
    this.turn.type = "button";
    this.note = element("span", "live-signs-note", this.keys);
    this.answer = element("p", "live-signs-answer", this.root);
    this.answer.setAttribute("aria-live", "polite");
    this.notice = element("p", "live-signs-notice", this.root);
    this.notice.setAttribute("role", "status");
    this.stage = element("div", "live-signs-stage", this.root);
    this.video = element("video", "live-signs-video", this.stage);
    this.video.muted = this.video.playsInline = true;
    this.over = element("canvas", "live-signs-over", this.stage);
    this.attention = element("canvas", "live-signs-attention", this.root);
    this.attention.width = 960;
    this.attention.height = 72;
    this.caption = element("p", "live-signs-caption", this.root);
    this.sheet = document.createElement("canvas");
    this.facing = "user";
    this.button.addEventListener("click", () => (this.running ? this.stop() : this.start()));
    this.turn.addEventListener("click", () => {
      this.facing = this.facing === "user" ? "environment" : "user";
      if (this.running) this.stop().then(() => this.start());
    });
  }

  configure({ address, words, language }) {
    this.rate = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.address = address;
    this.words = words;
    this.turn.textContent = words.turn;
    this.caption.textContent = words.attention;
    this.label();
    if (!this.running && !this.notice.textContent) this.say(words.idle);
  }

  label() {
    this.button.textContent = this.running ? this.words.stop : this.words.start;
    this.root.dataset.state = this.running ? "running" : "stopped";
  }

  say(text, bad = false) {
    this.notice.textContent = text;
    this.notice.classList.toggle("bad", bad);
  }

  async start() {
    this.running = true;
    this.label();
    this.answer.textContent = "";
    this.note.textContent = "";
    this.frames = 0;
    this.answered = [];
    this.due = 0;
    if (!navigator.mediaDevices?.getUserMedia) return this.fail(this.words.insecure);
    try {
      const wanted = { facingMode: this.facing, width: { ideal: 640 }, height: { ideal: 480 } };
      this.media = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
    } catch (error) {
      return this.fail(error.name === "NotAllowedError" ? this.words.denied : this.words.noCamera);
    }
    if (!this.running) return this.release();
    this.mirrored = this.facing === "user";
    this.stage.classList.toggle("mirrored", this.mirrored);
    this.video.srcObject = this.media;
    await this.video.play();
    this.say(this.words.connecting);
    const url = new URL(this.address, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.send();
    this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    this.socket.onclose = () => this.running && this.fail(this.notice.classList.contains("bad") ? this.notice.textContent : this.words.lost);
  }

  fail(text) {
    this.stop();
    this.say(text, true);
  }

  release() {
    this.media?.getTracks().forEach((track) => track.stop());
    this.media = null;
    this.video.srcObject = null;
  }

  async stop() {
    this.running = false;
    clearTimeout(this.timer);
    this.socket?.close();
    this.release();
    this.over.getContext("2d").clearRect(0, 0, this.over.width, this.over.height);
    this.label();
    this.say(this.words.idle);
  }

  send() {
    if (!this.running || this.socket.readyState !== WebSocket.OPEN) return;
    const { videoWidth, videoHeight } = this.video;
    if (!videoWidth || document.hidden) {
      this.timer = setTimeout(() => this.send(), EVERY_MS);
      return;
    }
    const share = Math.min(1, SIDE / Math.max(videoWidth, videoHeight));
    this.sheet.width = Math.round(videoWidth * share);
    this.sheet.height = Math.round(videoHeight * share);
    this.sheet.getContext("2d").drawImage(this.video, 0, 0, this.sheet.width, this.sheet.height);
    this.sheet.toBlob((blob) => this.running && blob && this.socket.send(blob), "image/jpeg", QUALITY);
  }

  receive(found) {
    if (!this.running) return;
    // On a grid of tenths of a second, so that a timer's delay is made up for by the next; what is late is not caught up.
    this.due = Math.max(performance.now(), this.due + EVERY_MS);
    this.timer = setTimeout(() => this.send(), this.due - performance.now());
    if (found.error) return this.say(found.error, true);
    this.frames += 1;
    this.root.dataset.frames = this.frames;
    this.root.dataset.hands = found.hands.length;
    this.over.width = this.video.videoWidth;
    this.over.height = this.video.videoHeight;
    drawHands(this.over.getContext("2d"), found.hands, this.over.width, this.over.height);
    const said = found.said.map(([gloss]) => gloss).join(" ");
    this.answer.textContent = said ? this.words.answer.replace("{glosses}", said) : this.words.nothing;
    this.root.dataset.said = said;
    const share = Math.round(100 * found.probability);
    const now = !found.hands.length
      ? this.words.noHand
      : found.now
        ? this.words.now.replace("{gloss}", found.now).replace("{share}", share)
        : this.words.between;
    this.say(now);
    this.answered.push(performance.now());
    if (this.answered.length > RATE_OVER) {
      const rate = (1000 * RATE_OVER) / (this.answered.at(-1) - this.answered.shift());
      this.note.textContent = this.words.pace.replace("{rate}", this.rate.format(rate)).replace("{ms}", found.ms.toFixed(0));
    }
    drawAttention(this.attention, found.attention, getComputedStyle(this.root).getPropertyValue("--live-bar") || "#6A5FD9");
  }
}
