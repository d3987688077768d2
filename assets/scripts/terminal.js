// The live page's screen: one figure with a shared time axis, the ladder and the call, all drawn from the same step.
// Python gives the layout, the styles and the words (core/figures/terminal.py, pages/markets/terminal.py); this adds the arrays.

const PRICE_ROWS = 23;
const FIT_ROWS = 128; // rows that the ladder is fitted to, once
const A_THIRD_EACH = Math.log(3); // log-loss of saying a third each
const HOP = 0.05; // share of the span by which the view moves on: until then new rows fill the room at its right
const SNAPSHOT = 1;
const NOT_RUNNING = 4404; // the server's word for a feed that was stopped meanwhile
const READ_EVERY = 4; // frames after which the server is told how many were read; it lets eight go unread

let plots = null; // live_plot.js, once it is loaded: plotly, and the page's colours as a template

class Terminal {
  constructor(parent, data, paint) {
    this.parent = parent;
    this.lib = data;
    this.paint = paint;
    this.store = new data.MarketData();
    this.follow = true;
    this.root = element("div", "terminal");
    this.root.terminal = this;
    this.strip = element("dl", "stat-strip terminal-strip");
    this.tools = element("div", "terminal-tools");
    this.top = element("div", "terminal-top");
    this.top.append(this.strip, this.tools);
    this.notice = element("p", "terminal-notice");
    this.notice.hidden = true;
    this.main = element("div", "terminal-main");
    this.chart = element("div", "terminal-chart");
    this.heat = new paint.Heat(element("canvas", "terminal-heat"));
    this.plot = element("div", "terminal-plot");
    this.live = element("button", "terminal-live");
    this.live.type = "button";
    this.live.hidden = true;
    this.live.addEventListener("click", () => this.goLive());
    this.over = element("canvas", "terminal-over");
    this.legend = element("p", "terminal-legend");
    this.chart.append(this.heat.canvas, this.plot, this.over, this.live);
    this.map = element("canvas", "terminal-map");
    this.map.addEventListener("pointerdown", (event) => this.seek(event));
    this.ladder = element("table", "terminal-ladder");
    this.side = element("section", "terminal-call");
    this.help = element("dialog", "terminal-help");
    this.spoken = element("p", "terminal-spoken");
    this.spoken.setAttribute("aria-live", "polite");
    this.tape = element("section", "terminal-tape");
    this.main.append(this.chart, this.legend, this.ladder, this.side);
    this.root.append(this.top, this.notice, this.map, this.main, this.tape, this.help, this.spoken);
    parent.append(this.root);
    this.root.tabIndex = 0;
    this.resizer = new ResizeObserver(() => this.resize());
    this.resizer.observe(this.chart);
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.onVisible = () => document.hidden || this.request();
    document.addEventListener("visibilitychange", this.onVisible);
    this.frames = { drawn: 0, axes: 0 }; // how often the screen was drawn, and its axes
    this.pointer = null; // where the crosshair is, in pixels of the chart
    this.ruler = null; // {from, to} of a measurement, in data
  }

  // New choices of the reader, or the page run again.
  configure(config, channel) {
    const before = this.config;
    this.config = config;
    this.channel = channel;
    this.format = formats(config);
    if (before?.market !== config.market) {
      this.store.clear();
      this.fitted = null;
      this.follow = true;
    }
    if (before?.span !== config.span) this.follow = true;
    if (!before || before.head !== config.head || before.locale !== config.locale) this.buildSide();
    if (config.frame) this.receive(Uint8Array.from(atob(config.frame), (letter) => letter.charCodeAt(0)).buffer);
    else if (before?.address !== config.address) this.connect();
    this.live.textContent = config.labels.live;
    this.buildTools();
    this.help.innerHTML = `<h3>${config.labels.keys}</h3><dl>${config.keys.map(([k, t]) => `<dt>${k}</dt><dd>${t}</dd>`).join("")}</dl>`;
    this.look = this.figureLook = null;
    this.request();
  }

  buildTools() {
    const { labels, presenting } = this.config;
    const tools = presenting
      ? [["M3 3 13 13M13 3 3 13", labels.leave, () => this.present(false)]]
      : [
          ["M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4", labels.fullScreen, () => this.fullScreen()],
          ["M2 3h12v8H2zM5 14h6M8 11v3", labels.present, () => this.present(true)],
          ["M5.5 6a2.5 2.5 0 1 1 3.5 2.2q-1 .5-1 1.8M8 13v.5", labels.help, () => this.toggleHelp()],
        ];
    this.tools.replaceChildren(
      ...tools.map(([icon, name, act]) => {
        const button = element("button", "terminal-tool");
        Object.assign(button, { type: "button", title: name });
        button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${icon}"/></svg>`;
        button.setAttribute("aria-label", name);
        button.addEventListener("click", act);
        return button;
      }),
    );
    const colour = ({ marker, line }) => marker?.color ?? line?.color;
    this.legend.replaceChildren(
      ...this.config.figure.traces.filter(({ name, showlegend }) => name && showlegend !== false).map((trace) => {
        const item = element("span", "");
        item.style.setProperty("--colour", colour(trace));
        item.textContent = trace.name;
        return item;
      }),
    );
    this.tape.innerHTML = "<h3></h3><ol></ol>";
    put(this.tape.querySelector("h3"), labels.tape);
  }

  // -- the stream -----------------------------------------------------------------------------------------------------

