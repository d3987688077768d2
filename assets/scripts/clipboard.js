// Pictures from the clipboard: a press of Ctrl+V anywhere on the page, or of the button, sends the picture to the server as a data
// URL. A picture larger than SIDE is made smaller first. Where the page names it, also from
// a file that is chosen or dropped.

import { mounted } from "./mounted.js";
import { element } from "../../attention_light/scripts/dom.js";

const SIDE = 1024;

export const receive = mounted((parent) => new Paste(parent));

class Paste {
  constructor(parent) {
    this.root = element("div", "clipboard", parent);
    this.choose = element("label", "clipboard-file", this.root);
    this.chooseText = element("span", "", this.choose);
    this.input = Object.assign(element("input", "", this.choose), { type: "file", accept: "image/*" });
    this.input.addEventListener("change", () => {
      if (this.input.files[0]) this.take(this.input.files[0]);
      this.input.value = ""; // the same file may be chosen again
    });
    this.button = element("button", "", this.root);
    this.hint = element("span", "clipboard-hint", this.root);
    this.outcome = element("span", "", this.root);
    this.outcome.setAttribute("role", "status");
    this.button.addEventListener("click", () => this.read());
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    const over = (event) => this.labels.choose && event.preventDefault();
    const drop = (event) => {
      over(event);
      const file = this.labels.choose && event.dataTransfer?.files[0];
      if (file) this.take(file);
    };
    document.addEventListener("paste", (event) => this.pasted(event), { signal });
    document.addEventListener("dragover", over, { signal });
    document.addEventListener("drop", drop, { signal });
  }

  show({ labels }) {
    this.labels = labels;
    this.button.textContent = labels.paste;
    this.choose.hidden = !labels.choose;
    this.chooseText.textContent = labels.choose ?? "";
    this.hint.textContent = labels.hint ?? "";
  }

  close() {
    this.listeners.abort();
    this.root.remove();
  }

  pasted(event) {
    const file = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
    if (!file) return;
    event.preventDefault();
    this.take(file);
  }

  async read() {
    try {
      for (const item of await navigator.clipboard.read()) {
        const type = item.types.find((one) => one.startsWith("image/"));
        if (type) return await this.take(await item.getType(type));
      }
      this.outcome.textContent = this.labels.none;
    } catch {
      this.outcome.textContent = this.labels.refused; // no permission, or no such function without HTTPS
    }
  }

  async take(blob) {
    try {
      const bitmap = await createImageBitmap(blob);
      const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height));
      const canvas = document.createElement("canvas");
      canvas.width = Math.max(1, Math.round(bitmap.width * scale));
      canvas.height = Math.max(1, Math.round(bitmap.height * scale));
      canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
      this.outcome.textContent = "";
      this.component.setStateValue("picture", canvas.toDataURL("image/png"));
    } catch {
      this.outcome.textContent = this.labels.damaged;
    }
  }
}
