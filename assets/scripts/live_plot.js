// A plot that keeps its DOM node, its zoom and the reader's choices when its figure changes.
// Python sends {figure: the figure's JSON, chrome} (pages/shared/live_plot.py). Plots are drawn by plotly.js, which the app serves
// from the installed Python package.

import { colour } from "../../attention_light/scripts/colours.js";
import { element } from "../../attention_light/scripts/dom.js";
import { mounted } from "./mounted.js";

let plotly = null; // a promise of the library, shared by all plots of the page

export function loadPlotly(address) {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly")));
    script.onerror = () => reject(new Error("not reachable"));
    document.head.appendChild(script);
  }).catch((error) => {
    plotly = null; // the next figure tries again
    throw error;
  });
  return plotly;
}

const ICONS = {
  png: { width: 24, height: 24, path: "M4 4h16v16H4z M6 6v9l3.5-4 3 3.5 2.5-2.5 3 3V6z" },
  svg: { width: 24, height: 24, path: "M3 3h5v2h8V3h5v5h-2v8h2v5h-5v-2H8v2H3v-5h2V8H3z M7 8v8h1v1h8v-1h1V8h-1V7H8v1z" },
};

class LivePlot {
  constructor(parent) {
    this.figure = element("figure", "live-plot", parent);
    this.plot = element("div", "", this.figure);
    this.caption = element("figcaption", "live-plot-said", this.figure); // its values, for who does not see them
    this.parent = parent;
    this.figure.livePlot = this;
    this.updates = 0;
    this.resizer = new ResizeObserver(() => this.fit());
    this.resizer.observe(this.figure);
    this.inView = false; // beyond what the reader sees nothing is drawn, and once they scroll, beyond half a screen of it
    this.watch("0%");
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("scroll", () => this.watch("50%"), { capture: true, once: true, signal });
    const print = () => {
      this.inView = true;
      this.draw();
    };
    window.addEventListener("beforeprint", print, { signal });
    document.addEventListener("visibilitychange", () => this.draw(), { signal }); // a hidden page draws a figure once and no changes
  }

  // Whether it is within this margin of the screen; the page scrolls inside of an element of its own.
  watch(margin) {
    this.viewer?.disconnect();
    this.viewer = new IntersectionObserver(
      (entries) => {
        this.inView = entries.at(-1).isIntersecting;
        this.draw();
      },
      { rootMargin: margin, scrollMargin: margin },
    );
    this.viewer.observe(this.figure);
  }

  // Take a figure in; draw it unless a newer one comes first or nobody looks.
  show({ figure, chrome }) {
    this.chrome = chrome;
    this.figure.setAttribute("aria-label", chrome.alt);
    this.figure.style.height = `${chrome.height}px`;
    this.next = figure;
    return this.draw();
  }

  async draw() {
    if (this.drawing || !this.next || this.closed || !this.inView) return;
    if (document.hidden && this.updates > 0) return;
    this.drawing = true;
    try {
      const Plotly = await loadPlotly(this.chrome.plotly);
      // Of a page that opens, what the reader does comes between two plots.
      if (this.updates === 0) await new Promise((turn) => setTimeout(turn));
      while (!this.closed && this.next) await this.plotNewest(Plotly);
    } catch (error) {
      if (!this.closed) this.fail(error); // the next figure tries again
    } finally {
      this.drawing = false;
    }
  }

  // The newest figure, unless it looks like the one shown.
  async plotNewest(Plotly) {
    this.last = this.next;
    this.next = null;
    const ground = theme(this.parent);
    const look = JSON.stringify([this.last, ground, this.chrome.height, this.chrome.language]);
    if (look === this.look) return;
    const figure = JSON.parse(this.last);
    await Plotly.react(this.plot, identified(figure.data), this.layout(figure.layout, ground), this.config(Plotly));
    this.look = look;
    this.say();
    if (this.updates === 0) this.listen();
    await painted();
    this.figure.dataset.updates = ++this.updates;
    this.figure.querySelector(".live-plot-missing")?.remove();
  }

  // A figure's layout over the page's colours, fonts and the reader's language.
  layout(layout, ground) {
    layout.template = merge(ground, layout.template ?? {});
    layout.uirevision ??= "keep";
    layout.autosize = true;
    layout.height = this.chrome.height;
    layout.separators ??= separators(this.chrome.language);
    // A finger that drags a plot means to scroll the page.
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode ??= false;
    return layout;
  }

  // Made once a language: for a config that is not the same, plotly would build the plot anew.
  config(Plotly) {
    if (this.configured?.language === this.chrome.language) return this.configured.config;
    const label = this.chrome.labels;
    const button = (format, title) => ({ name: format, title, icon: ICONS[format], click: () => this.download(Plotly, format) });
    const config = {
      displaylogo: false,
      responsive: false, // the observer below also sees the sidebar open
      locale: this.chrome.language,
      locales: { [this.chrome.language]: { dictionary: label.modebar, format: {} } },
      modeBarButtonsToRemove: ["toImage", "sendChartToCloud", "lasso2d", "select2d"],
      modeBarButtonsToAdd: [button("png", label.png), button("svg", label.svg)],
    };
    this.configured = { language: this.chrome.language, config };
    return config;
  }

  // The drawing's text is positions without an order; a sentence has the values.
  say() {
    for (const drawing of this.plot.querySelectorAll("svg.main-svg")) drawing.setAttribute("aria-hidden", "true");
    this.caption.textContent = values(this.plot._fullData ?? [], this.chrome.labels.values, this.chrome.language);
  }

