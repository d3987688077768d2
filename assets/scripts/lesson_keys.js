// The key of a lesson: R reveals the answer.
import { typing } from "../../attention_light/scripts/dom.js";

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !event.isTrusted) return;
  if (!["r", "R"].includes(event.key) || typing(event.target)) return;
  const button = document.querySelector(".st-key-predict_reveal button");
  if (!button) return;
  event.preventDefault();
  button.click();
}, true);