  connect() {
    this.socket?.close();
    const address = new URL(this.config.address, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let read = 0;
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") return this.message(JSON.parse(data));
      this.receive(data);
      read += 1;
      if (read % READ_EVERY === 0 && socket.readyState === WebSocket.OPEN) socket.send(String(read));
    };
    socket.onopen = () => {
      this.failures = 0;
      this.root.dataset.stream = "open";
    };
    socket.onclose = (event) => {
      if (this.closed || this.socket !== socket) return;
      this.root.dataset.stream = "closed";
      if (event.code === NOT_RUNNING) return this.command("rejoin", null); // any command runs the page, which starts the feed
      this.failures = (this.failures ?? 0) + 1;
      this.say(this.config.labels.disconnected);
      if (event.code === 4403 || this.failures >= 3) return this.channel.setTriggerValue("fallback", Date.now());
      setTimeout(() => this.socket === socket && !this.closed && this.connect(), 500 * 2 ** this.failures);
    };
  }

  receive(buffer) {
    const frame = this.lib.decode(buffer);
    const anew = this.store.take(frame);
    if (anew) this.heat.forget();
    if (anew && frame.kind !== SNAPSHOT) this.follow = true; // a jump clears the view
    this.arrived = Date.now();
    this.root.dataset.step = String(this.store.step);
    this.request();
  }

  message({ status, text, alert }) {
    if (alert) return this.alert(alert);
    this.store.status = status;
    this.say(text);
    this.request();
  }

  // An alert: a line on the screen for a while, a short tone, a notification of the browser, as its rule asks.
  alert({ text, sound, notification }) {
    const line = element("p", "terminal-alert");
    line.setAttribute("role", "alert");
    line.textContent = text;
    this.notice.after(line);
    setTimeout(() => line.remove(), 20_000);
    if (sound) beep();
    if (notification && "Notification" in window) {
      if (Notification.permission === "granted") new Notification(document.title, { body: text });
      else if (Notification.permission === "default") Notification.requestPermission();
    }
  }

