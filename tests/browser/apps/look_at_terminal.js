// What a person sees of the terminal: pixels of its panes by place, and its words. `look.configure` and `look.take` draw first.
window.look = (() => {
  const EDGE = 12; // pixels on either side of a gap in which what lies at its edge may still be drawn
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const screen = () => document.querySelector(".terminal").terminal;
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))));

  // Coloured pixels of a pane in each column: lines, bars, sizes and marks are, grid and words are not.
  function columns(pane) {
    const all = [...pane.getHTMLElement().querySelectorAll("canvas")];
    const wide = Math.max(...all.map(({ width }) => width));
    const counts = new Array(wide).fill(0);
    for (const canvas of all.filter(({ width, height }) => width === wide && height)) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b, a] = [data[i], data[i + 1], data[i + 2], data[i + 3]];
        if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 40) counts[(i >> 2) % wide] += 1;
      }
    }
    return counts;
  }

  const sum = (counts, from = 0, to = counts.length) => counts.slice(Math.max(0, Math.ceil(from)), Math.max(0, Math.floor(to))).reduce((a, b) => a + b, 0);

  // Stretches of slots without what a pane's line joins, as pixels, inside of what lies at their edges.
  function gaps(slots, there, x) {
    const found = [];
    let last = -1;
    slots.forEach((slot, i) => {
      if (!there(slot)) return;
      if (last >= 0 && i - last > 1) found.push([x(last) + EDGE, x(i) - EDGE]);
      last = i;
    });
    return found.filter(([from, to]) => to - from > 4 && to > 0);
  }

  function see() {
    const { chart, store, root, answer: { root: side } } = screen();
    const panes = chart.chart.panes().map(columns);
    const left = chart.time.logicalToCoordinate(0) ?? 0;
    const spacing = (chart.time.logicalToCoordinate(1) ?? 1) - left;
    const x = (slot) => left + slot * spacing;
    const row = (slot) => Boolean(slot.levels);
    const holes = [row, (slot) => row(slot) && slot.predicted, row].map((there) => gaps(store.slots, there, x));
    const inView = store.slots.filter((_, i) => x(i) > 0);
    const due = [inView.some(row), inView.filter((slot) => slot.predicted).length > 10, store.trades.some(({ time }) => time > (inView[0]?.time ?? 0))];
    const last = x(store.slots.length - 1);
    const words = [...root.querySelectorAll(".terminal-ladder .rows span, .bar em, .terminal-tape:not([hidden]) li, .terminal-under, .terminal-scale")];
    const lit = screen().light.newest;
    const lines = [...root.querySelectorAll(".terminal-ladder button:not([hidden])")];
    const prices = (lines.length ? screen().ladder.places : []).map((place) => place * chart.tick);
    const centres = lines.map((line) => (line.getBoundingClientRect().top + line.getBoundingClientRect().bottom) / 2 - root.querySelector(".terminal-plot").getBoundingClientRect().top);
    return {
      newest: store.newest?.time,
      coloured: panes.map((counts) => sum(counts)),
      empty: ["price", "signal", "delta"].filter((_, i) => due[i] && sum(panes[i]) < 12),
      overGaps: panes.map((counts, i) => holes[i].reduce((total, [from, to]) => total + sum(counts, from, to), 0)),
      gaps: holes[0].length,
      beforeTheFirst: panes.map((counts) => sum(counts, 0, left - EDGE)),
      keepsUp: sum(panes[0], last - 6, last + 2) > 0,
      called: side.dataset.old === "yes" ? "No call yet" : side.querySelector(".called").textContent,
      ladder: [prices[0], prices.at(-1)],
      offTheAxis: Math.max(0, ...centres.map((y, i) => Math.abs(y - chart.bid.priceToCoordinate(prices[i])))),
      mid: store.newest?.mid,
      outcomes: store.scores[screen().config.head]?.outcomes ?? 0,
      waits: side.querySelector("progress").hidden ? null : ["value", "max"].map((name) => side.querySelector("progress")[name]),
      bars: side.dataset.old === "yes" ? "" : [...side.querySelectorAll(".bar em")].map((one) => one.textContent).join(""),
      strip: [...root.querySelectorAll(".terminal-strip dd")].map((one) => one.textContent),
      words: words.map((one) => one.textContent.trim()).filter(Boolean).concat(lit ? ["light"] : []),
    };
  }

  async function configure(config) {
    const { receive } = await import("/assets/scripts/terminal.js");
    const parent = document.querySelector("#screen");
    await receive({ data: config, parentElement: parent, setTriggerValue() {}, setStateValue() {} });
    screen().socket = null; // there is no stream, whose loss would be told
    screen().message({ status: config.statusNames.indexOf("replaying"), text: "" });
    await drawn();
    return see();
  }

  async function take(frames) {
    for (const frame of frames) {
      if (frame.startsWith("{")) screen().message(JSON.parse(frame));
      else screen().receive(bytes(frame));
    }
    await drawn();
    return see();
  }

  return { configure, take };
})();
