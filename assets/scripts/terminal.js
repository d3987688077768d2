// The live page's screen: the chart, the ladder and the call, all drawn from the same step of one stream.
// Python gives the words, the choices and the frames' schema (pages/markets/terminal.py, core/market/stream.py).

import { element, fillIn, save } from "../../attention_light/scripts/dom.js";
import { ReaderAlerts } from "./terminal_alert.js";
import { AnswerPanel } from "./terminal_answer.js";
import { Light } from "./terminal_light.js";
import { keep, kept } from "./kept.js";
import { mounted } from "./mounted.js";
import * as data from "./terminal_data.js";
import { DayStrip } from "./terminal_day.js";
import { Book } from "./terminal_depth.js";
import { formats } from "./terminal_formats.js";
import { Ladder } from "./terminal_ladder.js";
import { MiniMap } from "./terminal_map.js";
import { button, fill, mark, put } from "./terminal_parts.js";
import { bookKnown, quietFor, statusWords } from "./terminal_status.js";
import { Tape } from "./terminal_tape.js";

const SLEPT_MS = 150_000; // a page that nobody sees may be woken once a minute only
const NOT_RUNNING = 4404; // the server's word for a feed that was stopped meanwhile
const LATEST_MS = 10_000; // of what is said of the way from an exchange's message to its pixel
const PANES = new Set(); // terminals in small, which are moved through time together
const UNKNOWN = "–"; // in place of a value that no row has given yet
const READ_EVERY = 4; // frames after which the server is told how many were read; it lets eight go unread

