"""Figures of the importance of each frame for the glosses of a clip: a heatmap of all, and bars for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.strip import STRIP_PX, Strip, ends, images, step_of
from core.figures.style import BLUE, DIVERGING, GREEN, GREY, ORANGE, SEQUENTIAL
from core.figures.traces import Trace, bars, chart, heat, line, marks
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
    bar = {"title": {"text": measure, "side": "top"}, "orientation": "h", "y": 1.0, "yanchor": "bottom", "nticks": 5}
    hover = _("{label}, frame at {time} s: {value}").format(label="%{customdata}", time="%{x:.2f}", value="%{z:.3~g}")
    traces = [
        heat(np.asarray(rows, dtype=np.float32), DIVERGING if signed else SEQUENTIAL, -top if signed else 0.0, top, bar=bar,
             hover=hover + "<extra></extra>", name="glosses", x0=float(seconds[0]), dx=step, y=np.arange(len(glosses)),
             customdata=[[title] * len(seconds) for title in titles], hoverongaps=False),
        marks(seconds[[one.peak for one in glosses]], np.arange(len(glosses)), _("Surest frame of the gloss"), hover="",
              marker={"size": 7, "color": ORANGE, "line": {"width": 1, "color": "#FFFFFF"}}),
        marks([None], [None], _("Frames read as this gloss"), hover="",
              marker={"symbol": "square-open", "size": 12, "color": GREY, "line": {"width": 2}}),
    ]  # fmt: skip
    inner = _inner_height(len(glosses))
    under = 1 - (STRIP_PX + LEGEND_PX) / inner if strip else 1.0
    left, right = ends(seconds)
    frames = [
        _frame(
            float(seconds[one.first]) - step / 2,
            float(seconds[one.last]) + step / 2,
            row,
            0.45,
            ORANGE if row == chosen else GREY,
        )
        for row, one in enumerate(glosses)
    ]
    return chart(traces, x_title=_("Seconds into the clip"), y_title=_("Gloss"), keep=keep, height=glosses_height(len(glosses)),
                 x={"range": [left, right], "showgrid": False},
                 y={"range": [len(glosses) - 0.5, -0.5], "domain": [0, under], "tickvals": list(range(len(glosses))),
                    "ticktext": titles, "showgrid": False},
                 shapes=[*frames, _frame(left, right, chosen, 0.5, ORANGE)], margin={"l": left_px(titles)},
                 images=images(strip, (left, right), top=1.0, height=STRIP_PX / inner), legend={"y": under})  # fmt: skip


def _frame(left: float, right: float, row: int, half: float, colour: str) -> Trace:
    """An outline about a row's cells."""
    line = {"color": colour, "width": 2}
    return {"type": "rect", "x0": left, "x1": right, "y0": row - half, "y1": row + half, "line": line, "layer": "above"}


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
    run = [float(seconds[gloss.first]) - half, float(seconds[gloss.last]) + half]
    hover = _("{time} s: {value}").format(time="%{x:.2f}", value="%{y:.3~g}")
    traces = [
        line(run, [0, 0], _("Frames read as this gloss"), GREY, width=7, hover=""),
        bars(seconds, values, measure, hover=hover + "<extra></extra>", showlegend=False,
             marker={"color": [ORANGE if value < 0 else BLUE for value in values],
                     "opacity": np.where(strong, 1.0, 0.45), "line": {"width": 0}}),
        marks([float(seconds[gloss.peak])], [float(max(0.0, values[gloss.peak]))], _("Surest frame of the gloss"), hover="",
              marker={"symbol": "diamond", "size": 11, "color": GREEN, "line": {"width": 1, "color": "#FFFFFF"}}),
    ]  # fmt: skip
    margin = {} if left is None else {"margin": {"l": left}}
    return chart(traces, x_title=_("Seconds into the clip"), y_title=measure, keep=keep, hover="x", bargap=0.08,
                 x={"range": list(ends(seconds)), "showgrid": False}, **margin)  # fmt: skip
