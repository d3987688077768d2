// Questions of a lesson, and whether this reader knew their answers: kept in this browser alone (pages/learn/lesson.py).
const KEY = "recall";
const DAY_MS = 86_400_000;

function all() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // what lies there is not ours, or the browser keeps nothing
  }
}

function tell() {
  for (const box of document.querySelectorAll(".recall")) {
    const kept = all()[box.dataset.lesson] ?? {};
    const marks = Object.values(kept);
    for (const button of box.querySelectorAll("button")) {
      const now = String(kept[button.dataset.question]?.knew === (button.dataset.knew === "1"));
      if (button.getAttribute("aria-pressed") !== now) button.setAttribute("aria-pressed", now);
    }
    const days = Math.floor((Date.now() - Math.max(...marks.map((one) => one.at))) / DAY_MS);
    const when = marks.length ? new Intl.RelativeTimeFormat(box.dataset.lang, { numeric: "auto" }).format(-days, "day") : "";
    const known = marks.filter((one) => one.knew).length;
    const told = marks.length ? box.dataset.told.replace("{known}", known).replace("{when}", when) : "";
    const line = box.querySelector("output");
    if (line.textContent !== told) line.textContent = told;
  }
}

if (!window.recall) {
  window.recall = true;
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".recall button");
    if (!button) return;
    const { lesson } = button.closest(".recall").dataset;
    const kept = all();
    kept[lesson] = { ...kept[lesson], [button.dataset.question]: { knew: button.dataset.knew === "1", at: Date.now() } };
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      return; // a browser that keeps nothing
    }
    tell();
  });
  setInterval(tell, 500); // pages of the app are drawn anew at any time
}
tell();