  say(text) {
    this.notice.textContent = text;
    this.notice.hidden = !text;
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  request() {
    if (this.waiting || this.closed || document.hidden) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    if (!this.config || !window.Plotly || this.closed) return;
    if (this.dragging) return;
    const started = performance.now();
    const row = this.store.newest;
    this.size = { width: this.chart.clientWidth, height: this.chart.clientHeight }; // read before anything is written
    this.ink = getComputedStyle(this.parent).color;
    if (row) {
      const [from, to] = this.range();
      this.shown = this.store.between(from, to);
      this.traded = this.store.tradesBetween(from, to);
      this.format.setTick(this.store.tick);
      this.tick = this.store.tick * this.grouping();
      this.profile = this.lib.volumeProfile(this.traded, from, to, this.tick);
      this.drawFigure(from, to);
      this.drawMap(row);
      this.drawTape();
      this.drawLadder(row);
      this.drawCall(row);
      this.announce(row);
    }
    this.drawStrip(row);
    const took = performance.now() - started;
    this.frames.drawn += 1;
    Object.assign(this.root.dataset, {
      drawn: String(this.frames.drawn),
      drawnStep: String(this.store.step),
      drawMs: took.toFixed(1),
      latencyMs: this.store.receivedMs ? String(Math.round(Date.now() - this.store.receivedMs)) : "",
    });
  }

  // Ticks that a price row covers: as many as the reader chose, or as fit the books of the first rows here, and once more those of
  // the first whole window; kept from then on.
  grouping() {
    if (this.config.grouping) return this.config.grouping;
    const { tick, rows } = this.store;
    const count = Math.min(rows.length, FIT_ROWS);
    if (this.fitted?.tick !== tick || (this.fitted.count < count && count === FIT_ROWS)) {
      this.fitted = { tick, count, group: this.lib.fittingGroup(rows.slice(-count), tick, PRICE_ROWS) };
    }
    return this.fitted.group;
  }

  range() {
    // A held view whose rows are no longer kept shows the newest again.
    if (!this.follow && this.kept && this.kept[1] < this.store.rows[0].time) this.goLive();
    if (!this.follow && this.kept && this.kept[0] > this.store.newest.time) this.goLive();
    if (!this.follow && this.kept) return this.kept;
    const span = this.config.span * 1000;
    const hop = HOP * span;
    const to = (Math.floor(this.store.newest.time / hop) + 1) * hop;
    return [to - span, to];
  }

  drawStrip(row) {
    const { labels } = this.config;
    const state = this.config.states[this.store.status] ?? "";
    const values = [[labels.status, this.statusText(state), this.config.tones[this.store.status] ?? "plain"]];
    values.push([labels.symbol, this.config.symbol]);
    if (row) {
      const [ask, , bid] = row.levels;
      const bids = sum(row.levels, 3);
      const asks = sum(row.levels, 1);
      const { since, delta, trades } = this.store.flow();
      values.push([labels.mid, this.format.mid(row.mid)]);
      values.push([labels.spread, `${this.format.number(((ask - bid) / row.mid) * 1e4, 3)} ${labels.bps}`]);
      values.push([labels.imbalance, this.format.percent((bids - asks) / (bids + asks))]);
      values.push([fillIn(labels.delta, { time: this.format.time(since) }), trades ? this.format.signed(delta) : labels.noTrades]);
      values.push([labels.time, this.format.time(row.time)]);
      values.push([labels.step, this.format.number(this.store.step, 0)]);
      if (!this.config.known) values.push([labels.training, labels.notTraining, "warning"]);
    }
    fill(
      this.strip,
      values.map(([name, value, tone = "plain"]) => [`stat stat-${tone}`, name, value]),
    );
  }

  statusText(state) {
    if (this.config.statusNames[this.store.status] === "warming") return state.replace("{done}", this.store.warm);
    return this.store.provisional ? `${state} · ${this.config.labels.provisional}` : state;
  }

  drawFigure(from, to) {
    const rows = this.shown;
    this.column = Math.max(250, Math.ceil((to - from) / 240 / 250) * 250);
    this.lines = { ask: this.lib.line(rows, (row) => row.levels[0]), bid: this.lib.line(rows, (row) => row.levels[2]) };
    const predicted = rows.filter((row) => row.predicted);
    for (const head of this.config.heads) this.lines[`signal-${head}`] = this.lib.line(predicted, (row) => signal(row, head));
    this.lines.delta = this.lib.volumeDelta(this.traded, from, to, this.column);
    const held = !this.follow && this.keptPrices;
    const [low, high] = priceRange(rows) ?? [0, 1];
    this.prices = held || this.paint.steady(this.prices, low, high, 0.6);
    this.deltas = this.paint.steady(this.deltas, Math.min(0, ...this.lines.delta.y), Math.max(0, ...this.lines.delta.y), 0.3);
    const look = JSON.stringify([from, to, this.prices, this.deltas, this.size, this.ink]);
    if (look === this.look && this.drawnStep === this.store.step) return;
    if (look !== this.look) this.drawAxes(from, to);
    [this.look, this.drawnStep] = [look, this.store.step];
    this.drawHeat();
    this.drawOver();
  }

  // Panes, axes, titles and legend, by plotly; what they show is painted over and under them. Where only ranges have changed,
  // plotly is asked for no more than these: for a whole figure it takes about ten times as long.
  drawAxes(from, to) {
    const tickformat = `,.${this.format.priceDigits()}f`;
    const narrow = matchMedia("(max-width: 1180px)").matches;
    const look = JSON.stringify([this.size, this.ink, tickformat, narrow]);
    const ticks = this.config.zone === "UTC" ? {} : timeTicks(from, to, this.size.width / 110, this.format);
    const xaxis = { range: [from, to].map(utc), autorange: false, ...ticks };
    const ranges = { yaxis: this.prices, yaxis3: this.deltas };
    this.frames.axes += 1;
    if (look === this.figureLook) {
      const changes = { "xaxis.range": xaxis.range };
      for (const name in ticks) changes[`xaxis.${name}`] = ticks[name];
      const shown = this.plot._fullLayout; // a drag changes it too
      for (const name in ranges) if (String(shown[name].range) !== String(ranges[name])) changes[`${name}.range`] = [...ranges[name]];
      window.Plotly.relayout(this.plot, changes);
      return;
    }
    this.figureLook = look;
    const { traces, layout } = structuredClone(this.config.figure);
    for (const trace of traces) [trace.x, trace.y] = [[null], [null]];
    Object.assign(layout.xaxis, xaxis);
    for (const name in ranges) Object.assign(layout[name], { range: [...ranges[name]], autorange: false });
    layout.yaxis.tickformat = tickformat;
    layout.template = plots.merge(plots.theme(this.parent), layout.template ?? {});
    layout.separators = plots.separators(this.config.locale);
    if (narrow) layout.showlegend = false; // the one in HTML takes less room
    Object.assign(layout, this.size);
    window.Plotly.react(this.plot, traces, layout, this.plotConfig());
    this.listen();
  }

  // Everything that comes in hundreds is drawn onto a canvas over the figure, by the figure's axes and in its styles.
  drawOver() {
    const frame = this.frame();
    if (!frame) return;
    const pen = this.prepare(this.over);
    const { pane, x, y, left, right } = frame;
    pen.save();
    pen.beginPath();
    pen.rect(pane.left, pane.top, pane.width, pane.height);
    pen.clip();
    this.drawMarks(pen, frame);
    this.drawLines(pen, frame, "y");
    if (!this.config.footprint) this.drawTrades(pen, x, y, left, right);
    this.drawCalls(pen, x, y);
    if (this.config.footprint) this.drawFootprint(pen, frame); // over the marks, so that its numbers can be read
    pen.restore();
    pen.save();
    pen.beginPath();
    pen.rect(pane.left, pane.top + pane.height, pane.width, frame.whole.bottom - pane.top - pane.height);
    pen.clip();
    this.drawLines(pen, frame, "y2");
    this.paint.drawBars(pen, this.lines.delta, 0.8 * this.column, this.config.colours, x, frame.axis("y3"));
    pen.restore();
    this.drawCrosshair(pen, frame);
    this.drawRuler(pen, frame);
  }

  // The lines of one pane, but those that the legend has switched off.
  drawLines(pen, frame, pane) {
    const off = new Set(this.plot._fullData.filter(({ visible }) => visible === "legendonly").map(({ meta }) => meta));
    for (const trace of this.config.figure.traces) {
      const points = this.lines[trace.meta];
      if (!points || !trace.line || (trace.yaxis ?? "y") !== pane || off.has(trace.meta)) continue;
      this.paint.drawLine(pen, points, trace, frame.x, frame.axis(pane));
    }
  }

  drawTrades(pen, x, y, left, right) {
    const bins = this.lib.binTrades(this.store.tradesBetween(left, right), left, right, this.column, this.tick);
    this.bins = bins;
    const size = (bin) => bin.bought + bin.sold + bin.unknown;
    const largest = Math.max(...bins.map(size), 1e-12);
    const { colours } = this.config;
    pen.globalAlpha = 0.55;
    pen.strokeStyle = "white";
    pen.lineWidth = 0.5;
    for (const bin of bins) {
      pen.fillStyle = bin.bought > bin.sold ? colours.up : bin.sold > bin.bought ? colours.down : colours.none;
      pen.beginPath();
      pen.arc(x(bin.time), y(bin.price), 1.5 + 9 * Math.sqrt(size(bin) / largest), 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drawFootprint(pen, frame) {
    this.bins = null;
    this.footprint = this.trades.footprint(this.lib, this.store.tradesBetween(frame.left, frame.right), frame, this.tick);
    const style = getComputedStyle(this.root);
    this.trades.drawFootprint(pen, frame, this.footprint, this.format, this.config.colours, { family: style.fontFamily, colour: style.color });
  }

  drawTape() {
    this.tape.hidden = !this.store.trades.length;
    const { top, bottom } = this.tape.getBoundingClientRect();
    if (top > window.innerHeight || bottom < 0) return; // out of sight
    this.trades.drawTape(this.tape.lastChild, this.store.trades, this.format, this.config.labels);
  }

  drawCalls(pen, x, y) {
    const head = this.config.head;
    const { marks } = this.config;
    let last = -Infinity;
    let kept = "";
    for (const row of this.shown) {
      if (!row.predicted || row.calls[head] === 1) continue;
      const kind = this.lib.verdict(row, head);
      const at = x(row.time);
      const same = `${kind}${row.calls[head]}`;
      if (same === kept && at - last < 4) continue; // marks of the same kind over one another
      [last, kept] = [at, same];
      const half = marks[kind].size / 2;
      const up = row.calls[head] === 2 ? -1 : 1;
      const top = y(row.mid);
      pen.beginPath();
      pen.moveTo(at, top + up * half);
      pen.lineTo(at - half, top - up * half);
      pen.lineTo(at + half, top - up * half);
      pen.closePath();
      pen.lineWidth = kind === "pending" ? 1.2 : 0.6;
      pen.strokeStyle = kind === "pending" ? marks[kind].color : "white";
      pen.fillStyle = marks[kind].color;
      if (kind !== "pending") pen.fill();
      pen.stroke();
    }
  }

  // Lines through all panes at the pointer, and under it the time, the price and what rests or was traded there.
  drawCrosshair(pen, { pane, whole, x, price, time }) {
    if (!this.pointer || this.dragging) return;
    const [px, py] = this.pointer;
    if (px < pane.left || px > pane.left + pane.width || py < whole.top || py > whole.bottom) return;
    const text = getComputedStyle(this.parent).getPropertyValue("--st-text-color") || "#888";
    pen.strokeStyle = text;
    pen.lineWidth = 0.6;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(px, whole.top);
    pen.lineTo(px, whole.bottom);
    pen.moveTo(pane.left, py);
    pen.lineTo(pane.left + pane.width, py);
    pen.stroke();
    pen.setLineDash([]);
    if (py > pane.top + pane.height) return;
    const at = time(px);
    const row = this.store.rows[Math.max(0, this.store.indexOf(at + 1) - 1)];
    const level = price(py);
    const words = [this.format.time(at), this.format.price(level)];
    if (row && at - row.time < 250) {
      const resting = this.restingAt(row, level);
      if (resting) words.push(`${this.config.labels.size} ${this.format.significant(resting)}`);
    }
    const bin = this.bins?.find((one) => Math.abs(x(one.time) - px) < 6 && Math.abs(one.price - level) <= this.tick);
    if (bin) {
      words.push(
        fillIn(this.config.labels.bin, {
          bought: this.format.significant(bin.bought),
          sold: this.format.significant(bin.sold),
          count: this.format.number(bin.count, 0),
        }),
      );
    }
    this.label(pen, words.join(" · "), Math.min(px + 8, pane.left + pane.width - 10), py - 10, pane);
  }

  restingAt(row, level) {
    const wanted = Math.round(level / this.tick);
    let total = 0;
    for (let i = 0; i < 40; i += 2) if (this.lib.priceRow(row.levels[i], this.tick, i % 4 ? -1 : 1) === wanted) total += row.levels[i + 1];
    return total;
  }

  drawRuler(pen, { pane, x, y }) {
    if (!this.ruler) return;
    const { from, to } = this.ruler;
    const [x0, y0, x1, y1] = [x(from.time), y(from.price), x(to.time), y(to.price)];
    pen.fillStyle = this.config.colours.line;
    pen.globalAlpha = 0.15;
    pen.fillRect(x0, y0, x1 - x0, y1 - y0);
    pen.globalAlpha = 1;
    const move = to.price - from.price;
    const words = `${this.format.signed(move)} · ${this.format.number((move / from.price) * 1e4, 2)} ${this.config.labels.bps} · ${this.format.number((to.time - from.time) / 1000, 1)} s`;
    this.label(pen, words, x1 + 6, y1, pane);
  }

  label(pen, text, left, top, pane) {
    pen.font = `12px ${getComputedStyle(this.root).fontFamily}`;
    const width = pen.measureText(text).width + 10;
    const at = Math.max(pane.left, Math.min(left, pane.left + pane.width - width));
    pen.fillStyle = getComputedStyle(this.parent).getPropertyValue("--st-background-color") || "#fff";
    pen.globalAlpha = 0.88;
    pen.fillRect(at, top - 15, width, 19);
    pen.globalAlpha = 1;
    pen.fillStyle = getComputedStyle(this.parent).getPropertyValue("--st-text-color") || "#000";
    pen.fillText(text, at + 5, top - 1);
  }

  // The panes in pixels, and the way from data to pixels and back.
  frame() {
    const full = this.plot._fullLayout;
    if (!full?.xaxis || !full?.yaxis) return null;
    const { xaxis, yaxis, yaxis3 } = full;
    const left = xaxis.r2l(xaxis.range[0]);
    const right = xaxis.r2l(xaxis.range[1]);
    const [low, high] = yaxis.range;
    const pane = { left: xaxis._offset, top: yaxis._offset, width: xaxis._length, height: yaxis._length };
    return {
      pane,
      whole: { top: pane.top, bottom: yaxis3._offset + yaxis3._length },
      left,
      right,
      low,
      high,
      x: (time) => pane.left + ((time - left) / (right - left)) * pane.width,
      y: (price) => pane.top + ((high - price) / (high - low)) * pane.height,
      axis: (name) => {
        const { _offset, _length, range } = full[name.replace("y", "yaxis")];
        return (value) => _offset + ((range[1] - value) / (range[1] - range[0])) * _length;
      },
      time: (px) => left + ((px - pane.left) / pane.width) * (right - left),
      price: (py) => high - ((py - pane.top) / pane.height) * (high - low),
    };
  }

  // A canvas over the chart, cleared, in CSS pixels.
  prepare(canvas, width = this.size.width, height = this.size.height) {
    const ratio = window.devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  // The whole recording's mid with the playhead; a press seeks.
  drawMap(row) {
    const { minimap } = this.config;
    this.map.hidden = !minimap;
    if (!minimap) return;
    const width = this.map.clientWidth;
    if (!width) return; // a presentation hides it
    const height = this.map.clientHeight;
    const pen = this.drawMids(minimap, width, height);
    const at = ((row.time - minimap.from) / (minimap.to - minimap.from)) * width;
    pen.fillStyle = this.config.colours.line;
    pen.fillRect(at - 1, 0, 2, height);
    pen.globalAlpha = 0.12;
    pen.fillRect(0, 0, at, height);
    pen.globalAlpha = 1;
    this.map.dataset.share = (at / width).toFixed(4);
  }

  // The map's line, painted once and kept.
  drawMids(minimap, width, height) {
    const look = JSON.stringify([width, height, minimap.from, minimap.mids.length, this.ink]);
    if (look !== this.mapLook) {
      this.mapLook = look;
      this.mids = document.createElement("canvas");
      const pen = this.prepare(this.mids, width, height);
      const [low, high] = [Math.min(...minimap.mids), Math.max(...minimap.mids)];
      pen.strokeStyle = this.config.colours.none;
      pen.lineWidth = 1;
      pen.beginPath();
      minimap.mids.forEach((mid, i) => {
        const px = (i / (minimap.mids.length - 1)) * width;
        pen.lineTo(px, height - 2 - ((mid - low) / (high - low || 1)) * (height - 4));
      });
      pen.stroke();
    }
    const pen = this.prepare(this.map, width, height);
    pen.drawImage(this.mids, 0, 0, width, height);
    return pen;
  }

  seek(event) {
    const { minimap } = this.config;
    const box = this.map.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    this.command("seek", Math.round((share * (minimap.to - minimap.from)) / 1000));
  }

  command(name, value) {
    this.channel.setTriggerValue("command", { name, value, at: Date.now() });
  }

  // Horizontal lines of the reader, and the volume profile's point of control, value area and VWAP.
  drawMarks(pen, { pane, y }) {
    const level = (price, dash) => {
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(pane.left, y(price));
      pen.lineTo(pane.left + pane.width, y(price));
      pen.stroke();
    };
    pen.save();
    pen.strokeStyle = pen.fillStyle = this.config.colours.line;
    pen.lineWidth = 1;
    for (const price of this.config.lines) level(price, []);
    if (this.config.profile && this.profile) {
      const { poc, vwap, low, high } = this.profile;
      level(poc, [9, 9]);
      level(vwap, [3, 3]);
      pen.globalAlpha = 0.07;
      pen.fillRect(pane.left, y(high), pane.width, y(low) - y(high));
    }
    pen.restore();
  }

  drawHeat() {
    const frame = this.frame();
    const { contrast, cutoff, colours } = this.config;
    if (frame) this.heat.draw(this.store, frame, this.size, { tick: this.tick, contrast, cutoff, colours });
  }

  plotConfig() {
    const { locale } = this.config;
    if (this.plotOptions?.locale === locale) return this.plotOptions;
    const locales = { [locale]: { dictionary: {}, format: plots.dateFormat(locale) } };
    this.plotOptions = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false, locale, locales };
    return this.plotOptions;
  }

  listen() {
    if (this.listening) return;
    this.listening = true;
    this.plot.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.plot.on("plotly_relayout", (change) => this.panned(change));
    this.plot.addEventListener("pointerdown", () => (this.dragging = true), { capture: true });
    window.addEventListener("pointerup", () => {
      if (!this.dragging) return;
      this.dragging = false;
      this.request();
    });
    this.plot.on("plotly_relayouting", () => {
      this.drawHeat();
      this.drawOver();
    });
    this.chart.addEventListener("pointermove", (event) => this.track(event));
    this.chart.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.drawOver();
    });
    this.chart.addEventListener("dblclick", (event) => this.toggleLine(event));
  }

  track(event) {
    const box = this.chart.getBoundingClientRect();
    this.pointer = [event.clientX - box.left, event.clientY - box.top];
    if (this.measuring) {
      const frame = this.frame();
      this.ruler = { from: this.measuring, to: { time: frame.time(this.pointer[0]), price: frame.price(this.pointer[1]) } };
    }
    if (!this.crossing) {
      this.crossing = true;
      requestAnimationFrame(() => {
        this.crossing = false;
        this.drawOver();
      });
    }
  }

  // A line at this price, or away with the one that is there; the page keeps it in the link.
  toggleLine(event) {
    const frame = this.frame();
    if (!frame) return;
    const box = this.chart.getBoundingClientRect();
    const price = frame.price(event.clientY - box.top);
    const near = (frame.high - frame.low) / 60;
    const { lines } = this.config;
    const hit = lines.find((line) => Math.abs(line - price) < near);
    const rounded = Number((Math.round(price / this.tick) * this.tick).toPrecision(10));
    this.command("lines", hit === undefined ? [...lines, rounded] : lines.filter((line) => line !== hit));
  }

  wheel(event) {
    event.preventDefault();
    const factor = Math.exp(event.deltaY * 0.0015);
    const full = this.plot._fullLayout;
    if (event.shiftKey) {
      const [low, high] = full.yaxis.range;
      const middle = (low + high) / 2;
      this.keptPrices = [middle - ((high - low) / 2) * factor, middle + ((high - low) / 2) * factor];
      this.kept = this.range();
      this.follow = false;
    } else {
      const [from, to] = this.range();
      const box = this.plot.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left - full.xaxis._offset) / full.xaxis._length));
      const at = from + share * (to - from);
      const span = Math.min(3.6e6, Math.max(5_000, (to - from) * factor));
      this.kept = [at - share * span, at + (1 - share) * span];
      this.follow = false;
    }
    this.moved();
  }

  panned(change) {
    if (!("xaxis.range[0]" in change) && !("yaxis.range[0]" in change)) return;
    const { xaxis, yaxis } = this.plot._fullLayout;
    this.kept = [xaxis.r2l(xaxis.range[0]), xaxis.r2l(xaxis.range[1])];
    this.keptPrices = [...yaxis.range];
    this.follow = false;
    this.moved();
  }

  moved() {
    this.live.hidden = this.follow;
    this.look = null;
    this.request();
  }

  goLive() {
    this.follow = true;
    this.keptPrices = null;
    this.moved();
  }

  // -- ladder ---------------------------------------------------------------------------------------------------------

  drawLadder(row) {
    const { tick } = this;
    const centre = Math.round(row.mid / tick);
    if (this.centre === undefined || Math.abs(centre - this.centre) > PRICE_ROWS / 4 || this.ladderTick !== tick) this.centre = centre;
    this.ladderTick = tick;
    const sizes = [new Map(), new Map()];
    for (let level = 0; level < 40; level += 4) {
      for (let side = 0; side < 2; side++) {
        const price = this.lib.priceRow(row.levels[level + 2 * side], tick, side ? -1 : 1);
        sizes[side].set(price, (sizes[side].get(price) ?? 0) + row.levels[level + 2 * side + 1]);
      }
    }
    const traded = this.profile?.sizes ?? new Map();
    const largest = Math.max(...sizes[0].values(), ...sizes[1].values());
    const most = Math.max(...traded.values(), 1e-12);
    const { labels } = this.config;
    if (!this.ladderRows) {
      this.ladder.innerHTML =
        `<caption><span></span> <button type="button"></button></caption><thead><tr><th scope="col"></th><th scope="col"></th><th scope="col"></th></tr></thead><tbody>` +
        `<tr><td class="traded"></td><th scope="row"></th><td class="size"></td></tr>`.repeat(PRICE_ROWS) +
        "</tbody>";
      this.ladderRows = [...this.ladder.querySelectorAll("tbody tr")];
      this.ladder.querySelector("button").addEventListener("click", () => {
        this.fitted = null;
        this.look = null;
        this.request();
      });
    }
    const heads = this.ladder.querySelectorAll("thead th");
    [labels.traded, labels.price, labels.size].forEach((text, i) => put(heads[i], text));
    const [title, fit] = this.ladder.caption.children;
    put(title, fillIn(labels.ladder, { step: this.format.price(tick) }));
    put(fit, labels.fit);
    fit.title = labels.fitHelp;
    fit.hidden = Boolean(this.config.grouping);
    for (let i = 0; i < PRICE_ROWS; i++) {
      const price = this.centre + Math.floor(PRICE_ROWS / 2) - i;
      const [asks, bids, volume] = [sizes[0].get(price), sizes[1].get(price), traded.get(price)];
      const tr = this.ladderRows[i];
      const side = asks ? "ask" : bids ? "bid" : "none";
      if (tr.className !== side) tr.className = side;
      const [left, middle, right] = tr.children;
      put(left, volume ? this.format.significant(volume) : "");
      put(middle, this.format.price(price * tick));
      put(right, asks || bids ? this.format.significant(asks ?? bids) : "");
      share(right, (asks ?? bids ?? 0) / largest);
      share(left, (volume ?? 0) / most);
    }
  }

  // -- the call -------------------------------------------------------------------------------------------------------

  buildSide() {
    const { labels, classes } = this.config;
    this.side.innerHTML =
      `<h3></h3><p class="called"></p><p class="rule"></p><div class="bars">` +
      classes.map((name) => `<div class="bar"><span>${name}</span><i><b></b><u hidden></u></i><em></em></div>`).join("") +
      `</div><p class="uncallable"></p><h4></h4><dl class="score"></dl><p class="worse"></p><dl class="score value"></dl><p class="since"></p>`;
    put(this.side.querySelector("h3"), labels.callsAhead);
    put(this.side.querySelector("h4"), labels.scored);
  }

  drawCall(row) {
    const { head, rules, classes, labels } = this.config;
    const called = this.side.querySelector(".called");
    const rule = this.side.querySelector(".rule");
    const bars = this.side.querySelectorAll(".bar");
    if (!row.predicted) {
      put(called, labels.noPrediction);
      put(rule, labels.warming);
      bars.forEach((bar) => bar.classList.add("empty"));
    } else {
      const p = row.probabilities.subarray(3 * head, 3 * head + 3);
      const call = row.calls[head];
      const likeliest = p.indexOf(Math.max(...p));
      put(called, `${this.config.arrows[call]} ${classes[call]}`);
      called.dataset.call = String(call);
      put(rule, fillIn(call === likeliest ? labels.likeliest : labels.byThreshold, { share: this.format.percent(p[call]), likeliest: classes[likeliest] }));
      const beyond = []; // thresholds above 100 %, which no bar can show
      bars.forEach((bar, k) => {
        bar.classList.remove("empty");
        share(bar, p[k]);
        put(bar.querySelector("em"), this.format.percent(p[k]));
        // A moving class is called where its probability exceeds that of standing still times exp(-lean).
        const mark = bar.querySelector("u");
        const threshold = k === 1 ? null : p[1] * Math.exp(-rules[head]);
        mark.hidden = threshold === null || threshold > 1 || rules[head] === 0;
        if (threshold > 1 && rules[head] !== 0) beyond.push(fillIn(labels.uncallable, { call: classes[k], share: this.format.percent(threshold) }));
        if (threshold !== null) {
          mark.style.setProperty("--at", String(Math.min(1, threshold)));
          mark.title = fillIn(labels.threshold, { share: this.format.percent(threshold) });
        }
      });
      put(this.side.querySelector(".uncallable"), beyond.join(" "));
    }
    const score = this.store.scores[head];
    if (!score) return;
    fill(this.side.querySelector(".score"), [
      ["", fillIn(labels.recent, { count: this.format.number(score.recent, 0) }), score.recent ? `${this.format.number(score.recentMatthews, 2)} / ${this.format.number(score.recentNaiveMatthews, 2)}` : "–"],
      ["", fillIn(labels.all, { count: this.format.number(score.resolved, 0) }), score.resolved ? `${this.format.number(score.matthews, 2)} / ${this.format.number(score.naiveMatthews, 2)}` : "–"],
      ["", labels.logLoss, score.resolved ? `${this.format.number(score.logLoss, 2)} / ${this.format.number(score.naiveLogLoss, 2)}` : "–"],
    ]);
    put(this.side.querySelector(".worse"), score.logLoss > A_THIRD_EACH ? fillIn(labels.worse, { limit: this.format.number(A_THIRD_EACH, 2) }) : "");
    const fee = this.format.number(this.config.fee, 1);
    const count = this.format.number(score.trades, 0);
    fill(this.side.querySelector(".value"), [["", fillIn(labels.worth, { fee, count }), this.worth(score)]]);
    const apart = score.apart ? fillIn(labels.apart, { count: this.format.number(score.apart, 0), share: this.format.percent(score.apartAccuracy) }) : "";
    put(this.side.querySelector(".since"), [this.since(), apart].filter(Boolean).join(" "));
  }

  // A taker's mean result after the spread and the fee of two fills, with its interval.
  worth({ trades, result, reach }) {
    if (!trades) return "–";
    const after = (value) => `${value > 0 ? "+" : ""}${this.format.number(value, 1)}`;
    const net = result - 2 * this.config.fee;
    const interval = Number.isFinite(reach) ? ` (${after(net - reach)} – ${after(net + reach)})` : "";
    return `${after(net)}${interval} ${this.config.labels.bps}`;
  }

  // Since when the scores count, and what the last jump or outage leaves out of them.
  since() {
    const { labels } = this.config;
    const { rows, beganMs } = this.store;
    if (!beganMs) return "";
    const i = this.store.stretch;
    const [time, from, to] = [beganMs, rows[i - 1]?.time, rows[i].time].map((at) => at && this.format.time(at));
    return i > 0 && rows[i - 1].time >= beganMs ? fillIn(labels.sinceWithout, { time, from, to }) : fillIn(labels.since, { time });
  }

  // A changed call, at most every five seconds.
  announce(row) {
    if (!row.predicted) return;
    const call = row.calls[this.config.head];
    const now = performance.now();
    if (call === this.announced || now - (this.announcedAt ?? -Infinity) < 5000) return;
    this.announced = call;
    this.announcedAt = now;
    put(this.spoken, fillIn(this.config.labels.spoken, { call: this.config.classes[call] }));
  }

  // -- keys -----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.closed) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], [role=combobox], [role=slider]");
    if (typing) return;
    const tell = (name, value) => this.command(name, value);
    const acts = {
      " ": () => tell("play", null),
      "[": () => tell("slower", null),
      "]": () => tell("faster", null),
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      l: () => this.goLive(),
      f: () => this.fullScreen(),
      m: () => this.measure(),
      p: () => this.present(!this.config.presenting),
      "?": () => this.toggleHelp(),
    };
    if (this.config.presenting && !this.help.open) acts.Escape = () => this.present(false);
    for (const number of ["1", "2", "3", "4"]) acts[number] = () => tell("horizon", Number(number) - 1);
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  pan(share) {
    if (!this.store.newest) return;
    const [from, to] = this.range();
    this.kept = [from + share * (to - from), to + share * (to - from)];
    this.follow = false;
    this.moved();
  }

  // Begins a measurement at the pointer, ends the one under way, or takes the last one away.
  measure() {
    const frame = this.frame();
    if (this.measuring) this.measuring = null;
    else if (this.ruler) this.ruler = null;
    else if (frame && this.pointer) this.measuring = { time: frame.time(this.pointer[0]), price: frame.price(this.pointer[1]) };
    this.drawOver();
  }

  toggleHelp() {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  // Without controls, on the whole screen where the browser allows it; and back.
  present(wanted) {
    if (wanted) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
    this.command("present", wanted);
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.();
  }

  resize() {
    this.look = null; // the figure's look holds its size
    this.request();
  }

  close() {
    this.closed = true;
    this.socket?.close();
    this.resizer.disconnect();
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onVisible);
    window.Plotly?.purge(this.plot);
    this.root.remove();
  }
}

