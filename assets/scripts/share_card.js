// A button that makes one PNG to share, in the browser: two pictures, an answer, sentences about it, the address.

import { element, mounted, save } from "./dom.js";

const [WIDTH, HEIGHT] = [1200, 630]; // the shape in which links are previewed
const [MARGIN, PICTURE] = [40, 340];
const FONT = "'Source Sans', 'Source Sans Pro', sans-serif";

export const receive = mounted((parent) => {
  const button = element("button", "share-card", parent);
  return {
    show(data) {
      button.textContent = data.label;
      button.onclick = async () => save((await card(data)).toDataURL("image/png"), "garment.png");
    },
    close: () => button.remove(),
  };
});

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