  listen() {
    this.plot.on("plotly_click", ({ points }) => {
      if (this.chrome.clicks && points?.length) this.component.setTriggerValue("click", describe(points[0]));
    });
  }

  download(Plotly, format) {
    const { width, height } = this.plot.getBoundingClientRect();
    const layout = { ...this.plot.layout, paper_bgcolor: css(this.parent, "--st-background-color", "white"), width, height };
    const { filename } = this.chrome;
    return Plotly.downloadImage({ data: this.plot.data, layout }, { format, filename, width, height, scale: format === "png" ? 2 : 1 });
  }

  fit() {
    cancelAnimationFrame(this.fitting);
    this.fitting = requestAnimationFrame(() => {
      if (this.closed || this.updates === 0 || this.figure.clientWidth === 0) return;
      window.Plotly.Plots.resize(this.plot);
    });
  }

  fail(error) {
    console.warn("plot not drawn:", error.message);
    if (this.figure.querySelector(".live-plot-missing")) return;
    element("p", "live-plot-missing", this.figure).textContent = this.chrome.labels.missing;
  }

  close() {
    this.closed = true;
    this.resizer.disconnect();
    this.viewer.disconnect();
    this.listeners.abort();
    window.Plotly?.purge(this.plot);
    this.figure.remove();
  }
}

export const receive = mounted((parent) => new LivePlot(parent));

// plotly remembers a trace's visibility by its uid, and would make a new one for every figure.
function identified(traces) {
  const taken = new Set();
  for (const [i, trace] of traces.entries()) {
    // It also becomes part of a CSS selector: letters and digits alone.
    trace.uid ??= `${trace.type ?? "scatter"}-${trace.name ?? i}`.replace(/[^A-Za-z0-9_-]/g, "-");
    if (taken.has(trace.uid)) trace.uid += `-${i}`;
    taken.add(trace.uid);
  }
  return traces;
}

function painted() {
  return document.hidden ? Promise.resolve() : new Promise((done) => requestAnimationFrame(() => done()));
}

export function css(element, name, otherwise) {
  const value = getComputedStyle(element).getPropertyValue(name).trim();
  return value && value !== "unset" ? value : otherwise;
}

// The page's colours as the lowest layer of a plotly template: what a figure sets itself wins.
export function theme(element) {
  const text = css(element, "--st-text-color", colour("text"));
  const line = css(element, "--st-border-color", colour("grey"));
  const background = css(element, "--st-background-color", "white");
  const axis = { gridcolor: line, linecolor: line, tickcolor: line, zerolinecolor: line };
  const grown = 0.86 * parseFloat(getComputedStyle(document.documentElement).fontSize); // grows with the page's text
  return {
    layout: {
      font: { color: text, family: css(element, "--st-font", "sans-serif"), size: Math.round(grown) || 13 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: axis,
      yaxis: axis,
      hoverlabel: { bgcolor: background, bordercolor: line, font: { color: text } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: text, activecolor: css(element, "--st-primary-color", text) },
    },
  };
}

export function merge(under, over) {
  const plain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const out = { ...under };
  for (const [key, value] of Object.entries(over)) out[key] = plain(value) && plain(under[key]) ? merge(under[key], value) : value;
  return out;
}

export function separators(language) {
  const parts = new Intl.NumberFormat(language).formatToParts(12345.6);
  const of = (type) => parts.find((part) => part.type === type)?.value ?? "";
  return of("decimal") + of("group");
}

const MAX_SAID = 4; // traces
const MAX_BARS = 10;

// A sentence for each trace that has a name or is alone: its bars, its largest cell, or its ends and extremes.
export function values(traces, templates, language) {
  const format = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
  const written = (value) => (typeof value === "number" ? format.format(value) : String(value ?? ""));
  const fill = (template, parts) => template.replace(/\{(\w+)\}/g, (_, name) => written(parts[name]));
  const shown = traces.filter((trace) => trace.visible === true);
  const parts = shown.slice(0, MAX_SAID).map((trace) => {
    const name = trace.name && !/^trace \d+$/.test(trace.name) ? `${trace.name}: ` : "";
    const sentence = trace.type === "heatmap" ? ofCells(trace, fill, templates) : ofPoints(trace, fill, templates, written);
    return sentence && name + sentence;
  });
  return parts.filter(Boolean).join(" ");
}

function ofCells({ z, x, y }, fill, templates) {
  let [min, max, at] = [Infinity, -Infinity, [0, 0]];
  for (const [row, cells] of [...(z ?? [])].entries())
    for (const [column, value] of [...cells].entries()) {
      if (value < min) min = value;
      if (value > max) [max, at] = [value, [row, column]];
    }
  if (max === -Infinity) return "";
  return fill(templates.cells, { rows: z.length, columns: z[0].length, min, max, row: y?.[at[0]] ?? at[0] + 1, column: x?.[at[1]] ?? at[1] + 1 });
}

function ofPoints({ type, orientation, x, y }, fill, templates, written) {
  const [along, across] = type === "bar" && orientation === "h" ? [y, x] : [x, y];
  const heights = [...(across ?? [])].filter((value) => typeof value === "number" && Number.isFinite(value));
  if (heights.length === 0) return "";
  if (type === "bar" && heights.length <= MAX_BARS)
    return `${[...across].map((value, at) => `${written(along?.[at] ?? at + 1)} ${written(value)}`).join("; ")}.`;
  const [min, max] = heights.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  return fill(templates.points, { count: heights.length, first: heights[0], last: heights.at(-1), min, max });
}

function describe(point) {
  const plain = (value) => (typeof value === "number" || typeof value === "string" ? value : null);
  return { x: plain(point.x), y: plain(point.y), trace: point.data?.name ?? "" };
}