const terminals = new WeakMap();

export async function receive({ data: config, parentElement, setTriggerValue, setStateValue }) {
  const library = await import(new URL(config.data, location.origin).href);
  const paint = await import(new URL(config.paint, location.origin).href);
  plots ??= await import(new URL(config.plots, location.origin).href);
  await plots.loadPlotly(config.plotly);
  const trades = await import(new URL(config.trades, location.origin).href);
  if (!terminals.has(parentElement)) terminals.set(parentElement, new Terminal(parentElement, library, paint));
  const terminal = terminals.get(parentElement);
  terminal.trades = trades;
  terminal.configure(config, { setTriggerValue, setStateValue });
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected || terminals.get(parentElement) !== terminal) return;
      terminals.delete(parentElement);
      terminal.close();
    });
}

function beep() {
  try {
    const context = new AudioContext();
    const tone = context.createOscillator();
    const volume = context.createGain();
    volume.gain.value = 0.08;
    tone.frequency.value = 660;
    tone.connect(volume).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + 0.25);
    tone.onended = () => context.close();
  } catch {
    // a browser that has not been clicked yet plays nothing
  }
}

// -- small parts --------------------------------------------------------------------------------------------------------

function element(tag, className) {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}

function put(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

// How far a bar reaches, in whole thousandths: unchanged ones cost nothing.
function share(node, value) {
  const text = value.toFixed(3);
  if (node.style.getPropertyValue("--share") !== text) node.style.setProperty("--share", text);
}

function fillIn(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// A definition list from [class, name, value], its nodes kept where their number stays the same.
function fill(list, values) {
  while (list.children.length > values.length) list.lastChild.remove();
  while (list.children.length < values.length) {
    const item = element("div", "stat");
    item.append(document.createElement("dt"), document.createElement("dd"));
    list.append(item);
  }
  values.forEach(([className, name, value], i) => {
    const item = list.children[i];
    if (className && item.className !== className) item.className = className;
    put(item.firstChild, name);
    put(item.lastChild, value);
  });
}

// A time for plotly, which takes a bare number as the browser's own zone's.
function utc(ms) {
  return new Date(ms).toISOString().slice(0, -1);
}

function sum(levels, first) {
  let total = 0;
  for (let i = first; i < 40; i += 4) total += levels[i];
  return total;
}

function signal(row, head) {
  return row.probabilities[3 * head + 2] - row.probabilities[3 * head];
}

function priceRange(rows) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    low = Math.min(low, row.levels[2]);
    high = Math.max(high, row.levels[0]);
  }
  const newest = rows.at(-1)?.levels;
  if (!newest) return undefined;
  low = Math.min(low, newest[18]);
  high = Math.max(high, newest[16]);
  const { deep } = rows.at(-1); // as far as the deeper levels reach, but no more than doubling the pane
  const [half, levels] = [(high - low) / 2, deep ? deep.filter(Number.isFinite).length / 4 : 0];
  if (levels) [low, high] = [Math.max(low - half, Math.min(low, deep[4 * levels - 2])), Math.min(high + half, Math.max(high, deep[4 * levels - 4]))];
  const room = 0.02 * (high - low) || high * 1e-5;
  return [low - room, high + room];
}

