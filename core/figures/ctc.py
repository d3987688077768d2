"""The trellis of CTC, frames to the right, from 1 (iiga-equations 11)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.style import BLUE, GREEN, GREY, ORANGE, SEQUENTIAL
from core.figures.traces import Trace, chart, line, marks
from core.messages import translate as _
from core.signs.ctc import Lattice, lattice, sources_of
from core.signs.ctc_lab import Quantity

READABLE = 120
"""Most cells that still carry their numbers."""
ROW_PX = 34
"""Height of a state or a label, pixels."""


def trellis_figure(
    trellis: Lattice,
    names: Sequence[str],
    *,
    quantity: Quantity = "gamma",
    best: Sequence[int],
    selected: tuple[int, int],
) -> go.Figure:
    """The trellis: a column of states a frame, a line a step that CTC allows, coloured by alpha, beta or gamma.

    States and steps that lie on no valid path are left faint. Skips over a blank have a line of their own.

    Args:
        names: of the labels, the blank's first.
        quantity: gamma is shown as it is, alpha and beta as natural logarithms.
        best: (T,) the states of the likeliest path, drawn over the lines.
        selected: (frame, state) that is framed.
    """
    steps, states = trellis.alpha.shape
    # where every label is certain, only what CTC forbids is impossible
    certain = lattice(np.zeros_like(trellis.log_probabilities), trellis.target, skip=trellis.skip)
    reachable = np.isfinite(certain.alpha + certain.beta)
    traces: list[Trace] = []
    for skips, name, colour, width in ((False, _("Stay or next state"), GREY, 1.0), (True, _("Skip over a blank"), GREEN, 1.5)):
        x, y = _edges(trellis, reachable, skips=skips)
        if x:
            traces.append(line(x, y, name, colour, width=width, hover="", opacity=0.55))
    traces.append(line(np.arange(1, steps + 1), np.asarray(best), _("Likeliest path"), ORANGE, width=4, hover=""))
    traces += _states(trellis, reachable, quantity, [names[label] for label in trellis.states])
    square = {"symbol": "square-open", "size": 20 if _crowded(trellis) else 30, "color": BLUE, "line": {"width": 2.5}}
    traces.append(marks([selected[0] + 1], [selected[1]], hover="", showlegend=False, marker=square))
    ticks = [f"{s} {names[label]}" for s, label in enumerate(trellis.states)]
    return chart(
        traces,
        x_title=_("Frame"),
        y_title=_("State of the extended target"),
        keep="trellis",
        height=max(260, 130 + ROW_PX * states),
        x={"range": [0.4, steps + 0.6], "dtick": 1 if steps <= 24 else None, "showgrid": False},
        y={"range": [states - 0.4, -0.6], "tickvals": list(range(states)), "ticktext": ticks, "showgrid": False},
    )


def _crowded(trellis: Lattice) -> bool:
    return trellis.alpha.size > READABLE * 2


def _states(trellis: Lattice, reachable: NDArray[np.bool_], quantity: Quantity, labels: Sequence[str]) -> list[Trace]:
    """The states of every frame: on valid paths in the colour of their number, the others faint."""
    values = {"gamma": trellis.posteriors, "alpha": trellis.alpha, "beta": trellis.beta}[quantity]
    steps, states = trellis.alpha.shape
    traces: list[Trace] = []
    frame, state = np.divmod(np.arange(steps * states), states)
    shown = np.where(reachable, values, np.nan).ravel()
    finite = shown[np.isfinite(shown)] if quantity != "gamma" else np.array([0.0, 1.0])
    low, high = (finite.min(), finite.max()) if len(finite) and finite.min() < finite.max() else (-1.0, 0.0)
    title = {"gamma": _("P(state | target)"), "alpha": "ln α", "beta": _("ln backward α")}[quantity]
    bar = {"thickness": 8, "outlinewidth": 0, "ticks": "", "title": {"text": title, "side": "right"}}
    for lying, mask in ((True, reachable.ravel()), (False, ~reachable.ravel())):
        marker: dict[str, Any] = {"size": 9 if _crowded(trellis) else 17, "line": {"width": 1, "color": GREY}}
        if lying:
            marker |= {"color": shown[mask], "colorscale": SEQUENTIAL, "cmin": low, "cmax": high, "colorbar": bar}
        else:
            marker |= {"color": "rgba(0,0,0,0)", "size": 7}
        value = "%{marker.color:.4~g}" if lying else _("on no valid path")
        where = _("frame {frame}, state {state}").format(frame="%{x}", state="%{y} %{text}")
        traces.append(
            marks(
                frame[mask] + 1,
                state[mask],
                "states" if lying else "unreachable",
                hover=f"{where}: {value}<extra></extra>",
                showlegend=False,
                text=[labels[s] for s in state[mask]],
                marker=marker,
            )
        )
    return traces


def _edges(trellis: Lattice, reachable: NDArray[np.bool_], *, skips: bool) -> tuple[list[float | None], list[float | None]]:
    """Line segments between states on valid paths, parted by None."""
    x: list[float | None] = []
    y: list[float | None] = []
    steps, states = trellis.alpha.shape
    for s in range(states):
        for source in sources_of(trellis.states, s, skip=trellis.skip):
            if (s - source == 2) is skips:
                for t in range(1, steps):
                    if reachable[t, s] and reachable[t - 1, source]:
                        x += [t, t + 1, None]
                        y += [source, s, None]
    return x, y
