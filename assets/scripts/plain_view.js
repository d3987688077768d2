// Plots of a view as plain HTML (pages/learn/plain_view.py), drawn by plotly.js with the page's colours once they come into sight.
import { loadPlotly, merge, theme } from "./live_plot.js";

export function drawPlots(root, plotly) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target, plotly);
    }
  }, { rootMargin: "50%" });
  for (const figure of root.querySelectorAll("figure.plot")) seen.observe(figure);
}

async function draw(figure, address) {
  const Plotly = await loadPlotly(address);
  const { data, layout } = JSON.parse(figure.dataset.figure);
  for (const trace of data) if (trace.type === "bar" && figure.clientWidth < 56 * (trace.x?.length ?? 0)) trace.textposition = "none";
  layout.template = merge(theme(figure), layout.template ?? {});
  layout.height = figure.clientHeight;
  layout.width = figure.clientWidth;
  layout.dragmode = false;
  Plotly.newPlot(figure, data, layout, { displayModeBar: false, responsive: true });
}
