// Keys of a lesson. R reveals the answer. While presenting: the arrow keys move the dial in play, Page up and Page down open the
// part before or after it, and the lesson before or after at the ends.
const typing = (element) =>
  element.isContentEditable || element.matches?.('textarea, select, input:not([type="radio"]):not([type="checkbox"]):not([type="range"])');

const move = (key) => {
  const dial = '[class*="st-key-dial_on_"]';
  const step = key === "ArrowRight" || key === "ArrowUp" ? 1 : -1;
  return choose(`${dial} [data-testid="stButtonGroup"] button`, step) || press(`${dial} input[type="checkbox"]`);
};

const choose = (selector, step) => {
  const buttons = [...document.querySelectorAll(selector)];
  const at = buttons.findIndex((one) => /Active/.test(one.dataset.testid ?? "") || one.getAttribute("aria-checked") === "true");
  const next = buttons[at + step];
  next?.click();
  return Boolean(next);
};

const press = (selector) => {
  const found = document.querySelector(selector);
  found?.click();
  return Boolean(found);
};

const presenting = () => Boolean(document.querySelector(".lesson-presenting"));

// A slider moves by itself for the arrow keys once it has the focus, which is otherwise left on what was pressed last, such as the
// link to this lesson, or on something that is hidden now.
setInterval(() => {
  const on = document.activeElement;
  const idle = !on || on === document.body || on.offsetParent === null || !(typing(on) || on.matches(":focus-visible"));
  if (presenting() && idle) document.querySelector('[class*="st-key-dial_on_"] input[type="range"]')?.focus({ preventScroll: true });
}, 300);

const page = (step) =>
  choose(".st-key-part button", step) || press(step > 0 ? ".st-key-lesson_after a" : ".st-key-lesson_before a");

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !event.isTrusted) return;
  if (!document.querySelector('[class*="st-key-lesson_"]') || typing(event.target)) return;
  let done = false;
  if (event.key === "r" || event.key === "R") done = press(".st-key-predict_reveal button");
  else if (presenting() && event.key === "Escape") done = press(".st-key-present input");
  else if (presenting() && event.key.startsWith("Arrow") && event.target.type !== "range") done = move(event.key);
  else if (presenting() && event.key === "PageDown") done = page(1);
  else if (presenting() && event.key === "PageUp") done = page(-1);
  if (!done) return;
  event.preventDefault();
  event.stopPropagation(); // a slider with the focus would take Page down for itself
}, true);
