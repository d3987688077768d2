// The live page's chart: three panes over one time axis, by lightweight-charts. Axes, zoom, crosshair, lines and labels are the
// library's; liquidity, trades, calls and volume delta are painted between its coordinates.

import { parts } from "../../attention_light/scripts/colours.js";
import * as data from "./terminal_data.js";
import { DepthPicture, NO_ROW, SCALE_ROWS, SHADES, shadeOf, strength } from "./terminal_depth.js";

const STEP_S = 0.25;
const DOT = 3; // pixels between the prices of two dots of trades, at least
const RESTYLE_MS = 2_000;
const ROOM = 0.04; // of the width, right of the newest row, and pixels at least: half of its time's label
const ROOM_PX = 28;

// Something painted by the pane it is attached to, below or above the library's own series.
class Painting {
  constructor(order, draw) {
    this.views = [{ zOrder: () => order, renderer: () => ({ draw: (target) => target.useMediaCoordinateSpace(draw) }) }];
  }

  paneViews() {
    return this.views;
  }
}

export class Chart {
  constructor(parent, charts, { store, light, ladder }, tell) {
    Object.assign(this, { parent, charts, store, light, ladder, tell, follow: true, hidden: new Set(), count: 0 });
    this.depth = new DepthPicture();
    this.image = document.createElement("canvas");
    const chart = charts.createChart(parent, {
      autoSize: true,
      layout: { background: { color: "transparent" }, attributionLogo: true },
      crosshair: { mode: charts.CrosshairMode.Normal },
      handleScroll: { vertTouchDrag: false },
      handleScale: { axisDoubleClickReset: true },
      kineticScroll: { touch: false, mouse: false },
      timeScale: { timeVisible: true, secondsVisible: true, minBarSpacing: 0.02, rightBarStaysOnScroll: true },
    });
    this.chart = chart;
    this.time = chart.timeScale();
    const line = { lastValueVisible: false, priceLineVisible: false, crosshairMarkerVisible: false };
    const price = { ...line, lineWidth: 1, lineType: charts.LineType.WithSteps, autoscaleInfoProvider: () => this.scaled(this.prices) };
    this.ask = chart.addSeries(charts.LineSeries, price, 0);
    this.bid = chart.addSeries(charts.LineSeries, price, 0);
    this.signals = new Map();
    this.zero = chart.addSeries(charts.LineSeries, { ...line, lineVisible: false, autoscaleInfoProvider: () => this.scaled([-1, 1]) }, 1);
    this.delta = chart.addSeries(charts.LineSeries, { ...line, lineVisible: false, autoscaleInfoProvider: () => this.scaled(this.deltas) }, 2);
    this.bid.attachPrimitive(new Painting("bottom", (scope) => this.paintDepth(scope)));
    this.bid.attachPrimitive(new Painting("top", (scope) => this.paintMarks(scope)));
    this.delta.attachPrimitive(new Painting("normal", (scope) => this.paintDelta(scope)));
    for (const series of [this.zero, this.delta]) {
      series.createPriceLine({ price: 0, lineWidth: 1, lineStyle: charts.LineStyle.Solid, axisLabelVisible: false, color: `rgba(${parts("grey")},0.5)` });
    }
    this.narrow = matchMedia("(max-width: 700px)");
    this.narrow.addEventListener("change", () => this.config && this.shareHeight());
    this.titles = chart.panes().map((pane) => charts.createTextWatermark(pane, { horzAlign: "left", vertAlign: "top" }));
    this.lines = new Map(); // by name or price: the library's price lines
    chart.subscribeCrosshairMove((at) => this.point(at));
    chart.subscribeClick(({ point, paneIndex }) => point && !paneIndex && this.tell.pressed(this.bid.coordinateToPrice(point.y)));
    chart.subscribeDblClick(({ point, paneIndex }) => point && !paneIndex && this.toggleLine(this.bid.coordinateToPrice(point.y)));
    this.time.subscribeVisibleLogicalRangeChange((range) => this.moved(range));
    for (const kind of ["pointerdown", "wheel"]) parent.addEventListener(kind, () => (this.byHand = true), { capture: true, passive: true });
    parent.addEventListener("wheel", (event) => event.shiftKey && this.zoomByWheel(event), { capture: true, passive: false });
  }

