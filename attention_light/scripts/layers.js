// Layers of a scene: maps that came as weights, rows that are computed of queries and keys when they are asked for, and thinned maps
// until either is there.

let halves = null;
function float16(bits) {
  if (!halves) {
    halves = new Float32Array(65536);
    for (let i = 0; i < 65536; i++) {
      const [exponent, fraction] = [(i >> 10) & 31, i & 1023];
      const size = exponent ? (exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15)) : fraction * 2 ** -24;
      halves[i] = i & 0x8000 ? -size : size;
    }
  }
  return Float32Array.from(bits, (one) => halves[one]);
}

const VIEWS = { float16: Uint16Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array };

// The head of a message, and functions that read one of its arrays or files.
export function unpack(given) {
  const message = given.byteOffset % 8 ? given.slice() : given;
  const length = new DataView(message.buffer, message.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(message.subarray(4, 4 + length)));
  const base = message.byteOffset + 4 + length;
  const bytes = (place) => new Uint8Array(message.buffer, base + place.at, place.bytes);
  const read = (place) => {
    const View = VIEWS[place.type];
    const numbers = new View(message.buffer, base + place.at, place.bytes / View.BYTES_PER_ELEMENT);
    return place.type === "float16" ? float16(numbers) : numbers;
  };
  return { head, read, bytes };
}

export class Layer {
  // `fetchPart(number)` resolves to the message of a layer that stayed behind, or to null where nobody has it.
  constructor(entry, message, fetchPart) {
    Object.assign(this, entry, { fetchPart });
    [this.heads, this.rows, this.columns] = entry.shape;
    if (entry.thin) {
      this.thin = Object.fromEntries(Object.entries(entry.thin).map(([name, place]) => [name, message.read(place)]));
      this.thin.shape = entry.thin.light.shape;
    } else this.fill(entry, message);
  }

  fill(data, message) {
    this.data = data;
    this.bytes = message.bytes;
    if (data.weights) this.values = message.read(data.weights);
    else {
      for (const name of ["queries", "keys", "norms"]) this[name] = message.read(data[name]);
      this.bias = data.bias && message.read(data.bias);
      this.depth = data.queries.shape[2];
      this.share = this.heads / data.keys.shape[0]; // heads of queries that have the same keys
    }
  }

  get here() {
    return Boolean(this.data);
  }

  // Fetches the layer once; resolves to whether it is there.
  async come() {
    if (this.here) return true;
    this.coming ??= Promise.resolve(this.fetchPart?.(this.part)).catch(() => null);
    const message = await this.coming;
    if (message && !this.here) {
      const { head, ...rest } = unpack(message);
      this.fill(head, rest);
      this.memo = null;
    } else if (!message) [this.absent, this.coming] = [true, null];
    return this.here;
  }

  // What a query gives to each key. `head` is a number from 0, "mean" or, of the rollout, its own name.
  row(head, query) {
    if (!this.here) return this.thinRow(head, query);
    if (head !== "mean") return this.ofHead(head === "rollout" ? 0 : head, query);
    if (this.memo?.query !== query) {
      const shares = new Float32Array(this.columns);
      for (let h = 0; h < this.heads; h++) {
        const one = this.ofHead(h, query);
        for (let i = 0; i < shares.length; i++) shares[i] += one[i] / this.heads;
      }
      this.memo = { query, shares };
    }
    return this.memo.shares;
  }

  ofHead(h, query) {
    const at = h * this.rows + query;
    if (this.values) return this.values.subarray(at * this.columns, (at + 1) * this.columns);
    const shares = new Float32Array(this.columns);
    for (let key = 0; key < this.columns; key++) shares[key] = this.weight(h, query, key);
    return shares;
  }

  // One weight of queries and keys: the softmax's divisor came with them, as its logarithm.
  weight(h, query, key) {
    if (this.data.causal && key > query) return 0;
    const [q, k] = [(h * this.rows + query) * this.depth, (Math.floor(h / this.share) * this.columns + key) * this.depth];
    let score = this.bias ? this.bias[((h % this.data.bias.shape[0]) * this.rows + query) * this.columns + key] : 0;
    for (let i = 0; i < this.depth; i++) score += this.queries[q + i] * this.keys[k + i];
    return Math.exp(score - this.norms[h * this.rows + query]);
  }

  // What each query gives to a key.
  column(head, key) {
    return Float32Array.from({ length: this.rows }, (_, query) => {
      if (!this.here) return this.thinRow(head, query)[key];
      const heads = head === "mean" ? this.heads : 1;
      let sum = 0;
      for (let h = 0; h < heads; h++) {
        const one = heads > 1 ? h : head === "rollout" || head === "mean" ? 0 : head;
        sum += this.values ? this.values[(one * this.rows + query) * this.columns + key] : this.weight(one, query, key);
      }
      return sum / heads;
    });
  }

  thinRow(head, query) {
    const { light, queries, keys, shape } = this.thin;
    const at = (this.thinHead(head) * shape[1] + queries[query]) * shape[2];
    return Float32Array.from(keys, (block) => (light[at + block] / 255) ** 2);
  }

  thinHead(head) {
    return head === "mean" ? this.heads : head === "rollout" ? 0 : head;
  }

  // A whole map for a small square: [rows, columns, values].
  map(head) {
    if (this.thin) {
      const [, rows, columns] = this.thin.shape;
      const at = this.thinHead(head) * rows * columns;
      return [rows, columns, Float32Array.from(this.thin.light.subarray(at, at + rows * columns), (one) => (one / 255) ** 2)];
    }
    const area = this.rows * this.columns;
    const values = new Float32Array(area);
    for (let query = 0; query < this.rows; query++) values.set(this.row(head, query), query * this.columns);
    return [this.rows, this.columns, values];
  }

  // The arrays that came, by name: [name, bytes, shape, type].
  arrays() {
    const places = ["weights", "queries", "keys", "norms", "bias"].filter((name) => this.data?.[name]);
    return places.map((name) => [`${this.name}.${this.kind}${name === "weights" ? "" : `.${name}`}`, this.bytes(this.data[name]), this.data[name].shape, this.data[name].type]);
  }
}
