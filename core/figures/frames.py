"""Figures of the importance of each frame for the glosses of a clip: a heatmap of all, and bars for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.strip import STRIP_PX, Strip, ends, images, step_of
from core.figures.style import BLUE, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL, base_layout, figure_of
from core.messages import translate as _
from core.signs.decoding import GlossSpan

ROW_PX: Final = 32
LEGEND_PX: Final = 30
AROUND_PX: Final = 150
"""Colour bar and time axis."""
AXIS_PX: Final = 48
"""Of a value axis: its title, its ticks and the space between; LETTER_PX: of a letter of a tick's label."""
LETTER_PX: Final = 7.5
VALUE_LETTERS: Final = 6
"""Of a tick's value, at most."""


def _inner_height(glosses: int) -> int:
    """Pixels from the strip's upper edge to the lowest row: the strip, the legend, and a row a gloss."""
    return STRIP_PX + LEGEND_PX + ROW_PX * max(2, glosses)


def glosses_height(glosses: int) -> int:
    """Pixels of `glosses_figure`."""
    return _inner_height(glosses) + AROUND_PX


def left_px(titles: Sequence[str]) -> int:
    """Pixels left of both figures' frames, so that a moment stands at one place in the two: room for all ticks' labels."""
    return AXIS_PX + round(LETTER_PX * max([VALUE_LETTERS, *map(len, titles)]))


def glosses_figure(
    rows: NDArray[np.floating],
    glosses: Sequence[GlossSpan],
    names: Sequence[str],
    seconds: NDArray[np.float64],
    *,
    chosen: int,
    measure: str,
    strip: Strip = (),
    keep: str = "glosses",
) -> go.Figure:
    """Glosses by frames: the importance of each frame for each gloss, its own frames outlined, the clip above.

    Args:
        rows: (glosses, T'), NaN where not computed; a diverging scale where some speak against a gloss.
        names: of the vocabulary's labels. chosen: the row that is framed. measure: what is shown, for the colour bar.
    """
    step, known = step_of(seconds), rows[np.isfinite(rows)]
    top = float(np.abs(known).max()) if len(known) and np.abs(known).max() > 0 else 1.0
    signed = bool((known < 0).any())
    titles = [names[one.label] for one in glosses]
    bar: dict[str, Any] = {"title": {"text": measure, "side": "top"}, "orientation": "h", "y": 1.0, "yanchor": "bottom"}
    bar |= {"thickness": 8, "outlinewidth": 0, "ticks": "", "nticks": 5}  # above, which leaves a narrow screen its width
    heat = {
        "type": "heatmap", "name": "glosses", "z": np.asarray(rows, dtype=np.float32), "x0": float(seconds[0]), "dx": step,
        "y": np.arange(len(glosses)), "zmin": -top if signed else 0.0, "zmax": top, "colorbar": bar,
        "colorscale": DIVERGING if signed else SEQUENTIAL, "customdata": [[title] * len(seconds) for title in titles],
        "hoverongaps": False,
        "hovertemplate": _("{label}, frame at {time} s: {value}").format(
            label="%{customdata}", time="%{x:.2f}", value="%{z:.3~g}"
        ) + "<extra></extra>",
    }  # fmt: skip
    peaks = {
        "type": "scatter", "mode": "markers", "name": _("Surest frame of the gloss"), "hoverinfo": "skip",
        "x": np.asarray([seconds[one.peak] for one in glosses]), "y": np.arange(len(glosses)),
        "marker": {"size": 7, "color": ORANGE, "line": {"width": 1, "color": "#FFFFFF"}},
    }  # fmt: skip
    run = {
        "type": "scatter", "mode": "markers", "name": _("Frames read as this gloss"), "hoverinfo": "skip",
        "x": [None], "y": [None], "marker": {"symbol": "square-open", "size": 12, "color": GREY, "line": {"width": 2}},
    }  # fmt: skip
    inner = _inner_height(len(glosses))
    under = 1 - (STRIP_PX + LEGEND_PX) / inner if strip else 1.0
    left, right = ends(seconds)
    layout = base_layout(x_title=_("Seconds into the clip"), y_title=_("Gloss"), keep=keep, height=glosses_height(len(glosses)))
    layout["xaxis"] |= {"range": [left, right], "showgrid": False}
    layout["yaxis"] |= {
        "range": [len(glosses) - 0.5, -0.5], "domain": [0, under], "tickvals": list(range(len(glosses))), "ticktext": titles,
        "showgrid": False,
    }  # fmt: skip
    layout["shapes"] = [
        {"type": "rect", "x0": float(seconds[one.first]) - step / 2, "x1": float(seconds[one.last]) + step / 2, "y0": row - 0.45,
         "y1": row + 0.45, "line": {"color": ORANGE if row == chosen else GREY, "width": 2}, "layer": "above"}
        for row, one in enumerate(glosses)
    ]  # fmt: skip
    layout["shapes"].append(
        {"type": "rect", "x0": left, "x1": right, "y0": chosen - 0.5, "y1": chosen + 0.5, "line": {"color": ORANGE, "width": 2},
         "layer": "above"}
    )  # fmt: skip
    layout["margin"] = {"l": left_px(titles)}
    layout["images"] = images(strip, (left, right), top=1.0, height=STRIP_PX / inner)
    layout["legend"] = {"y": under}
    return figure_of([heat, peaks, run], layout)


def gloss_figure(
    row: NDArray[np.floating],
    gloss: GlossSpan,
    seconds: NDArray[np.float64],
    *,
    counted: Sequence[int],
    measure: str,
    left: int | None = None,
    keep: str = "gloss",
) -> go.Figure:
    """One gloss: a bar a frame, those that count most in full colour, its own frames and its surest one marked.

    Args:
        row: (T',) importance. counted: indices of the frames that count most. measure: title of the value axis.
        left: pixels left of the frames, `left_px` of a figure above.
    """
    half, values = step_of(seconds) / 2, np.asarray(row, dtype=np.float32)
    strong = np.isin(np.arange(len(values)), np.asarray(counted, dtype=int))
    bars = {
        "type": "bar", "x": seconds, "y": values, "name": measure, "showlegend": False,
        "marker": {"color": [ORANGE if value < 0 else BLUE for value in values], "opacity": np.where(strong, 1.0, 0.45),
                   "line": {"width": 0}},
        "hovertemplate": _("{time} s: {value}").format(time="%{x:.2f}", value="%{y:.3~g}") + "<extra></extra>",
    }  # fmt: skip
    own = {
        "type": "scatter", "mode": "lines", "name": _("Frames read as this gloss"), "hoverinfo": "skip",
        "x": [float(seconds[gloss.first]) - half, float(seconds[gloss.last]) + half], "y": [0, 0],
        "line": {"color": GREY, "width": 7},
    }  # fmt: skip
    peak = {
        "type": "scatter", "mode": "markers", "name": _("Surest frame of the gloss"), "hoverinfo": "skip",
        "x": [float(seconds[gloss.peak])], "y": [float(max(0.0, values[gloss.peak]))],
        "marker": {"symbol": "diamond", "size": 11, "color": GREEN, "line": {"width": 1, "color": "#FFFFFF"}},
    }  # fmt: skip
    layout = base_layout(x_title=_("Seconds into the clip"), y_title=measure, keep=keep, hover="x") | {"bargap": 0.08}
    layout["xaxis"] |= {"range": list(ends(seconds)), "showgrid": False}
    if left is not None:
        layout["margin"] = {"l": left}
    return figure_of([own, bars, peak], layout)