  shareHeight() {
    const heights = this.config.small ? [6, 2, 0] : this.narrow.matches ? [10, 1, 0.8] : [11, 1.5, 1.1];
    this.chart.panes().forEach((pane, i) => pane.setStretchFactor(heights[i]));
  }

  scaled(range) {
    return range ? { priceRange: { minValue: range[0], maxValue: range[1] } } : null;
  }

  // New choices of the reader.
  configure(config, format) {
    const before = this.config;
    Object.assign(this, { config, format });
    const { colours, heads, head, labels } = config;
    // Bars stand in place of the best prices' lines, which keep the scale.
    this.ask.applyOptions({ color: config.bars ? "transparent" : colours.down, title: "" });
    this.bid.applyOptions({ color: config.bars ? "transparent" : colours.up });
    this.stale = true;
    for (const [index, series] of this.signals) if (!heads.includes(index)) this.chart.removeSeries(series) ?? this.signals.delete(index);
    const { LineSeries } = this.charts;
    for (const index of heads) {
      if (!this.signals.has(index)) this.signals.set(index, this.chart.addSeries(LineSeries, { ...this.zero.options(), lineVisible: true }, 1));
      const chosen = index === head;
      const color = chosen ? colours.line : heads.indexOf(index) % 2 ? `rgba(${parts("grey")},0.6)` : `rgba(${parts("grey")},0.9)`;
      this.signals.get(index).applyOptions({ color, lineWidth: chosen ? 2 : 1 });
    }
    this.signals.get(head).setSeriesOrder(this.chart.panes()[1].getSeries().length - 1);
    if (before?.head !== head || before?.source !== config.source) this.setAll(before?.source === config.source);
    if (before && (before.span !== config.span || before.source !== config.source)) this.goLive();
    const clock = (seconds) => format.time(seconds * 1000);
    this.chart.applyOptions({
      localization: { locale: config.locale, timeFormatter: (at) => `${format.date(at * 1000)} ${clock(at)}` },
      timeScale: { tickMarkFormatter: clock },
    });
    const fixed = (write) => ({ priceFormat: { type: "custom", minMove: 1e-9, formatter: write } });
    for (const series of [this.ask, this.bid]) series.applyOptions(fixed((value) => format.price(value)));
    for (const series of [this.zero, ...this.signals.values()]) series.applyOptions(fixed((value) => format.number(value, 2)));
    this.delta.applyOptions(fixed((value) => format.short(value)));
    this.shareHeight();
    this.paneTitles = [labels.pricePane, labels.signalPane, config.cumulative ? labels.cumulativePane : labels.deltaPane];
    this.ink = null;
  }

  // -- data -----------------------------------------------------------------------------------------------------------

  // Rows that came: all anew where `anew`, else those after the ones that the chart has.
  update(anew) {
    if (anew || !this.count) return this.setAll(!anew || this.count > 0);
    const { slots } = this.store;
    for (; this.count < slots.length; this.count++) {
      const slot = slots[this.count];
      const time = slot.time / 1000;
      if (!slot.levels) {
        if (slots[this.count - 1] === this.last) this.updatePrices(this.last, slots.at(-1));
        this.bid.update({ time });
        continue;
      }
      this.updatePrices(slot);
      for (const series of [this.zero, this.delta]) series.update({ time, value: 0 });
      this.last = slot;
      if (!slot.predicted) continue;
      const { lastPredicted } = this;
      for (const [head, series] of this.signals) {
        if (data.apart(lastPredicted, slot)) series.update(data.linePoint(lastPredicted, signal(lastPredicted, head), slot));
        series.update(data.linePoint(slot, signal(slot, head)));
      }
      this.lastPredicted = slot;
    }
    this.settle();
  }

  updatePrices(row, next) {
    this.ask.update(data.linePoint(row, row.levels[0], next));
    this.bid.update(data.linePoint(row, row.levels[2], next));
  }

