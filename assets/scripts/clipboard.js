// Pictures from the clipboard: a press of Ctrl+V anywhere on the page, or of the button, sends the picture to the server as a data
// URL. A picture larger than SIDE is made smaller first.

import { element, mounted } from "./dom.js";

const SIDE = 1024;

export const receive = mounted((parent) => new Paste(parent));

class Paste {
  constructor(parent) {
    this.root = element("div", "clipboard", parent);
    this.button = element("button", "", this.root);
    this.said = element("span", "", this.root);
    this.said.setAttribute("role", "status");
    this.button.addEventListener("click", () => this.read());
    this.listen = (event) => this.pasted(event);
    document.addEventListener("paste", this.listen);
  }

  show({ labels }) {
    this.labels = labels;
    this.button.textContent = labels.paste;
  }

  close() {
    document.removeEventListener("paste", this.listen);
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
      this.said.textContent = this.labels.none;
    } catch {
      this.said.textContent = this.labels.refused; // no permission, or no such function without HTTPS
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
      this.said.textContent = "";
      this.component.setStateValue("picture", canvas.toDataURL("image/png"));
    } catch {
      this.said.textContent = this.labels.damaged;
    }
  }
}