// Ticks of a time axis in the reader's zone, which plotly's dates do not know: `count` at most, the first with its date.
function timeTicks(from, to, count, format) {
  const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const every = 1000 * (seconds.find((one) => (to - from) / 1000 / one <= count) ?? 3600);
  const tickvals = [];
  for (let at = Math.ceil(from / every) * every; at <= to; at += every) tickvals.push(at);
  return { tickmode: "array", tickvals, ticktext: tickvals.map((at, i) => format.time(at) + (i ? "" : `<br>${format.date(at)}`)) };
}

function formats(config) {
  const cache = new Map();
  const formatter = (key, options) => {
    if (!cache.has(key)) cache.set(key, new Intl.NumberFormat(config.locale, options));
    return cache.get(key);
  };
  const fixed = (digits) => formatter(`f${digits}`, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const digits = (step) => {
    for (let d = 0; d < 9; d++) if (step > 0 && Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-6) return d;
    return 9;
  };
  let [priceDigits, midDigits] = [2, 3];
  const clock = new Intl.DateTimeFormat(config.locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false, timeZone: config.zone });
  const day = new Intl.DateTimeFormat(config.locale, { dateStyle: "medium", timeZone: config.zone });
  return {
    setTick: (tick) => ([priceDigits, midDigits] = [digits(tick), digits(tick / 2)]), // a mid lies on half ticks
    priceDigits: () => priceDigits,
    price: (value) => fixed(priceDigits).format(value),
    mid: (value) => fixed(midDigits).format(value),
    number: (value, places) => (Number.isFinite(value) ? fixed(places).format(value) : "–"),
    percent: (value) => formatter("p", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(value),
    short: (value) => formatter("c", { maximumSignificantDigits: 2, notation: "compact" }).format(value),
    significant: (value) => formatter("s", { maximumSignificantDigits: 3 }).format(value),
    signed: (value) => formatter("d", { maximumSignificantDigits: 4, signDisplay: "exceptZero" }).format(value),
    time: (value) => clock.format(value),
    date: (value) => day.format(value),
  };
}