  setAll(keepView) {
    if (!this.config) return;
    if (!this.store.rows.length) return this.clear();
    const view = keepView && !this.follow ? this.range() : null;
    const { slots, rows } = this.store;
    const points = (of, value) => of.map((row, i) => data.linePoint(row, value(row), of[i + 1]));
    const predicted = rows.filter((row) => row.predicted);
    this.count = slots.length;
    this.depth.forget(); // before the library asks what is under the crosshair, by the slots of now
    const bids = new Map(points(rows, (row) => row.levels[2]).map((point) => [point.time, point]));
    this.bid.setData(slots.map(({ time }) => bids.get(time / 1000) ?? { time: time / 1000 }));
    this.ask.setData(points(rows, (row) => row.levels[0]));
    for (const [head, series] of this.signals) series.setData(points(predicted, (row) => signal(row, head)));
    [this.last, this.lastPredicted] = [rows.at(-1), predicted.at(-1)];
    // Without a point at or right of the view's left edge the library gives a pane no scale: `update` adds one with every row.
    for (const series of [this.zero, this.delta]) series.setData([{ time: rows.at(-1).time / 1000, value: 0 }]);
    if (view) this.show(...view.map((time) => this.store.slotAt(time)));
    else this.goLive();
    this.settle();
  }

  // Nothing is known of this source yet, and nothing of an earlier one stays.
  clear() {
    for (const series of [this.bid, this.ask, this.zero, this.delta, ...this.signals.values()]) series.setData([]);
    Object.assign(this, { count: 0, last: undefined, lastPredicted: undefined, prices: null, deltas: null, scale: null });
    Object.assign(this, { traded: new Map(), bins: [], priceBars: [], shown: [], deltaBars: null, pointer: null, follow: true, byHand: false });
    this.depth.forget();
    this.drawLines();
    this.tell.pointed(null);
  }

  // Price that a row of the ladder covers on the axis as it is.
  get tick() {
    return this.axis && this.store.tick ? this.ladder.step(this.axis, this.store) : this.store.tick;
  }

  // What follows from the rows in view: ranges, sums of trades.
  settle() {
    const [from, to] = this.range();
    const rows = this.store.between(from, to);
    this.column = Math.max(250, Math.ceil((to - from) / 240 / 250) * 250);
    const traded = this.store.tradesBetween(from, to);
    const { cumulative, smallest, bars } = this.config;
    const { trades } = this.store;
    this.deltaBars = cumulative
      ? data.cumulativeDelta(trades, this.store.holes, from, Math.min(to, this.store.newest.time), this.column)
      : data.volumeDelta(traded, this.column);
    this.priceBars = bars ? data.priceBars(this.store.between(from - (from % (1000 * bars)), to), bars) : [];
    const [low, high] = priceRange(rows, this.store) ?? [0, 1];
    this.prices = data.steady(this.prices, low, high, 0.6);
    this.deltas = data.steady(this.deltas, Math.min(0, ...this.deltaBars.y), Math.max(0, ...this.deltaBars.y), 0.3);
    this.dot = this.store.tick * data.niceStep(DOT / (this.perPrice ?? Infinity) / this.store.tick);
    this.bins = data.binTrades(traded.filter(({ size }) => size >= smallest), this.column, this.dot);
    this.traded = data.tradedByRow(traded, this.tick);
    this.shown = rows;
    this.stale = false;
    this.drawLines();
    this.restyle();
  }