class Terminal {
  constructor(parent, charts, Chart) {
    this.store = new data.MarketData();
    this.book = new Book(); // the newest row's bands
    this.root = element("div", "terminal", parent);
    this.root.terminal = this;
    const top = element("div", "terminal-top", this.root);
    this.strip = element("dl", "stat-strip terminal-strip", top);
    this.tools = element("div", "terminal-tools", top);
    this.notice = element("p", "terminal-notice", this.root);
    this.notice.hidden = true;
    this.light = new Light((text) => this.socket?.readyState === WebSocket.OPEN && this.socket.send(text));
    this.map = new MiniMap((second) => this.command("seek", second));
    this.day = new DayStrip((words) => put(this.under, words));
    this.root.append(this.map.root, this.day.root);
    const main = element("div", "terminal-main", this.root);
    const pane = element("div", "terminal-chart", main);
    const bar = element("div", "terminal-bar", pane);
    this.legend = element("p", "terminal-legend", bar);
    this.scale = element("p", "terminal-scale", bar);
    this.under = element("p", "terminal-under", bar);
    this.plot = element("div", "terminal-plot", pane);
    this.live = element("button", "terminal-live", pane);
    this.live.hidden = true;
    this.live.addEventListener("click", () => [this, ...PANES].forEach(({ chart }) => chart.returnToNewest()));
    this.ladder = new Ladder((place) => this.askWithout(place));
    this.answer = new AnswerPanel();
    this.tape = new Tape(() => this.request());
    pane.append(this.ladder.root);
    main.append(this.answer.root, this.tape.root);
    this.help = element("dialog", "terminal-help", this.root);
    this.spoken = element("p", "terminal-spoken", this.root);
    this.spoken.setAttribute("aria-live", "polite");
    this.alerts = new ReaderAlerts(this.root, this.store, (text) => this.sayAlert(text), () => this.buildTools());
    this.root.tabIndex = 0;
    const tell = {
      moved: () => {
        this.live.hidden = this.chart?.follow ?? true;
        this.request();
      },
      panned: (range) => PANES.has(this) && PANES.forEach(({ chart }) => chart !== this.chart && chart.goAlong(range)),
      pointed: (place) => this.drawUnder(place),
      scaled: (scale) => this.drawScale(scale),
      pressed: (price) => this.askWithout(Math.round(price / this.chart.tick)),
      framed: () => this.request(),
      lines: (lines) => this.keepLines(lines),
    };
    this.chart = new Chart(this.plot, charts, this, tell);
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.request(), { signal });
    window.addEventListener("popstate", () => location.pathname === new URL(this.address).pathname && location.reload(), { signal });
    this.drawn = 0;
    this.awake = Date.now();
    this.clock = setInterval(() => this.lookAtClock(), 1_000);
  }

  // New choices of the reader, or the page run again.
  show(config) {
    const before = this.config;
    this.config = config;
    if (config.small) PANES.add(this);
    mark(this.root, "data-small", config.small ? "yes" : "no"); // one pane of several, which a press makes large
    this.format = formats(config);
    this.situations = config.situations;
    const anew = before?.source !== config.source;
    if (anew) this.startAnew();
    this.stepHistory(before && before.source.split(" ")[0] !== config.source.split(" ")[0]);
    this.bringLines(before);
    if (!before || before.head !== config.head || before.locale !== config.locale) this.answer.build(config);
    this.chart.configure(config, this.format);
    this.alerts.configure(config, this.format);
    this.light.configure(config);
    this.ladder.configure(config);
    if (before?.address !== config.address) this.connect();
    this.live.textContent = config.labels.live;
    if (anew || before.colours.line !== config.colours.line) this.map.build(config.minimap, config.colours.line);
    this.buildTools();
    this.buildLegend();
    this.drawStrip(this.store.newest);
    this.help.innerHTML = `<h2>${config.labels.keys}</h2><dl>${config.keys.map(([k, t]) => `<dt>${k}</dt><dd>${t}</dd>`).join("")}</dl><p>${config.notice}</p>`;
    this.request();
  }

  // A switch of market is a step of the browser's history: Back opens the page as it was before.
  stepHistory(switched) {
    const now = location.href;
    if (switched && this.address !== now && window.observatoryHistory) {
      history.replaceState(history.state, "", this.address);
      window.observatoryHistory(history.state, "", now);
    }
    this.address = now;
  }

  // The reader's lines stay in this browser, by market; those of a link come first.
  keepLines(lines) {
    this.command("lines", lines);
    keep(`lines ${this.config.symbol}`, lines);
  }

  bringLines(before) {
    const { lines, symbol, small } = this.config;
    if (small || (before ? before.symbol === symbol : lines.length)) return;
    const own = kept(`lines ${symbol}`) ?? [];
    if (String(own) !== String(lines)) this.command("lines", own);
  }

  // A clock that stood still: the computer slept, or the browser had put the page to sleep.
  lookAtClock() {
    const [before, now] = [this.awake, Date.now()];
    this.awake = now;
    if (quietFor(this.store, this.ageMs)) this.request();
    if (now - before < SLEPT_MS || !this.config) return;
    const [from, until] = [before, now].map((time) => this.format.time(time));
    this.sayAlert(fillIn(this.config.labels.slept, { from, until }));
  }

  // Another market, model or run of it: nothing that was drawn of the earlier one stays.
  startAnew() {
    this.store.clear();
    this.store.status = 0;
    this.book = new Book();
    this.ladder.forget();
    this.frame = this.announced = null;
    this.tape.forget();
    this.day.draw(null, this.config, this.format);
    this.say("");
    put(this.spoken, "");
    this.scale.replaceChildren();
  }

  buildTools() {
    const { labels, presenting, small } = this.config;
    const tools = small
      ? [["M9 2h5v5M14 2L9 7M7 14H2V9M2 14l5-5", labels.enlarge, () => this.command("open", null)]]
      : presenting
      ? [["M3 3 13 13M13 3 3 13", labels.leave, () => this.present(false)]]
      : [
          ["M2 3h12v8H2zM5 14h6M8 11v3", labels.present, () => this.present(true)],
          ["M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14.5h3", labels.alert, () => this.alerts.open(), this.alerts.alerts.length > 0 || this.alerts.sounds.on],
          ["M8 2v8M5 7l3 3 3-3M2 13h12", labels.picture, () => this.savePicture()],
          ["M5.5 6a2.5 2.5 0 1 1 3.5 2.2q-1 .5-1 1.8M8 13v.5", labels.help, () => this.toggleHelp()],
        ];
    this.tools.replaceChildren(
      ...tools.map(([icon, name, act, pressed]) => {
        const tool = button("terminal-tool", "", act);
        tool.title = name;
        tool.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${icon}"/></svg>`;
        tool.setAttribute("aria-label", name);
        if (pressed !== undefined) tool.setAttribute("aria-pressed", String(pressed));
        return tool;
      }),
    );
    this.labelTape();
  }

  // A label of sizes, with their unit where it is known.
  inUnit(text) {
    return this.unit ? `${text}, ${this.unit}` : text;
  }

  labelTape() {
    const { labels } = this.config;
    this.tape.title(`${this.inUnit(labels.tape)} (▲ ${labels.bought}, ▼ ${labels.sold})`);
  }

  // What is drawn, each to be switched off and on.
  buildLegend() {
    this.legend.replaceChildren(
      ...this.config.legend.map(([name, text, colour]) => {
        const item = button("", text, () => {
          this.chart.toggle(name);
          item.setAttribute("aria-pressed", String(!this.chart.hidden.has(name)));
        });
        item.setAttribute("aria-pressed", String(!this.chart.hidden.has(name)));
        item.style.setProperty("--colour", colour);
        return item;
      }),
    );
    if (this.chart.scale) this.drawScale(this.chart.scale);
  }

  // The sizes that the colours stand for.
  drawScale({ low, high }) {
    const { labels, colours } = this.config;
    this.scale.innerHTML = `<span>${this.format.significant(low)}</span><i></i><span>${this.format.significant(high)}</span>`;
    this.scale.style.setProperty("--up", colours.up);
    this.scale.style.setProperty("--down", colours.down);
    this.scale.title = labels.scale;
  }

  // -- the stream -----------------------------------------------------------------------------------------------------

  connect() {
    this.socket?.close();
    const address = window.observatoryAddress(this.config.address);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let read = 0;
    socket.onmessage = ({ data }) => {
      if (this.socket !== socket) return;
      if (typeof data === "string") return this.message(JSON.parse(data));
      this.receive(data);
      read += 1;
      if (read % READ_EVERY === 0 && socket.readyState === WebSocket.OPEN) socket.send(String(read));
    };
    socket.onopen = () => {
      this.failures = 0;
      this.root.dataset.stream = "open";
      this.light.ask();
    };
    socket.onclose = (event) => {
      if (this.closed || this.socket !== socket) return;
      this.root.dataset.stream = "closed";
      if (event.code === NOT_RUNNING) return this.command("rejoin", null); // any command runs the page, which starts the feed
      this.failures = Math.min((this.failures ?? 0) + 1, 5);
      this.store.status = this.config.statusNames.indexOf("reconnecting");
      this.say(this.config.labels.disconnected);
      this.request();
      if (this.failures >= 3) this.command("rejoin", null); // the page gives another ticket where this one is forgotten
      setTimeout(() => this.socket === socket && !this.closed && this.connect(), 500 * 2 ** this.failures);
    };
  }

  receive(buffer) {
    const anew = this.store.addFrame((this.frame = data.decode(buffer, this.config.schema)));
    if (anew) {
      this.book = new Book();
      this.ladder.forget();
    }
    for (const { bands } of this.frame.rows) if (bands) this.book.apply(bands);
    if (anew && this.frame.kind !== 1) this.chart.follow = true; // a jump clears the view
    this.format.setTick(this.store.tick);
    this.chart.update(anew);
    this.alerts.look();
    this.request();
  }

  message({ status, text, situations = [], light, without, day, unit = "" }) {
    if (light || without) {
      if (light) this.light.take(light);
      else this.answer.reasons.answer(without);
      this.chart.repaint();
      return this.request();
    }
    this.store.status = status;
    this.alerts.look();
    this.situations = situations;
    this.unit = unit;
    this.labelTape();
    this.say(text);
    if (day) this.day.draw(this.followed ? day : null, this.config, this.format);
    this.request();
  }

  // An alert of the reader went off: a line on the screen for a while.
  sayAlert(text) {
    const line = element("p", "terminal-alert");
    line.setAttribute("role", "alert");
    line.textContent = text;
    this.notice.after(line);
    setTimeout(() => line.remove(), 20_000);
  }

  say(text) {
    this.notice.textContent = text;
    this.notice.hidden = !text;
    const lacking = text && !this.config.small && this.followed && !this.store.rows.length;
    if (lacking) this.notice.append(" ", button("", this.config.labels.offer, () => this.command("recording", null)));
  }

  // Whether it is a market of an exchange, followed now.
  get followed() {
    return this.config.source.startsWith("live/");
  }

  // Milliseconds since a followed market's newest row came here, by this browser's clock alone.
  get ageMs() {
    return this.followed ? performance.now() - this.heardAt : NaN;
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
    if (!this.config || this.closed) return;
    const started = performance.now();
    const row = this.store.newest;
    if (row) {
      this.format.setTick(this.store.tick);
      if (this.chart.stale) this.chart.settle();
      this.map.draw(row.time);
      this.announce(row);
    }
    if (!this.config.small) {
      this.tape.draw(this.store, this.config, this.format);
      const asked = this.answer.reasons.without;
      const { axis, tick: step, traded = new Map() } = this.chart;
      const shown = { store: this.store, book: this.book, unit: this.unit, traded, step, without: asked && Math.round(asked.price / step) };
      this.ladder.draw(axis, shown, this.format);
    }
    this.answer.draw(row, this.store, this.light.of(this.store), this.config, this.format);
    if (this.store.receivedMs !== this.drawnMs) {
      [this.drawnMs, this.heardAt] = [this.store.receivedMs, performance.now()];
      this.latency = Math.round(Date.now() - this.store.receivedMs);
    }
    this.drawStrip(row);
    mark(this.plot, "data-rows", row ? "some" : "none");
    mark(this.root, "data-known", bookKnown(this.store, this.config) ? "yes" : "no");
    this.drawn += 1;
    Object.assign(this.root.dataset, {
      drawn: String(this.drawn),
      drawnStep: String(this.store.step),
      drawMs: (performance.now() - started).toFixed(1),
      latencyMs: this.drawnMs ? String(this.latency) : "", // from an exchange's message to its pixel
    });
  }

  drawStrip(row) {
    const { labels } = this.config;
    const values = [[labels.status, statusWords(this.store, this.ageMs, this.config, this.format), this.config.tones[this.store.status] ?? "plain"]];
    // states of the market that pass, in a word; the clause of each, with its beginning, is its title
    const states = this.situations.map(({ short }) => short);
    const heard = row && bookKnown(this.store, this.config) && !quietFor(this.store, this.ageMs);
    const timed = this.followed && heard && this.latency >= 0 && this.latency < LATEST_MS; // else the clocks differ
    const latency = timed ? ` · ${this.format.span(this.latency, "millisecond")}` : "";
    values.push([this.config.venue + latency, [this.config.symbol, ...states].join(" · "), states.length ? "warning" : "plain"]);
    // before the first row they stand there without their values, so that nothing moves when it comes
    const [ask, , bid] = row?.levels ?? [];
    const { since, delta, trades } = row ? this.store.flow() : {};
    const known = (write) => (row ? write() : UNKNOWN);
    values.push([labels.mid, known(() => this.format.mid(row.mid))]);
    values.push([labels.spread, known(() => `${this.format.number(((ask - bid) / row.mid) * 1e4, 3)} ${labels.bps}`)]);
    values.push([labels.imbalance, known(() => this.format.percent(data.imbalance(row.levels)))]);
    const time = known(() => this.format.time(since));
    values.push([fillIn(this.inUnit(labels.delta), { time }), known(() => (trades ? this.format.signed(delta) : labels.noTrades))]);
    values.push([labels.time, known(() => this.format.time(row.time))]);
    if (!this.config.known) values.push([labels.training, labels.notTraining, "warning"]);
    fill(
      this.strip,
      values.map(([name, value, tone = "plain"]) => [`stat stat-${tone}`, name, value]),
    );
    if (!this.config.known) mark(this.strip.lastChild, "title", labels.notTrainingHelp);
    mark(this.strip.children[1], "title", this.situations.map(({ since, text }) => fillIn(text, { time: this.format.time(since) })).join("; "));
  }

  // What is under the crosshair: time, price, what rests there and was traded.
  drawUnder(place) {
    if (!place) return put(this.under, "");
    const { labels } = this.config;
    const { time, price, rests, bin } = place;
    const words = [this.format.time(time), this.format.price(price)];
    if (rests) words.push(rests.size === rests.size ? this.restingText(rests) : labels.unknown);
    if (bin) {
      const [bought, sold] = [bin.bought, bin.sold].map(this.format.significant);
      words.push(fillIn(labels.bin, { bought, sold, count: this.format.number(bin.count, 0) }));
    }
    put(this.under, words.join(" · "));
  }

  restingText({ size, low, high }) {
    const text = [this.config.labels.size, this.format.significant(size), this.unit].filter(Boolean).join(" ");
    return high - low > 1.5 * this.store.tick ? `${text} (${this.format.price(low)} – ${this.format.price(high)})` : text;
  }

  command(name, value) {
    this.component.setTriggerValue("command", { name, value, at: Date.now() });
  }

  // Asks again without what rests at a price row: the answer comes within a second.
  askWithout(place) {
    if (this.config.small) return this.command("open", null);
    if (this.socket?.readyState === WebSocket.OPEN && this.store.newest?.predicted) this.socket.send(`without ${place * this.chart.tick} ${this.chart.tick}`);
  }

  // -- the answer -----------------------------------------------------------------------------------------------------

  // A changed call, at most every five seconds.
  announce(row) {
    if (!row.predicted || this.config.small) return;
    const call = row.calls[this.config.head];
    const now = performance.now();
    if (call === this.announced || now - (this.announcedAt ?? -Infinity) < 5000) return;
    this.announced = call;
    this.announcedAt = now;
    const { labels, classes } = this.config;
    put(this.spoken, fillIn(labels.spoken, { call: classes[call] }));
  }

  // -- keys -----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.closed || this.config.small) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], [role=combobox], [role=slider]");
    if (typing) return;
    const tell = (name, value) => this.command(name, value);
    const acts = {
      " ": () => tell("play", null),
      ArrowLeft: () => this.chart.pan(-0.25),
      ArrowRight: () => this.chart.pan(0.25),
      "+": () => this.chart.zoomPrices(0.8),
      "-": () => this.chart.zoomPrices(1.25),
      l: () => this.chart.returnToNewest(),
      p: () => this.present(!this.config.presenting),
      "?": () => this.toggleHelp(),
    };
    if (this.answer.reasons.without) acts.Escape = () => this.answer.reasons.answer(null) ?? this.request();
    else if (this.config.presenting && !this.help.open) acts.Escape = () => this.present(false);
    for (const number of ["1", "2", "3", "4"]) acts[number] = () => tell("horizon", Number(number) - 1);
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // The chart as a picture, as it is now.
  savePicture() {
    const name = `${this.config.symbol.replace(/\W+/g, "-")}-${this.store.newest?.time ?? 0}.png`;
    this.chart.chart.takeScreenshot(true, true).toBlob((blob) => save(blob, name));
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

  close() {
    PANES.delete(this);
    this.light.close();
    this.closed = true;
    this.listeners.abort();
    clearInterval(this.clock);
    this.socket?.close();
    this.chart.remove();
    this.tape.close();
    this.root.remove();
  }
}

export async function receive(component) {
  const { charts, chart } = component.data;
  const [library, { Chart }] = await Promise.all([charts, chart].map((address) => import(window.observatoryAddress(address))));
  return mounted((parent) => new Terminal(parent, library, Chart))(component);
}
