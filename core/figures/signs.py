"""A figure of signing: what a model says of each frame, with the frames over it."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.strip import STRIP_PX, Strip, ends, images, step_of
from core.figures.style import ORANGE, SEQUENTIAL
from core.figures.traces import chart, heat, marks
from core.messages import translate as _
from core.signs.vocabulary import BLANK

MAX_LABELS: Final = 14
ROW_PX: Final = 26


def labels_shown(probabilities: NDArray[np.floating]) -> list[int]:
    """Labels for which a heatmap has room: the blank, then the likeliest of all frames, by when they peak.

    Args:
        probabilities: (T, V).
    """
    peaks = probabilities.max(axis=0)
    ranked = [int(label) for label in np.argsort(-peaks, kind="stable") if label != BLANK][: MAX_LABELS - 1]
    return [BLANK, *sorted(ranked, key=lambda label: int(probabilities[:, label].argmax()))]


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
              marker={"size": 6, "color": ORANGE, "line": {"width": 1, "color": "white"}}),
    ]  # fmt: skip
    height = clip_height(len(shown), strip=bool(strip))
    top = 1 - (STRIP_PX + 24) / height if strip else 1.0
    y = {"autorange": "reversed", "domain": [0, top], "tickvals": list(range(len(shown))), "showgrid": False}
    above: dict[str, Any] = {}
    if strip:
        pictures = images(strip, ends(seconds), top=1.0, height=1 - top - 6 / height)
        above = {"images": pictures, "legend": {"y": 1.0}}
    return chart(
        traces,
        x_title=_("Seconds into the clip"),
        y_title=_("Gloss"),
        keep=keep,
        height=height,
        x={"range": list(ends(seconds)), "showgrid": False},
        y=y | {"ticktext": [names[label] for label in shown]},
        **above,
    )