  // Colours and words of the page, which follow its theme and language; looked at now and then, as asking holds up a frame.
  restyle() {
    const now = performance.now();
    if (this.ink && now - this.styledAt < RESTYLE_MS) return;
    this.styledAt = now;
    const style = getComputedStyle(this.parent);
    const date = this.store.newest ? this.format.date(this.store.newest.time) : "";
    const ink = `${style.color} ${style.fontFamily} ${date} ${this.config.locale} ${this.config.zone}`;
    if (ink === this.ink) return;
    this.ink = ink;
    this.inkColour = (style.color.match(/[\d.]+/g) ?? [128, 128, 128]).slice(0, 3).map(Number);
    this.faint = style.getPropertyValue("--st-border-color") || "#8884";
    const fontFamily = style.fontFamily;
    const lines = { color: this.faint, visible: true };
    this.chart.applyOptions({
      layout: { textColor: style.color, fontFamily, fontSize: 12, panes: { separatorColor: this.faint } },
      grid: { vertLines: { visible: false }, horzLines: lines },
      rightPriceScale: { borderVisible: false, entireTextOnly: true },
      timeScale: { borderColor: this.faint },
    });
    this.titled = [this.config.small ? "" : this.paneTitles[0], `${date} (${this.config.zone})`].filter(Boolean).join(" · ");
    this.titles.forEach((title, i) => {
      const text = i ? (this.config.small ? "" : this.paneTitles[i]) : this.titled;
      title.applyOptions({ lines: [{ text, color: style.color, fontSize: 11, fontFamily }] });
    });
  }

  // -- the view -------------------------------------------------------------------------------------------------------

  // Times at the view's edges, milliseconds.
  range() {
    const view = this.time.getVisibleLogicalRange();
    if (!view || !this.store.slots.length) return [0, 0];
    return [this.store.timeAt(view.from), this.store.timeAt(view.to)];
  }

  show(from, to) {
    this.time.setVisibleLogicalRange({ from, to });
  }

  goLive() {
    if (!this.store.slots.length) return;
    const steps = this.config.span / STEP_S;
    const last = this.store.slots.length - 1;
    [this.follow, this.byHand, this.along] = [true, false, false];
    this.chart.priceScale("right", 0).setAutoScale(true);
    const room = Math.min(0.5, Math.max(ROOM, ROOM_PX / this.time.width()));
    this.show(last - steps * (1 - room), last + steps * room);
    this.tell.moved();
  }

  moved(view) {
    if (!view || !this.store.slots.length) return;
    const last = this.count - 1;
    const follow = view.to >= last - 0.5 && view.from < last;
    // The library shows what it is asked for with its next frame, before which more rows may have come.
    if (this.follow && !follow && !this.byHand && !this.along) return this.goLive();
    if (this.byHand) this.tell.panned(this.range());
    const span = view.to - view.from;
    if (!follow || Math.abs(span - (this.span ?? 0)) > 0.01) this.stale = true;
    this.span = span;
    if (follow === this.follow && !this.stale) return;
    this.follow = follow;
    this.tell.moved();
  }

  // What the reader asks for: the newest rows, with the colours fitted to them.
  returnToNewest() {
    this.goLive();
    this.scale = null; // fitted when they are in the picture, which is with the next frame
    this.repaint();
  }

  // Shows the times that another chart was moved to, where this one knows any of them.
  goAlong([from, to]) {
    const { rows, newest } = this.store;
    if (!newest || to < rows[0].time || from > newest.time) return;
    [this.byHand, this.along] = [false, true];
    this.show(this.store.slotAt(from), this.store.slotAt(to));
  }

  pan(share) {
    const view = this.time.getVisibleLogicalRange();
    if (!view) return;
    this.byHand = true;
    const by = share * (view.to - view.from);
    this.show(view.from + by, view.to + by);
  }

  zoomByWheel(event) {
    event.preventDefault();
    event.stopPropagation();
    this.zoomPrices(Math.exp((event.deltaY || event.deltaX) * 0.0015));
  }

  // So many times the prices in view, about their middle; `goLive` has them follow the market again.
  zoomPrices(factor) {
    const scale = this.chart.priceScale("right", 0);
    const range = scale.getVisibleRange();
    if (!range) return;
    const [middle, half] = [(range.from + range.to) / 2, ((range.to - range.from) / 2) * factor];
    scale.setAutoScale(false);
    scale.setVisibleRange({ from: middle - half, to: middle + half });
  }

