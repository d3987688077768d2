// A phone in a class (pages/learn/class_route.py): shows what the teacher shows, sends answers, reasons, questions and votes.
// Texts of others are set as text, never as HTML; the view is HTML that the server wrote.
import { drawPlots } from "./plain_view.js";

const setting = JSON.parse(document.getElementById("setting").textContent);
const { words, code } = setting;
const place = (id) => document.getElementById(id);
const kept = (name, otherwise) => JSON.parse(localStorage.getItem(`class:${code}:${name}`) ?? JSON.stringify(otherwise));
const keep = (name, value) => localStorage.setItem(`class:${code}:${name}`, JSON.stringify(value));
const now = { question: null, counts: null, mine: null };
let socket = null;
let tries = 0;

function made(tag, text = "", properties = {}) {
  const element = Object.assign(document.createElement(tag), properties);
  if (text) element.textContent = text;
  return element;
}

const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}${setting.root}/class/${code}/socket?lang=${setting.language}`);
  socket.onopen = () => {
    tries = 0;
    place("state").textContent = "";
    if (!place("view").firstChild) place("view").append(made("p", words.waiting));
  };
  socket.onmessage = ({ data }) => take(JSON.parse(data));
  socket.onclose = ({ code: why }) => {
    lessons.busy = false;
    if (why === 4404) return void (place("state").textContent = words.over);
    place("state").textContent = words.away;
    setTimeout(connect, Math.min(15_000, 500 * 2 ** tries++) * (0.5 + Math.random()));
  };
}

function take(message) {
  if (message.error) return void (place("state").textContent = message.error);
  if (message.view) view(message.view);
  if ("question" in message) now.question = message.question;
  if (message.counts) now.counts = message.counts;
  if ("mine" in message) now.mine = message.mine;
  if (message.mine) localStorage.setItem(`trial:${message.mine.lesson}`, JSON.stringify(message.mine)); // for a test in some weeks
  if ("question" in message || "mine" in message) ask();
  if ("test" in message) test(message.test);
  if ("question" in message || message.counts) count();
  if ("reasons" in message) reasons(message.reasons);
  if (message.queue) queue(message.queue);
  if ("lessons" in message) lessons.show(message.lessons);
  if ("taken" in message) lessons.taken(message.taken);
}

// The teacher's view; what is scrolled sideways stays where it was.
function view(given) {
  const link = new URL(given.address, location.href);
  link.searchParams.set("lang", setting.language);
  link.searchParams.set("class", code);
  const head = made("h1", given.part ? `${given.title}: ${given.part}` : given.title);
  const dials = made("p", given.dials.map(([name, value]) => `${name}: ${value}`).join(" · "), { className: "dials" });
  const body = made("div");
  body.innerHTML = given.body;
  place("view").replaceChildren(head, dials, body, made("a", words.look, { href: link.pathname + link.search, className: "look-around" }));
  drawPlots(body, setting.root + setting.plotly);
}

function ask() {
  const question = now.question;
  const box = place("question");
  if (!question) return box.replaceChildren();
  const mine = kept(question.key, {});
  const options = question.options.map((text, option) => {
    const button = made("button", text, { type: "button", disabled: question.revealed || now.mine?.watch });
    button.setAttribute("aria-pressed", mine.option === option);
    if (question.revealed && question.right.includes(option)) button.classList.add("right");
    button.onclick = () => {
      keep(question.key, { ...mine, option });
      send({ answer: [question.key, option] });
      ask();
      count();
    };
    return button;
  });
  const list = made("div", "", { className: "options" });
  list.append(...options);
  box.replaceChildren(made("h2", question.text), list, made("p", "", { id: "counts", className: "note" }));
  if (now.mine?.watch && !question.revealed) box.append(made("p", words.watch, { className: "note" }));
  if (mine.option !== undefined && !question.revealed) box.append(made("p", words.chosen, { className: "note" }));
  if (question.revealed) revealed(box, question, mine);
}

function revealed(box, question, mine) {
  const told = mine.option === undefined ? "" : `${question.right.includes(mine.option) ? words.right : words.wrong} `;
  box.append(made("p", told + question.why, { className: "check" }));
  if (now.mine?.watch) return;
  const form = made("form");
  const input = made("input", "", { maxLength: setting.most, value: mine.why ?? "", required: true, autocomplete: "off" });
  input.setAttribute("aria-label", words.why);
  input.placeholder = words.why;
  const said = made("p", mine.why ? words.kept : "", { className: "note" });
  form.append(input, made("button", words.keep));
  form.onsubmit = (event) => {
    event.preventDefault();
    keep(question.key, { ...kept(question.key, {}), why: input.value });
    send({ reason: [question.key, input.value] });
    said.textContent = words.kept;
  };
  box.append(form, said);
}

// A test of the trial: a question after the other, all handed in at once.
function test(given) {
  const box = place("test");
  const name = `test:${given?.lesson}:${given?.phase}`;
  const done = !given || kept(name, false);
  for (const other of ["question", "view"]) place(other).hidden = !done; // nothing to look answers up in
  if (!given) return box.replaceChildren();
  if (done) return box.replaceChildren(made("p", words.tested, { className: "check" }));
  const form = made("form", "", { className: "test" });
  given.items.forEach(({ text, options }, item) => {
    const group = made("fieldset");
    group.append(made("legend", text));
    options.forEach((option, value) => {
      const label = made("label");
      label.append(made("input", "", { type: "radio", name: item, value, required: true }), made("span", option));
      group.append(label);
    });
    form.append(group);
  });
  form.append(made("button", words.hand_in));
  form.onsubmit = (event) => {
    event.preventDefault();
    const chosen = new FormData(form);
    const answers = given.items.map((_item, item) => Number(chosen.get(String(item))));
    send({ test: answers, kept: JSON.parse(localStorage.getItem(`trial:${given.lesson}`)) });
    keep(name, true);
    test(given);
  };
  box.replaceChildren(made("h2", words.test), form);
}

function count() {
  const { question, counts } = now;
  const line = document.getElementById("counts");
  if (!line || !question || counts?.question !== question.key) return;
  line.textContent = words.answered.replace("{count}", counts.answers);
  if (!question.revealed || !counts.tally) return;
  const most = Math.max(1, ...counts.tally);
  [...document.querySelectorAll(".options button")].forEach((button, option) => {
    button.dataset.count = counts.tally[option];
    button.style.setProperty("--share", `${(100 * counts.tally[option]) / most}%`);
  });
}

function reasons(told) {
  const box = place("reasons");
  if (!told) return box.replaceChildren();
  const list = made("ul");
  list.append(...told.map((text) => made("li", text)));
  box.replaceChildren(made("h2", words.reasons), list);
}

function queue(waiting) {
  const mine = new Set(kept("votes", []));
  const list = made("ol");
  for (const { number, text, votes } of waiting) {
    const item = made("li");
    const button = made("button", `▲ ${votes}`, { type: "button" });
    button.setAttribute("aria-pressed", mine.has(number));
    button.setAttribute("aria-label", `${words.vote}: ${text}`);
    button.onclick = () => {
      mine.has(number) ? mine.delete(number) : mine.add(number);
      keep("votes", [...mine]);
      send({ vote: number });
    };
    item.append(button, made("span", text));
    list.append(item);
  }
  const form = made("form");
  const input = made("input", "", { maxLength: setting.most, required: true, autocomplete: "off", placeholder: words.ask });
  input.setAttribute("aria-label", words.ask);
  const typed = place("queue").querySelector("input");
  if (typed) input.value = typed.value;
  const focused = document.activeElement === typed;
  form.append(input, made("button", words.send));
  form.onsubmit = (event) => {
    event.preventDefault();
    send({ ask: input.value });
    input.value = "";
  };
  place("queue").replaceChildren(made("h2", words.queue), list, form);
  if (focused) input.focus();
}

// Classes that the phones teach together. A picture goes as its class's number and a small JPEG, the next one after its answer.
const lessons = {
  SIDE: 320,
  ASK: 255,
  waiting: [],
  busy: false,
  mine: {},

  show(given) {
    const box = place("lessons");
    if (!given) return box.replaceChildren();
    if (box.dataset.names !== given.names.join()) this.build(box, given.names);
    given.counts.forEach((all, row) => {
      const line = words.each.replace("{mine}", this.mine[row] ?? 0).replace("{all}", all);
      box.querySelector(`[data-row="${row}"] small`).textContent = line;
    });
    const share = new Intl.NumberFormat(setting.language, { style: "percent", maximumFractionDigits: 0 });
    const score = given.score;
    const filled = { "{share}": "share", "{low}": "low", "{high}": "high" };
    let text = score ? words.score.replace("{count}", score.pictures) : words.no_score;
    if (score) for (const [gap, name] of Object.entries(filled)) text = text.replace(gap, share.format(score[name]));
    this.score.textContent = text;
    this.share = share;
  },

  build(box, names) {
    box.dataset.names = names.join();
    this.video = made("video", "", { muted: true, playsInline: true, hidden: true });
    this.said = made("p", "", { className: "check" });
    this.said.setAttribute("role", "status");
    this.score = made("p");
    const options = made("div", "", { className: "options" });
    options.append(...names.map((name, row) => this.button(name, row)), this.button(words.what, this.ASK));
    box.replaceChildren(made("h2", words.teach), this.video, options, this.said, this.score, made("p", words.hold, { className: "note" }));
  },

  button(text, row) {
    const button = made("button", text, { type: "button" });
    button.dataset.row = row;
    button.append(made("small"));
    const file = made("input", "", { type: "file", accept: "image/*", hidden: true });
    file.setAttribute("capture", "environment");
    file.onchange = () => [...file.files].forEach((one) => this.add(row, one));
    const release = () => clearInterval(this.timer);
    button.onclick = async () => {
      release();
      if (!(await this.camera())) return file.click();
      if (!this.held) this.add(row, this.video);
      this.held = false;
    };
    button.onpointerdown = () => {
      release();
      this.held = false;
      if (!this.video.hidden)
        this.timer = setInterval(() => {
          this.held = true;
          this.add(row, this.video);
        }, 1000);
    };
    button.onpointerleave = button.onpointercancel = release;
    return button;
  },

  // The camera where the browser gives it (https); without it a button takes a picture by the phone's own camera.
  async camera() {
    if (this.video.srcObject) return true;
    try {
      this.video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false });
      await this.video.play();
      this.video.hidden = false;
      return true;
    } catch {
      return false;
    }
  },

  add(row, source) {
    if (this.waiting.length < 12) this.waiting.push([row, source]);
    this.next();
  },

  async next() {
    if (this.busy || !this.waiting.length || socket?.readyState !== WebSocket.OPEN) return;
    this.busy = true;
    const [row, source] = this.waiting.shift();
    try {
      const picture = source instanceof File ? await createImageBitmap(source) : source;
      const [width, height] = [picture.videoWidth ?? picture.width, picture.videoHeight ?? picture.height];
      const scale = Math.min(1, this.SIDE / Math.max(width, height));
      const sheet = made("canvas", "", { width: Math.round(width * scale), height: Math.round(height * scale) });
      sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
      sheet.toBlob((jpeg) => socket.send(new Blob([new Uint8Array([row]), jpeg])), "image/jpeg", 0.85);
    } catch {
      this.taken(null);
    }
  },

  taken(answer) {
    this.busy = false;
    if (answer?.mine) this.mine[answer.row] = answer.mine;
    if (answer) {
      const says = answer.familiar ? words.says : words.unlike;
      this.said.textContent = answer.name ? says.replace("{name}", answer.name).replace("{share}", this.share.format(answer.share)) : words.unlearnt;
    }
    setTimeout(() => this.next(), 300);
  },
};

queue([]);
connect();
