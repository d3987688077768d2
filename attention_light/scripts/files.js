// Files that a reader takes away from the attention view: its numbers, and the view itself.

const CRC = new Uint32Array(256).map((_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const TYPES = { float16: "<f2", float32: "<f4", float64: "<f8" };

// A file of numpy's format (NEP 1): its head is padded so that the numbers begin at a multiple of 64.
function npy(bytes, shape, type) {
  const head = `{'descr': '${TYPES[type]}', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
  const text = head + " ".repeat(63 - ((10 + head.length) % 64)) + "\n";
  const file = new Uint8Array(10 + text.length + bytes.length);
  file.set([0x93, 78, 85, 77, 80, 89, 1, 0, text.length & 255, text.length >> 8]);
  file.set(new TextEncoder().encode(text), 10);
  file.set(bytes, 10 + text.length);
  return file;
}

// A zip archive without compression, which numpy reads as .npz; `arrays` are [name, bytes, shape, type].
export function npz(arrays) {
  const parts = [];
  const entries = [];
  let offset = 0;
  for (const [name, bytes, shape, type] of arrays) {
    const file = npy(bytes, shape, type);
    const path = new TextEncoder().encode(`${name.replace(/[^\w.-]+/g, "_")}.npy`);
    const common = new DataView(new ArrayBuffer(26));
    common.setUint16(0, 20, true);
    common.setUint16(2, 0x800, true);
    common.setUint16(8, 0x21, true); // 1 January 1980, the earliest that the format knows
    common.setUint32(10, crc32(file), true);
    common.setUint32(14, file.length, true);
    common.setUint32(18, file.length, true);
    common.setUint16(22, path.length, true);
    const fields = new Uint8Array(common.buffer);
    parts.push(new Uint8Array([80, 75, 3, 4]), fields, path, file);
    const rest = new DataView(new ArrayBuffer(14));
    rest.setUint32(10, offset, true);
    entries.push(new Uint8Array([80, 75, 1, 2, 20, 0]), fields, new Uint8Array(rest.buffer), path);
    offset += 30 + path.length + file.length;
  }
  const size = entries.reduce((sum, one) => sum + one.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, arrays.length, true);
  end.setUint16(10, arrays.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return new Blob([...parts, ...entries, end.buffer], { type: "application/octet-stream" });
}

const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}

const inlined = (script) => script.replace(/^import .*\n/gm, "").replace(/^export /gm, "");

// A page of its own, joined from the view's scripts and style and the message, as `AttentionScene.html` joins it.
export async function page(message, parts, title, addresses, style) {
  const scripts = await Promise.all(addresses.map(async (address) => inlined(await (await fetch(address)).text())));
  const text =
    `<!doctype html><html><head><meta charset=utf-8><meta name=viewport content='width=device-width'><title>${escaped(title)}</title>` +
    `<style>${style}</style></head><body class=attention-page><div id=view></div><script type=module>\n${scripts.join("\n")}\n` +
    `mountText("${base64(message)}", ${JSON.stringify(parts.map((one) => one && base64(one)))});\n<\/script></body></html>`;
  return new Blob([text], { type: "text/html" });
}
