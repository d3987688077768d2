"""Figures of signing: what a model says of each frame with the frames over it, and tracked hands as they move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.attention import MapAxis, NamedMap, ScaleKind
from core.figures.attention import map_figure as attention_map
from core.figures.attention import row_figure as attention_row
from core.figures.strip import PARTS, STRIP_PX, Strip, ends, images, step_of
from core.figures.style import GREEN, ORANGE, SEQUENTIAL, Write, three_digits
from core.figures.traces import chart, heat, line, marks, upright
from core.messages import translate as _
from core.signs.vocabulary import BLANK

MAX_LABELS: Final = 14
ROW_PX: Final = 26
MAP_THUMBS: Final = 8
"""Pictures under a map, each as high as an eighth of the map, which is a square."""
THUMBS_PX: Final = 60
"""Room that they take on a wide screen."""
TRAIL: Final = 20
"""Frames of the past that a hand drags behind it."""


def labels_shown(probabilities: NDArray[np.floating]) -> list[int]:
    """Labels for which a heatmap has room: the blank, then the likeliest of all frames, by when they peak.

    Args:
        probabilities: (T, V).
    """
    peaks = probabilities.max(axis=0)
    ranked = [int(label) for label in np.argsort(-peaks, kind="stable") if label != BLANK][: MAX_LABELS - 1]
    return [BLANK, *sorted(ranked, key=lambda label: int(probabilities[:, label].argmax()))]


def clip_axis(seconds: NDArray[np.float64]) -> MapAxis:
    """Frames of a clip by their place in it, for attention maps."""
    return MapAxis(positions=seconds, title=_("Seconds into the clip"), d3=".2f", unit=" s", kind="time")


def map_figure(
    one: NamedMap,
    *,
    of: Sequence[NamedMap] = (),
    scale: ScaleKind = "own",
    query: int | None = None,
    strip: Strip = (),
    keep: str = "map",
    write: Write = three_digits,
) -> go.Figure:
    """One map over a clip, the frames along its keys; see `core.figures.attention.map_figure`.

    Args:
        strip: `MAP_THUMBS` pictures.
    """
    figure = attention_map(one, of=of, scale=scale, query=query, keep=keep, write=write)
    if strip:  # by the map's own height, since a map stays square and is narrow on a narrow screen
        under = images(strip, ends(one.axis.positions), top=-0.01, height=1 / MAP_THUMBS, yref="y domain")
        figure.update_layout(images=under)
        figure.update_xaxes(ticklabelstandoff=THUMBS_PX, ticks="")
    return figure


def row_figure(one: NamedMap, *, query: int, strip: Strip = (), keep: str = "row") -> go.Figure:
    """Draws one frame's attention on its clip, the frames along its keys; see `core.figures.attention.row_figure`."""
    figure = attention_row(one, query=query, keep=keep)
    figure.data[0].name = _("This clip")
    left, right = ends(one.axis.positions)
    figure.update_xaxes(range=[left, right])
    if strip:
        figure.update_layout(images=images(strip, (left, right), top=0.14, height=0.14))
        figure.update_xaxes(anchor="free", position=0)
        figure.update_yaxes(domain=[0.16, 1])
        figure.update_shapes(y0=0.16)
    return figure


def clip_height(labels: int, *, strip: bool) -> int:
    """Pixels of `clip_figure`."""
    return 96 + ROW_PX * labels + (STRIP_PX if strip else 0)


