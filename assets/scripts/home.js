// Moves the front page's pictures, which stand there without it too; nothing moves for who asked for less motion.
const SIGN_MS = 1600;
const DIAL_MS = 450;

export function start() {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const root of document.querySelectorAll("[data-front]:not([data-started])")) {
    root.dataset.started = "yes";
    const data = JSON.parse(root.dataset.front);
    if (data.kind === "market" && !still) market(root, data);
    if (data.kind === "signs" && !still) signs(root);
    if (data.kind === "lecture") lecture(root, data, still);
  }
}

// Calls `step` with 0, 1, 2 ... until it says stop or the page has gone.
function every(root, ms, step) {
  let count = 0;
  const timer = setInterval(() => {
    if (!root.isConnected || step(count++) === false) clearInterval(timer);
  }, ms);
}

function market(root, { calls, truths, momentum, horizon, every_ms, answers, score, language }) {
  const [now, known] = root.querySelectorAll("img"); // each shows what lies left of its edge
  const answer = root.querySelector(".front-answer");
  const text = root.querySelector(".front-note").firstChild;
  const percent = new Intl.NumberFormat(language, { style: "percent" });
  const count = new Intl.NumberFormat(language);
  const rows = calls.length;
  const outcomes = truths.map((truth, at) => [truth, calls[at], momentum[at]]);
  every(root, every_ms, (step) => {
    const half = rows >> 1; // it begins again here: never an empty picture, nor a score of a few calls
    const at = half + (step % (rows - half));
    const seen = outcomes.slice(0, at - horizon + 1);
    const right = seen.filter(([truth, call]) => truth === call).length;
    const other = seen.filter(([truth, , move]) => truth === move).length;
    now.style.clipPath = `inset(0 ${100 - (100 * (at + 1)) / rows}% 0 0)`;
    known.style.clipPath = `inset(0 ${100 - (100 * seen.length) / rows}% 0 0)`;
    answer.textContent = answers[calls[at]];
    text.textContent = score
      .replace("{share}", percent.format(right / seen.length))
      .replace("{count}", count.format(seen.length))
      .replace("{other}", percent.format(other / seen.length)) + " ";
    root.dataset.at = at;
  });
}

function signs(root) {
  const frames = root.querySelectorAll(".front-frame");
  const glosses = root.querySelectorAll(".front-glosses span");
  const show = (step) => {
    for (const list of [frames, glosses]) list.forEach((one, at) => one.classList.toggle("on", at === step % frames.length));
  };
  show(0);
  every(root, SIGN_MS, (step) => show(step + 1));
}

function lecture(root, { weights, temperatures, language }, still) {
  const dial = root.querySelector("input");
  const value = root.querySelector("output");
  const number = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
  const cells = root.querySelectorAll(".front-matrix i");
  const draw = () => {
    weights[dial.value].flat().forEach((weight, at) => cells[at].style.setProperty("--weight", weight / 100));
    value.textContent = number.format(temperatures[dial.value]);
  };
  let touched = still;
  for (const kind of ["pointerdown", "keydown", "input"]) dial.addEventListener(kind, () => (touched = true));
  dial.addEventListener("input", draw);
  const last = weights.length - 1;
  if (!still)
    every(root, DIAL_MS, (step) => {
      if (touched) return false;
      const turn = (step + (last >> 1)) % (2 * last);
      dial.value = turn <= last ? turn : 2 * last - turn; // there and back
      draw();
    });
}
