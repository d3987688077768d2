// A button that makes one PNG to share, in the browser: two pictures, an answer, sentences about it, the address.

const [WIDTH, HEIGHT] = [1200, 630]; // the shape in which links are previewed
const [MARGIN, PICTURE] = [40, 340];
const FONT = "'Source Sans', 'Source Sans Pro', sans-serif";
const views = new WeakMap();

export function receive(component) {
  const { parentElement, data } = component;
  let view = views.get(parentElement);
  if (!view) {
    view = { button: document.createElement("button") };
    view.button.className = "share-card";
    view.button.type = "button";
    view.button.addEventListener("click", () => save(view.data));
    parentElement.append(view.button);
    views.set(parentElement, view);
  }
  view.data = data;
  view.button.textContent = data.label;
  return () => {
    views.delete(parentElement);
    view.button.remove();
  };
}

async function save(data) {
  const canvas = await card(data);
  const link = document.createElement("a");
  link.href = canvas.toDataURL("image/png");
  link.download = "garment.png";
  link.click();
}

export async function card({ pictures, title, lines, name, link }) {
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  const context = canvas.getContext("2d");
  context.fillStyle = "#FFFFFF";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.textBaseline = "top";
  for (const [place, source] of pictures.entries()) {
    const image = new Image();
    image.src = source;
    await image.decode();
    const scale = PICTURE / Math.max(image.width, image.height);
    const [width, height] = [image.width * scale, image.height * scale];
    const left = MARGIN + place * (PICTURE + 20);
    context.drawImage(image, left + (PICTURE - width) / 2, MARGIN + (PICTURE - height) / 2, width, height);
  }
  const left = MARGIN + 2 * (PICTURE + 20);
  const y = write(context, title, left, MARGIN, 52, "#1B1F24", WIDTH - left - MARGIN);
  write(context, lines[0] ?? "", left, y + 10, 28, "#5B6470", WIDTH - left - MARGIN);
  let down = MARGIN + PICTURE + 24;
  for (const line of lines.slice(1)) {
    if (down < HEIGHT - 110) down = write(context, line, MARGIN, down, 26, "#1B1F24", WIDTH - 2 * MARGIN) + 4;
  }
  context.font = `20px ${FONT}`;
  context.fillStyle = "#5B6470";
  context.fillText(`${name}   ${link}`, MARGIN, HEIGHT - 50, WIDTH - 2 * MARGIN);
  context.fillStyle = "#2F7EC7";
  context.fillRect(0, HEIGHT - 12, WIDTH, 12);
  return canvas;
}

// Writes a text in lines no wider than so many pixels; returns where the next may begin.
function write(context, text, x, y, size, colour, width) {
  context.font = `${size > 40 ? 600 : 400} ${size}px ${FONT}`;
  context.fillStyle = colour;
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (!line || context.measureText(longer).width <= width) {
      line = longer;
      continue;
    }
    context.fillText(line, x, y);
    y += 1.25 * size;
    line = word;
  }
  context.fillText(line, x, y);
  return y + 1.25 * size;
}
