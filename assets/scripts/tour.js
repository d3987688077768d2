// The dial of a part in the tour (pages/learn/tour.py): its states lie in the page, compressed.
import { drawPlots } from "./plain_view.js";
import "./recall.js";

const view = document.getElementById("view");
const dial = document.getElementById("dial");
const plotly = new URL("plotly-cartesian.min.js", import.meta.url).href;
drawPlots(view, plotly);

if (dial) {
  const packed = Uint8Array.from(atob(document.getElementById("states").textContent), (one) => one.charCodeAt(0));
  const open = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const states = await new Response(open).json();
  dial.addEventListener("input", () => {
    const state = states[dial.value];
    dial.closest(".tour-dial").querySelector("output").textContent = state.stop;
    const dials = Object.assign(document.createElement("p"), { className: "dials" });
    dials.textContent = state.dials.map(([name, value]) => `${name}: ${value}`).join(" · ");
    const body = document.createElement("div");
    body.innerHTML = state.body;
    const height = view.offsetHeight; // nothing jumps while the new state takes its place
    view.style.minHeight = `${height}px`;
    view.replaceChildren(dials, body);
    drawPlots(view, plotly);
    requestAnimationFrame(() => (view.style.minHeight = ""));
  });
}