  // Off or on again: one of what the legend names.
  toggle(name) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.ask.applyOptions({ visible: !this.hidden.has("ask") });
    this.bid.applyOptions({ visible: !this.hidden.has("bid") });
    this.repaint();
  }

  // -- lines ----------------------------------------------------------------------------------------------------------

  // The reader's lines and the newest best prices on the axis, as the library's price lines.
  drawLines() {
    const { lines, colours } = this.config;
    const wanted = new Map(lines.map((price) => [`own ${price}`, { price, lineStyle: 0, title: "" }]));
    const { newest } = this.store;
    if (newest) {
      wanted.set("ask", { price: newest.levels[0], color: colours.down, lineVisible: false });
      wanted.set("bid", { price: newest.levels[2], color: colours.up, lineVisible: false });
    }
    for (const [name, line] of this.lines) {
      if (wanted.has(name)) continue;
      this.bid.removePriceLine(line);
      this.lines.delete(name);
    }
    for (const [name, line] of wanted) {
      const options = { lineWidth: 1, color: colours.line, axisLabelVisible: true, ...line };
      if (!this.lines.has(name)) this.lines.set(name, this.bid.createPriceLine(options));
      else if (this.lines.get(name).options().price !== line.price) this.lines.get(name).applyOptions(options);
    }
  }

  // A line at this price, or away with the one that is there; the page keeps it in the link.
  toggleLine(price) {
    const { lines } = this.config;
    const y = this.bid.priceToCoordinate(price);
    const hit = lines.find((line) => Math.abs(this.bid.priceToCoordinate(line) - y) < 5);
    const rounded = Number((Math.round(price / this.store.tick) * this.store.tick).toPrecision(10));
    this.tell.lines(hit === undefined ? [...lines, rounded] : lines.filter((line) => line !== hit));
  }

  // -- the crosshair --------------------------------------------------------------------------------------------------

  point({ point, logical, paneIndex }) {
    this.pointer = point && !paneIndex && this.store.slots.length ? { slot: logical, price: this.bid.coordinateToPrice(point.y), y: point.y } : null;
    this.tell.pointed(this.pointer && this.under(this.pointer));
  }

  // What rests and was traded at a place: {time, price, rests, bin}.
  under({ slot, price }) {
    const rests = this.store.slots.length ? this.depth.rests(Math.round(slot), price, this.store) : null;
    const time = this.store.timeAt(slot);
    const near = (bin) => Math.abs(this.store.slotAt(bin.time) - slot) * this.spacing < 6 && Math.abs(bin.price - price) <= Math.max(this.dot, 6 / this.perPrice);
    const bins = this.bins?.filter(near) ?? [];
    const total = (name) => bins.reduce((sum, bin) => sum + bin[name], 0);
    const bin = bins.length ? { bought: total("bought"), sold: total("sold"), count: total("count") } : null;
    return { time, price, rests, bin };
  }

  repaint() {
    this.chart.applyOptions({});
  }

  // -- painting -------------------------------------------------------------------------------------------------------

  // Pixels of the price pane: x of a slot, y of a price.
  frame({ height }) {
    const left = this.time.logicalToCoordinate(0);
    this.spacing = this.time.logicalToCoordinate(1) - left;
    const [top, bottom] = [0, height].map((y) => this.bid.coordinateToPrice(y));
    if (top === null || !(top > bottom)) return null;
    this.perPrice = height / (top - bottom);
    if (this.axis?.top !== top || this.axis.perPrice !== this.perPrice) {
      this.axis = { top, perPrice: this.perPrice, height };
      this.stale = true; // rows of another height are other rows
      this.tell.framed();
    }
    const x = (slot) => left + slot * this.spacing;
    return { height, x, y: (price) => (top - price) * this.perPrice, at: (time) => x(this.store.slotAt(time)), low: bottom, high: top };
  }

  // One `drawImage`: the picture's pixels are sizes of one step and one price each, and only new columns are coloured.
  paintDepth({ context: pen, mediaSize }) {
    const frame = this.store.slots.length ? this.frame(mediaSize) : null;
    const view = this.time.getVisibleLogicalRange();
    if (!frame || !view || this.hidden.has("depth")) return;
    const from = Math.max(0, Math.floor(view.from));
    const to = Math.min(this.store.slots.length, Math.ceil(view.to) + 1);
    if (to <= from) return;
    const before = this.depth.place;
    let [first, last] = this.depth.cover(this.store, from, to, [frame.low, frame.high], frame.height);
    const { place } = this.depth;
    const columns = this.depth.until - place.first;
    if (place !== before || this.depth.shifted) first = 0;
    this.depth.shifted = 0;
    const outgrown = this.scale && this.scale.rows < SCALE_ROWS && columns > this.scale.rows;
    if (!this.scale || outgrown) this.fitColours();
    const look = JSON.stringify([this.scale, this.config.colours, this.inkColour, this.config.resting]);
    if (look !== this.look) [this.look, first] = [look, 0];
    this.colour(first, Math.max(last, first ? last : columns));
    pen.imageSmoothingEnabled = false;
    const top = frame.y(place.top * place.unit);
    const height = place.height * place.unit * this.perPrice;
    pen.drawImage(this.image, 0, 0, columns, place.height, frame.x(place.first) - this.spacing / 2, top, columns * this.spacing, height);
  }

  // The fixed scale of the colours, from what is in the picture now.
  fitColours() {
    if (!this.depth.place) return;
    const columns = this.depth.until - this.depth.place.first;
    this.scale = { ...this.depth.scale(), rows: Math.min(columns, SCALE_ROWS) };
    this.tell.scaled(this.scale);
  }

  colour(first, last) {
    const { place, values } = this.depth;
    const { colours, resting } = this.config;
    if (this.image.width < place.width || this.image.height !== place.height) [this.image.width, this.image.height, first] = [place.width, place.height, 0];
    const count = last - first;
    if (count <= 0) return;
    const pen = this.image.getContext("2d");
    const image = pen.createImageData(count, place.height);
    const pixels = new Uint32Array(image.data.buffer);
    const shades = [colours.down, colours.up].map((colour) => this.shades(colour));
    const unknown = (packed(colours.none) | (26 << 24)) >>> 0;
    const bound = { low: Math.log(this.scale.low), span: Math.log(this.scale.high / this.scale.low) };
    for (let x = 0; x < count; x++) {
      const column = (first + x) * place.height;
      for (let y = 0; y < place.height; y++) {
        const value = values[column + y];
        if (value === 0 || value === NO_ROW || Math.abs(value) < resting) continue;
        pixels[y * count + x] = value === value ? shades[value > 0 ? 1 : 0][shadeOf(Math.abs(value), bound)] : unknown;
      }
    }
    pen.putImageData(image, first, 0);
  }

  // Pixels of a side from the weakest to the strongest size; the strongest lean towards the ink, so that walls stand out.
  shades(colour) {
    const ink = this.inkColour;
    const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return Uint32Array.from({ length: SHADES }, (_, i) => {
      const alpha = strength(i / (SHADES - 1));
      const lean = Math.max(0, alpha - 0.6);
      const [r, g, b] = parts.map((part, k) => Math.round(part + (ink[k] - part) * lean));
      return (r | (g << 8) | (b << 16) | (Math.round(255 * alpha) << 24)) >>> 0;
    });
  }

  paintMarks({ context: pen, mediaSize }) {
    const frame = this.store.rows.length ? this.frame(mediaSize) : null;
    if (!frame) return;
    if (!this.hidden.has("light")) this.light.paint(pen, frame, this, this.depth.place?.unit ?? this.tick);
    this.paintBars(pen, frame);
    if (!this.hidden.has("trades")) this.paintTrades(pen, frame);
    this.paintCalls(pen, frame);
  }

  // A body from open to close, a wick from high to low.
  paintBars(pen, { at, y }) {
    const { colours } = this.config;
    for (const { from, until, open, high, low, close } of this.priceBars) {
      const [left, right] = [at(from), at(until)];
      const wide = Math.max(2, 0.7 * (right - left));
      const middle = (left + right) / 2;
      pen.fillStyle = close < open ? colours.down : colours.up;
      pen.fillRect(middle - 0.5, y(high), 1, Math.max(1, y(low) - y(high)));
      pen.fillRect(middle - wide / 2, y(Math.max(open, close)), wide, Math.max(1, Math.abs(y(open) - y(close))));
    }
  }

  paintTrades(pen, { at, y }) {
    const size = (bin) => bin.bought + bin.sold + bin.unknown;
    const largest = Math.max(...this.bins.map(size), 1e-12);
    const { colours } = this.config;
    pen.globalAlpha = 0.6;
    pen.strokeStyle = "white";
    pen.lineWidth = 0.5;
    for (const bin of this.bins) {
      const radius = 9 * Math.sqrt(size(bin) / largest);
      pen.fillStyle = bin.bought > bin.sold ? colours.up : bin.sold > bin.bought ? colours.down : colours.none;
      pen.beginPath();
      pen.arc(at(bin.time), y(bin.price), 0.7 + radius, 0, 2 * Math.PI);
      pen.fill();
      if (radius > 3) pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  // Triangles: a call for up or down, coloured by what came of it; marks of the same kind over one another are drawn once.
  paintCalls(pen, { x, y }) {
    const { head, marks } = this.config;
    let last = -Infinity;
    let kept = "";
    for (const row of this.shown) {
      if (!row.predicted || (row.calls[head] !== 0 && row.calls[head] !== 2)) continue;
      const kind = data.verdict(row, head);
      if (this.hidden.has(kind)) continue;
      const at = x(this.store.slotAt(row.time));
      const same = `${kind}${row.calls[head]}`;
      if (same === kept && at - last < 7) continue;
      [last, kept] = [at, same];
      const up = row.calls[head] === 2 ? -1 : 1;
      const top = y(row.mid) - up * 9;
      pen.beginPath();
      pen.moveTo(at, top + up * 4);
      pen.lineTo(at - 4, top - up * 4);
      pen.lineTo(at + 4, top - up * 4);
      pen.closePath();
      pen.lineWidth = kind === "pending" ? 1.2 : 0.6;
      pen.strokeStyle = kind === "pending" ? marks[kind] : "white";
      pen.fillStyle = marks[kind];
      if (kind !== "pending") pen.fill();
      pen.stroke();
    }
  }

  paintDelta({ context: pen }) {
    if (!this.deltaBars || !this.store.slots.length) return;
    const left = this.time.logicalToCoordinate(0);
    const wide = Math.max(1, (0.8 * this.column * this.spacing) / 250);
    const zero = this.delta.priceToCoordinate(0);
    this.deltaBars.x.forEach((time, i) => {
      const middle = left + this.store.slotAt(time) * this.spacing;
      const end = this.delta.priceToCoordinate(this.deltaBars.y[i]);
      pen.fillStyle = this.deltaBars.y[i] >= 0 ? this.config.colours.up : this.config.colours.down;
      pen.fillRect(middle - wide / 2, Math.min(zero, end), wide, Math.abs(end - zero));
    });
  }

  remove() {
    this.chart.remove();
  }
}

// "#rrggbb" as the lower three bytes of a pixel.
function packed(colour) {
  const value = parseInt(colour.slice(1), 16);
  return ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
}

function signal(row, head) {
  return row.probabilities[3 * head + 2] - row.probabilities[3 * head];
}

// Prices to show: where the market was, and as far into the book as the view is high, or to its tenth level where no more is known.
function priceRange(rows, { fine }) {
  const newest = rows.at(-1);
  if (!newest) return undefined;
  let [low, high] = [Infinity, -Infinity];
  for (const { levels } of rows) [low, high] = [Math.min(low, levels[2]), Math.max(high, levels[0])];
  if (fine && newest.bands) {
    const reach = Math.max(0.6 * (high - low), 15 * fine);
    return [Math.max(low - reach, Math.min(low, newest.bands.low)), Math.min(high + reach, Math.max(high, newest.bands.high))];
  }
  return [Math.min(low, newest.levels[38]), Math.max(high, newest.levels[36])];
}
