"""Figures of CTC: what each frame says, the trellis of the extended target, the gradient. Frames run to the right, from 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.cells import cell_text
from core.figures.draft import Draft
from core.figures.play import Play, PlayFrame
from core.figures.style import BLUE, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL, base_layout
from core.messages import translate as _
from core.signs.ctc import Lattice, lattice, sources_of

Quantity = Literal["gamma", "alpha", "beta"]
QUANTITIES: tuple[Quantity, ...] = ("gamma", "alpha", "beta")

READABLE = 120
"""Most cells that still carry their numbers."""
ROW_PX = 34
"""Height of a state or a label, pixels."""


def frames_figure(probabilities: NDArray[np.float64], names: Sequence[str], *, keep: str = "frames") -> go.Figure:
    """Draws the labels of each frame: (T, V) probabilities, labels down, frames across."""
    return _table(probabilities, names, colours=SEQUENTIAL, title=_("Probability"), low=0, high=1, form=".3~f", keep=keep)


def gradient_figure(gradient: NDArray[np.float64], names: Sequence[str], *, keep: str = "gradient") -> go.Figure:
    """dLoss / dLogits (T, V): orange falls and blue rises with the logit; a step of descent goes the other way."""
    end = float(np.nanmax(np.abs(gradient), initial=0.0)) or 1.0
    return _table(gradient, names, colours=DIVERGING, title=_("Gradient"), low=-end, high=end, form="+.2f", keep=keep)


def _table(
    values: NDArray[np.float64],
    names: Sequence[str],
    *,
    colours: Any,
    title: str,
    low: float,
    high: float,
    form: str,
    keep: str,
) -> go.Figure:
    steps, labels = values.shape
    figure = Draft(
        {
            "type": "heatmap",
            "z": np.asarray(values.T, dtype=np.float32),
            "x": np.arange(1, steps + 1),
            "y": np.arange(labels),
            "zmin": low,
            "zmax": high,
            "colorscale": colours,
            "xgap": 1,
            "ygap": 1,
            "texttemplate": f"%{{z:{form}}}" if values.size <= READABLE and colours is not DIVERGING else None,
            "customdata": np.repeat(np.asarray(names)[:, None], steps, axis=1).tolist(),
            "hovertemplate": _("frame {frame}, {label}: {value}").format(frame="%{x}", label="%{customdata}", value="%{z:.4~g}")
            + "<extra></extra>",
            "colorbar": {"title": {"text": title, "side": "right"}, "thickness": 8, "outlinewidth": 0, "ticks": ""},
        }
    )
    if values.size <= READABLE and colours is DIVERGING:
        figure.add_trace(cell_text(values.T, form, first=1))
    layout = base_layout(x_title=_("Frame"), y_title=_("Label"), keep=keep, legend=False, height=90 + ROW_PX * labels)
    figure.update_layout(layout)
    figure.update_yaxes(autorange="reversed", tickvals=list(range(labels)), ticktext=list(names), showgrid=False)
    figure.update_xaxes(showgrid=False, range=[0.5, steps + 0.5], dtick=1 if steps <= 24 else None)
    return figure.figure()


def trellis_figure(
    trellis: Lattice,
    names: Sequence[str],
    *,
    quantity: Quantity = "gamma",
    best: Sequence[int] | None = None,
    selected: tuple[int, int] | None = None,
    keep: str = "trellis",
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
    figure = Draft()
    for skips, name, colour, width in ((False, _("Stay or next state"), GREY, 1.0), (True, _("Skip over a blank"), GREEN, 1.5)):
        x, y = _edges(trellis, reachable, skips=skips)
        if x:
            figure.add_scatter(
                x=x, y=y, mode="lines", name=name, line={"color": colour, "width": width}, opacity=0.55, hoverinfo="skip"
            )
    if best is not None:
        figure.add_scatter(
            x=np.arange(1, steps + 1),
            y=np.asarray(best),
            mode="lines",
            name=_("Likeliest path"),
            line={"color": ORANGE, "width": 4},
            hoverinfo="skip",
        )
    values = {"gamma": trellis.posteriors, "alpha": trellis.alpha, "beta": trellis.beta}[quantity]
    frame, state = np.divmod(np.arange(steps * states), states)
    shown = np.where(reachable, values, np.nan).ravel()
    small = steps * states > READABLE * 2
    bounds = (0.0, 1.0) if quantity == "gamma" else _bounds(shown)
    bar = {"thickness": 8, "outlinewidth": 0, "ticks": "", "title": {"text": _quantity(quantity), "side": "right"}}
    labels = [names[label] for label in trellis.states]
    for lying, mask in ((True, reachable.ravel()), (False, ~reachable.ravel())):
        marker: dict[str, Any] = {"size": 9 if small else 17, "line": {"width": 1, "color": GREY}}
        if lying:
            marker |= {"color": shown[mask], "colorscale": SEQUENTIAL, "cmin": bounds[0], "cmax": bounds[1], "colorbar": bar}
        else:
            marker |= {"color": "rgba(0,0,0,0)", "size": 7}
        value = "%{marker.color:.4~g}" if lying else _("on no valid path")
        where = _("frame {frame}, state {state}").format(frame="%{x}", state="%{y} %{text}")
        figure.add_scatter(
            x=frame[mask] + 1,
            y=state[mask],
            mode="markers",
            name="states" if lying else "unreachable",
            showlegend=False,
            text=[labels[s] for s in state[mask]],
            marker=marker,
            hovertemplate=f"{where}: {value}<extra></extra>",
        )
    if selected is not None:
        figure.add_scatter(
            x=[selected[0] + 1],
            y=[selected[1]],
            mode="markers",
            showlegend=False,
            marker={"symbol": "square-open", "size": 20 if small else 30, "color": BLUE, "line": {"width": 2.5}},
            hoverinfo="skip",
        )
    layout = base_layout(
        x_title=_("Frame"), y_title=_("State of the extended target"), keep=keep, height=max(260, 130 + ROW_PX * states)
    )
    figure.update_layout(layout)
    ticks = [f"{s} {label}" for s, label in enumerate(labels)]
    figure.update_yaxes(range=[states - 0.4, -0.6], tickvals=list(range(states)), ticktext=ticks, showgrid=False)
    figure.update_xaxes(range=[0.4, steps + 0.6], dtick=1 if steps <= 24 else None, showgrid=False)
    return figure.figure()


def trellis_play(figure: go.Figure, captions: Sequence[str]) -> Play:
    """The trellis of `trellis_figure`, filled frame by frame; a caption a frame. It opens full."""
    cut = [index for index, trace in enumerate(figure.data) if trace.mode == "lines" or trace.name == "states"]
    frames = [PlayFrame(shown=(step + 1,) * len(cut), caption=caption) for step, caption in enumerate(captions)]
    return Play(how=dict.fromkeys(cut, "upto"), frames=frames, start=len(frames) - 1)


def _quantity(quantity: Quantity) -> str:
    return {"gamma": _("P(state | target)"), "alpha": _("ln α"), "beta": _("ln backward")}[quantity]


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


def _bounds(values: NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) and finite.min() < finite.max() else (-1.0, 0.0)
