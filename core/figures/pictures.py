"""Figures of garment images: the ranking of the classes, and pictures with frames drawn on them."""

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw

from core.figures.style import BLUE, GREY, ORANGE, Scale, Write
from core.figures.traces import Trace, bars, chart, heat
from core.messages import translate as _
from core.vision.pictures import Bytes, png

BLOCK: Final = 3
"""Enlargement from which on single pixels are drawn as squares."""


def fitted_png(image: Bytes, *, side: int) -> bytes:
    """A PNG whose longest side is `side` pixels and the other 1 at least; smoothed, unless its pixels become `BLOCK` wide.

    Args:
        image: (height, width) or (height, width, 3).
    """
    drawn = Image.fromarray(image)
    scale = side / max(drawn.size)
    width, height = (max(1, round(length * scale)) for length in drawn.size)
    kind = Image.Resampling.NEAREST if scale >= BLOCK else Image.Resampling.LANCZOS
    return png(np.asarray(drawn.resize((width, height), kind)))


def thumbnail(image: Bytes, *, side: int = 72) -> str:
    """A small JPEG of a picture as an address that holds it, a fourth of its PNG."""
    drawn, file = Image.fromarray(image), BytesIO()
    scale = side / max(drawn.size)
    drawn.resize([max(1, round(length * scale)) for length in drawn.size]).save(file, "JPEG", quality=85)
    return data_url(file.getvalue())


def framed_png(image: Bytes, frames: Sequence[Sequence[float]], *, side: int) -> bytes:
    """As `fitted_png`, with frames drawn on it, the first in orange and the others in grey.

    Args:
        frames: left, top, right and bottom of each, percent of width and height.
    """
    drawn = Image.open(BytesIO(fitted_png(image, side=side))).convert("RGB")
    pen = ImageDraw.Draw(drawn)
    for place, (left, top, right, bottom) in reversed(list(enumerate(frames))):
        corners = (left * drawn.width, top * drawn.height, right * drawn.width, bottom * drawn.height)
        pen.rectangle([corner / 100 for corner in corners], outline=GREY if place else ORANGE, width=3)
    return png(np.asarray(drawn))


def data_url(picture: bytes) -> str:
    """The bytes of a picture (JPEG, PNG or SVG) as an address that holds them."""
    kind = "svg+xml" if picture.startswith(b"<svg") else "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64," + base64.b64encode(picture).decode()


def percent(share: float) -> str:
    """A share as a percentage in English notation; a page passes a writer in its reader's language."""
    return f"{share:.1%}"


def ranking_figure(
    names: Sequence[str], probabilities: ArrayLike, *, after: ArrayLike | None = None, write: Write = percent, height: int = 330
) -> go.Figure:
    """All classes, the most probable on top, each with its probability in percent.

    Args:
        names: of the classes, in their order, for a person. probabilities: (classes,).
        after: (classes,) the same with patches hidden, drawn beside them.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(-probabilities, kind="stable")
    shown = [names[i] for i in order]
    if after is None:
        colours = [BLUE if rank == 0 else GREY for rank in range(len(order))]
        traces = [_share_bars(probabilities[order], shown, write, marker={"color": colours})]
    else:
        traces = [
            _share_bars(np.asarray(values)[order], shown, write, name=title, textfont={"size": 11}, marker={"color": colour})
            for title, values, colour in ((_("Whole picture"), probabilities, GREY), (_("With patches hidden"), after, BLUE))
        ]
    return chart(traces, x_title=_("Probability") + " (%)", keep="ranking", legend=after is not None, height=height, bargap=0.25,
                 barmode="group", bargroupgap=0, **({"margin": {"t": 8}} if after is None else {}),
                 x={"range": [0, 118], "tickvals": [0, 25, 50, 75, 100]}, y={"autorange": "reversed", "ticks": ""})  # fmt: skip


def salience_figure(pixels: Bytes, salience: NDArray[np.floating]) -> go.Figure:
    """Figure of how much each pixel of a picture stands out, 0 to 1, over the picture in grey.

    Args:
        pixels: (height, width, 3). salience: (height, width).
    """
    height, width = salience.shape
    scale: Scale = [(0.0, "rgba(0, 0, 0, 0.75)"), (1.0, "rgba(255, 215, 64, 0.65)")]
    picture = {
        "source": thumbnail(pixels, side=max(height, width)),
        "xref": "x",
        "yref": "y",
        "layer": "below",
        "sizing": "stretch",
    }
    place = {"x": -0.5, "y": -0.5, "sizex": width, "sizey": height}
    trace = heat(salience, scale, 0, 1, bar={"title": {"text": _("Stands out")}}, hover="%{x}, %{y}: %{z:.2f}<extra></extra>")
    return chart(
        [trace],
        x_title=_("Column (pixels)"),
        y_title=_("Row (pixels)"),
        keep="salience",
        height=480,
        images=[picture | place],
        x={"range": [-0.5, width - 0.5], "constrain": "domain"},
        y={"range": [height - 0.5, -0.5], "scaleanchor": "x", "constrain": "domain"},
    )


def _share_bars(shares: NDArray[np.floating], names: Sequence[str], write: Write, **more: Any) -> Trace:
    """Shares as bars, each with its percentage at its end."""
    percents = 100 * np.asarray(shares, dtype=np.float64)
    return bars(percents, names, hover="%{y}: %{x:.3~f} %<extra></extra>", orientation="h", textposition="outside",
                text=[write(float(share) / 100) for share in percents], cliponaxis=False, **more)  # fmt: skip
