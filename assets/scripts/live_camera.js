// A live camera: frames go to the app one at a time, and each is drawn with the app's answer to it, so that nothing trails behind.
// A page's own script extends LiveCamera: `paint` draws on the frame, `tell` says what was read. `pages/shared/camera_route.py` answers.

import { element } from "../../attention_light/scripts/dom.js";

const SIDE = 480; // pixels of a frame's longer side, as it is sent
const QUALITY = 0.75;
const EVERY_MS = 100; // ten frames a second at most
const RETRY_MS = 2000; // until a lost server is asked again
const REFUSED = 4400; // from this code on the server itself closed, and says why
const RATE_OVER = 20; // frames over which the rate shown is measured

const REASONS = { NotAllowedError: "denied", NotReadableError: "inUse", AbortError: "inUse" };

export class LiveCamera {
  constructor(parent) {
    this.root = element("section", "live-signs", parent);
    this.root.live = this;
    this.keys = element("p", "live-signs-keys", this.root);
    this.button = element("button", "live-signs-button", this.keys);
    this.turn = element("button", "live-signs-button", this.keys);
    this.note = element("span", "live-signs-note", this.keys);
    this.notice = element("p", "live-signs-notice", this.root);
    this.notice.setAttribute("role", "status");
    this.stage = element("div", "live-signs-stage", this.root);
    this.video = element("video", "live-signs-video", this.stage);
    this.video.muted = this.video.playsInline = true;
    this.over = element("canvas", "live-signs-over", this.stage);
    this.answer = element("p", "live-signs-answer", this.stage);
    this.answer.setAttribute("aria-live", "polite");
    this.sheet = document.createElement("canvas"); // the frame that was sent: kept until its answer comes
    this.facing = "user";
    this.button.addEventListener("click", () => (this.running ? this.stop() : this.start()));
    this.turn.addEventListener("click", () => {
      this.facing = this.facing === "user" ? "environment" : "user";
      if (this.running) this.stop().then(() => this.start());
    });
  }

  paint(_context, _found) {}

  tell(_found) {}

  close() {
    this.stop();
    this.root.remove();
  }

  show({ address, words, language, wish, start }) {
    this.rate = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.percent = new Intl.NumberFormat(language, { style: "percent" });
    this.address = address;
    this.words = words;
    this.wanted = { ...this.wanted, ...wish };
    this.wish(wish);
    this.turn.textContent = words.turn;
    this.label();
    if (!this.running && !this.notice.textContent) this.say(words.idle);
    if (start && !this.running) this.start();
  }

  wish(wanted) {
    if (wanted && this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wanted));
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
    this.answer.textContent = this.note.textContent = "";
    this.frames = 0;
    this.answered = [];
    this.due = 0;
    if (!navigator.mediaDevices?.getUserMedia) return this.fail(this.words.insecure);
    try {
      const wanted = { facingMode: this.facing, width: { ideal: 640 }, height: { ideal: 480 } };
      this.media = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
    } catch (error) {
      return this.fail(this.words[REASONS[error.name]] ?? this.words.noCamera);
    }
    if (!this.running) return this.release();
    this.stage.classList.toggle("mirrored", this.facing === "user");
    this.video.srcObject = this.media;
    await this.video.play();
    this.say(this.words.connecting);
    this.connect();
  }

  connect() {
    const url = window.observatoryAddress(this.address);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wish(this.wanted);
      this.send();
    };
    socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    socket.onclose = ({ code }) => {
      if (!this.running || this.socket !== socket) return;
      if (code >= REFUSED) return this.fail(this.notice.textContent);
      this.say(this.words.lost, true);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.connect(), RETRY_MS);
    };
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
    this.over.width = this.sheet.width;
    this.over.height = this.sheet.height;
    const context = this.over.getContext("2d");
    context.drawImage(this.sheet, 0, 0);
    this.paint(context, found);
    this.tell(found);
    this.answered.push(performance.now());
    if (this.answered.length > RATE_OVER) {
      const rate = (1000 * RATE_OVER) / (this.answered.at(-1) - this.answered.shift());
      this.note.textContent = this.words.pace.replace("{rate}", this.rate.format(rate)).replace("{ms}", found.ms.toFixed(0));
    }
  }
}
