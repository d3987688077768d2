// Pictures from the clipboard: a press of Ctrl+V anywhere on the page, or of the button, sends the picture to the server as a data
// URL. A picture larger than SIDE is made smaller first.

const SIDE = 1024;

const listeners = new WeakMap();

export function receive(component) {
  const { parentElement, data } = component;
  let paste = listeners.get(parentElement);
  if (!paste) {
    paste = new Paste(parentElement);
    listeners.set(parentElement, paste);
  }
  paste.send = (picture) => component.setStateValue("picture", picture);
  paste.name(data.labels);
  return () => {
    listeners.delete(parentElement);
    paste.end();
  };
}

class Paste {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "clipboard";
    this.button = document.createElement("button");
    this.button.type = "button";
    this.said = document.createElement("span");
    this.said.setAttribute("role", "status");
    this.root.append(this.button, this.said);
    parent.append(this.root);
    this.button.addEventListener("click", () => this.read());
    this.listen = (event) => this.pasted(event);
    document.addEventListener("paste", this.listen);
  }

  name(labels) {
    this.labels = labels;
    this.button.textContent = labels.paste;
  }

  end() {
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
      this.send(canvas.toDataURL("image/png"));
    } catch {
      this.said.textContent = this.labels.damaged;
    }
  }
}