def clip_figure(
    probabilities: NDArray[np.floating],
    names: Sequence[str],
    seconds: NDArray[np.float64],
    *,
    strip: Strip = (),
    keep: str = "clip",
) -> go.Figure:
    """The probability of each gloss through time, the likeliest label of each frame marked, and the frames themselves above.

    Args:
        probabilities: (T, V). names: one a label, the blank's first. seconds: (T,) of the frames, evenly spaced.
        strip: pictures of some frames.
    """
    shown = labels_shown(probabilities)
    steps, step = len(seconds), step_of(seconds)
    best = probabilities.argmax(axis=1)
    rows = {label: row for row, label in enumerate(shown)}
    marked = [t for t in range(steps) if int(best[t]) in rows]
    hover = _("{label} at {time} s: {value}").format(label="%{customdata}", time="%{x:.2f}", value="%{z:.1%}")
    traces = [
        heat(np.asarray(probabilities[:, shown].T, dtype=np.float32), SEQUENTIAL, 0, 1, hover=hover + "<extra></extra>",
             bar={"title": {"text": _("Probability"), "side": "right"}}, x0=float(seconds[0]), dx=step,
             y=np.arange(len(shown)), customdata=[[names[label]] * steps for label in shown]),
        marks(seconds[marked], [rows[int(best[t])] for t in marked], _("Likeliest label of the frame"), hover="",
              marker={"size": 6, "color": ORANGE, "line": {"width": 1, "color": "#FFFFFF"}}),
    ]  # fmt: skip
    height = clip_height(len(shown), strip=bool(strip))
    top = 1 - (STRIP_PX + 24) / height if strip else 1.0
    y = {"autorange": "reversed", "domain": [0, top], "tickvals": list(range(len(shown))), "showgrid": False}
    above: dict[str, Any] = {}
    if strip:
        pictures = images(strip, ends(seconds), top=1.0, height=1 - top - 6 / height)
        above = {"images": pictures, "legend": {"y": 1.0}}
    return chart(traces, x_title=_("Seconds into the clip"), y_title=_("Gloss"), keep=keep, height=height,
                 x={"range": list(ends(seconds)), "showgrid": False}, y=y | {"ticktext": [names[label] for label in shown]},
                 **above)  # fmt: skip


def tracks_figure(tracks: NDArray[np.floating], at: int, *, keep: str = "tracks") -> go.Figure:
    """Both hands and the nose at one frame, with the way they came, in the picture's pixels.

    Args:
        tracks: (T, 6), columns as `core.signs.tracks.COLUMNS`. at: index of the frame.
    """
    names = (_("Left hand"), _("Right hand"), _("Nose"))
    first, traces = max(0, at - TRAIL), []
    for (column, colour), name in zip(PARTS, names, strict=True):
        x, y = tracks[:, column], tracks[:, column + 1]
        way, here = slice(first, at + 1), slice(at, at + 1)
        size, symbol = (14, "circle") if column < 4 else (10, "diamond")
        traces += [
            line(x, y, colour=colour, width=1, hover="", opacity=0.2, showlegend=False),
            line(x[way], y[way], colour=colour, width=3, hover="", showlegend=False),
            marks(x[here], y[here], name, colour, size=size, symbol=symbol,
                  hover=f"{name}: %{{x:.0f}}, %{{y:.0f}}<extra></extra>"),
        ]  # fmt: skip
    across, down = _span(tracks[:, 0::2]), _span(tracks[:, 1::2])
    return chart(traces, x_title=_("x (pixels)"), y_title=_("y (pixels)"), keep=keep, x={"range": across, "constrain": "domain"},
                 y={"range": down[::-1], "scaleanchor": "x", "constrain": "domain"})  # fmt: skip


def paths_figure(tracks: NDArray[np.floating], fps: float, *, at: int | None = None, keep: str = "paths") -> go.Figure:
    """The same over time: how high each hand is, and how far to the side, seconds from the start."""
    names = (_("Left hand"), _("Right hand"), _("Nose"))
    seconds = np.arange(len(tracks)) / fps
    traces = [
        line(seconds, tracks[:, column + offset], name, colour, width=1.5, hover=f"{name}: %{{y:.0f}}<extra></extra>", yaxis=axis,
             showlegend=offset == 1, legendgroup=name)
        for (column, colour), name in zip(PARTS, names, strict=True)
        for offset, axis in ((1, "y"), (0, "y2"))
    ]  # fmt: skip
    return chart(traces, x_title=_("Seconds into the clip"), keep=keep, hover="x", x={"anchor": "y2"},
                 yaxis={"title": {"text": _("y (pixels)")}, "autorange": "reversed", "domain": [0.54, 1]},
                 yaxis2={"title": {"text": _("x (pixels)")}, "domain": [0, 0.46]},
                 shapes=[] if at is None else [upright(at / fps, GREEN)])  # fmt: skip


def _span(values: NDArray[np.floating]) -> list[float]:
    low, high = float(values.min()), float(values.max())
    room = max(10.0, 0.08 * (high - low))
    return [low - room, high + room]
