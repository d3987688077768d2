"""Figures of signing: what a model says of each frame with the frames over it, and tracked hands as they move."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.attention import MapAxis, NamedMap
from core.figures.attention import row_figure as attention_row
from core.figures.style import BLUE, GREEN, GREY, ORANGE, SEQUENTIAL, base_layout
from core.figures.words import Translate, untranslated
from core.signs.vocabulary import BLANK

MOST_LABELS: Final = 14
ROW_PX: Final = 26
STRIP_PX: Final = 84
TRAIL: Final = 20
"""Frames of the past that a hand drags behind it."""

_PARTS: Final = ((0, BLUE), (2, ORANGE), (4, GREY))
"""Column of x and colour: left hand, right hand, nose."""


def labels_shown(probabilities: NDArray[np.floating], *, most: int = MOST_LABELS) -> list[int]:
    """Which labels a heatmap has room for: the blank, then the likeliest of all frames, by when they peak.

    Args:
        probabilities: (T, V).
    """
    peaks = probabilities.max(axis=0)
    ranked = [int(label) for label in np.argsort(-peaks, kind="stable") if label != BLANK][: most - 1]
    return [BLANK, *sorted(ranked, key=lambda label: int(probabilities[:, label].argmax()))]


def even_indices(count: int, most: int) -> list[int]:
    """At most so many frames of a clip, evenly, each in the middle of its share."""
    wanted = min(count, most)
    return [int((place + 0.5) * count / wanted) for place in range(wanted)]


def clip_axis(seconds: NDArray[np.float64], *, _: Translate = untranslated) -> MapAxis:
    """Frames of a clip by their place in it, for attention maps."""
    return MapAxis(positions=seconds, title=_("Seconds into the clip"), d3=".2f", unit=" s", kind="time")


def row_figure(one: NamedMap, *, query: int, keep: str = "row", _: Translate = untranslated) -> go.Figure:
    """What one frame of a clip looks at; see `core.figures.attention.row_figure`."""
    figure = attention_row(one, query=query, keep=keep, _=_)
    figure.data[0].name = _("This clip")
    return figure


def clip_height(labels: int, *, strip: bool) -> int:
    """Pixels of `clip_figure`."""
    return 96 + ROW_PX * labels + (STRIP_PX if strip else 0)


def clip_figure(
    probabilities: NDArray[np.floating],
    names: Sequence[str],
    seconds: NDArray[np.float64],
    *,
    strip: Sequence[tuple[int, bytes]] = (),
    keep: str = "clip",
    _: Translate = untranslated,
) -> go.Figure:
    """The probability of each gloss through time, the likeliest label of each frame marked, and the frames themselves above.

    Args:
        probabilities: (T, V). names: one a label, the blank's first. seconds: (T,) of the frames, evenly spaced.
        strip: index and JPEG of some frames.
    """
    shown = labels_shown(probabilities)
    steps, step = len(seconds), float(seconds[1] - seconds[0]) if len(seconds) > 1 else 1.0
    best = probabilities.argmax(axis=1)
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(probabilities[:, shown].T, dtype=np.float32),
            x0=float(seconds[0]),
            dx=step,
            y=np.arange(len(shown)),
            zmin=0,
            zmax=1,
            colorscale=SEQUENTIAL,
            customdata=[[names[label]] * steps for label in shown],
            hovertemplate=_("{label} at {time} s: {value}").format(label="%{customdata}", time="%{x:.2f}", value="%{z:.1%}")
            + "<extra></extra>",
            colorbar={"title": {"text": _("Probability"), "side": "right"}, "thickness": 8, "outlinewidth": 0, "ticks": ""},
        )
    )
    rows = {label: row for row, label in enumerate(shown)}
    marked = [t for t in range(steps) if int(best[t]) in rows]
    figure.add_scatter(
        x=seconds[marked],
        y=[rows[int(best[t])] for t in marked],
        mode="markers",
        name=_("Likeliest label of the frame"),
        marker={"size": 6, "color": ORANGE, "line": {"width": 1, "color": "#FFFFFF"}},
        hoverinfo="skip",
    )
    height = clip_height(len(shown), strip=bool(strip))
    figure.update_layout(base_layout(x_title=_("Seconds into the clip"), y_title=_("Gloss"), keep=keep, height=height))
    top = 1 - (STRIP_PX + 24) / height if strip else 1.0
    ends = [float(seconds[0]) - step / 2, float(seconds[-1]) + step / 2]
    figure.update_xaxes(range=ends, showgrid=False)
    figure.update_yaxes(
        autorange="reversed",
        domain=[0, top],
        tickvals=list(range(len(shown))),
        ticktext=[names[label] for label in shown],
        showgrid=False,
    )
    if strip:
        width = (ends[1] - ends[0]) / len(strip)
        for place, (_index, jpeg) in enumerate(strip):
            figure.add_layout_image(
                source="data:image/jpeg;base64," + b64encode(jpeg).decode(),
                xref="x",
                yref="paper",
                x=ends[0] + (place + 0.5) * width,
                y=1,
                sizex=width * 0.96,
                sizey=1 - top - 6 / height,
                xanchor="center",
                yanchor="top",
                sizing="contain",
                layer="above",
            )
        figure.update_layout(legend={"y": 1.0})
    return figure


def tracks_figure(tracks: NDArray[np.floating], at: int, *, keep: str = "tracks", _: Translate = untranslated) -> go.Figure:
    """Both hands and the nose at one frame, with the way they came, in the picture's pixels.

    Args:
        tracks: (T, 6), columns as `core.signs.tracks.COLUMNS`. at: index of the frame.
    """
    names = (_("Left hand"), _("Right hand"), _("Nose"))
    first = max(0, at - TRAIL)
    figure = go.Figure()
    for (column, colour), name in zip(_PARTS, names, strict=True):
        x, y = tracks[:, column], tracks[:, column + 1]
        figure.add_scatter(
            x=x, y=y, mode="lines", line={"color": colour, "width": 1}, opacity=0.2, hoverinfo="skip", showlegend=False
        )
        figure.add_scatter(
            x=x[first : at + 1],
            y=y[first : at + 1],
            mode="lines",
            line={"color": colour, "width": 3},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=x[at : at + 1],
            y=y[at : at + 1],
            mode="markers",
            name=name,
            marker={"color": colour, "size": 14 if column < 4 else 10, "symbol": "circle" if column < 4 else "diamond"},
            hovertemplate=f"{name}: %{{x:.0f}}, %{{y:.0f}}<extra></extra>",
        )
    figure.update_layout(base_layout(x_title=_("x (pixels)"), y_title=_("y (pixels)"), keep=keep))
    across, down = _span(tracks[:, 0::2]), _span(tracks[:, 1::2])
    figure.update_xaxes(range=across, constrain="domain")
    figure.update_yaxes(range=down[::-1], scaleanchor="x", constrain="domain")
    return figure


def paths_figure(
    tracks: NDArray[np.floating], fps: float, *, at: int | None = None, keep: str = "paths", _: Translate = untranslated
) -> go.Figure:
    """The same over time: how high each hand is, and how far to the side, seconds from the start."""
    names = (_("Left hand"), _("Right hand"), _("Nose"))
    seconds = np.arange(len(tracks)) / fps
    figure = go.Figure()
    for (column, colour), name in zip(_PARTS, names, strict=True):
        for offset, axis in ((1, "y"), (0, "y2")):
            figure.add_scatter(
                x=seconds,
                y=tracks[:, column + offset],
                yaxis=axis,
                name=name,
                mode="lines",
                line={"color": colour, "width": 1.5},
                showlegend=offset == 1,
                legendgroup=name,
                hovertemplate=f"{name}: %{{y:.0f}}<extra></extra>",
            )
    layout: dict[str, Any] = base_layout(x_title=_("Seconds into the clip"), keep=keep, hover="x")
    layout["xaxis"]["anchor"] = "y2"
    layout["yaxis"] = {"title": {"text": _("y (pixels)")}, "autorange": "reversed", "domain": [0.54, 1]}
    layout["yaxis2"] = {"title": {"text": _("x (pixels)")}, "domain": [0, 0.46]}
    figure.update_layout(layout)
    if at is not None:
        figure.add_vline(x=at / fps, line={"color": GREEN, "width": 1.5})
    return figure


def _span(values: NDArray[np.floating]) -> list[float]:
    low, high = float(values.min()), float(values.max())
    room = max(10.0, 0.08 * (high - low))
    return [low - room, high + room]
