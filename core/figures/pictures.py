"""Figures of garment images: the ranking of the classes, sheets of pictures, and a picture cut into its patches."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from core.figures.colours import clear
from core.figures.style import BLUE, GREY, ORANGE, Write, base_layout, figure_of
from core.figures.traces import Trace, bars, chart
from core.messages import translate as _
from core.vision.pictures import Bytes, png

BLOCK: Final = 4
"""Enlargement from which on single pixels are drawn as squares."""


def picture_png(image: Bytes, *, side: int = 168) -> bytes:
    """A PNG to look at: small pictures enlarged to about `side` pixels without blurring, large ones reduced to it.

    Args:
        image: (height, width) or (height, width, 3).
    """
    longest = max(image.shape[:2])
    if longest < side:
        factor = max(1, side // longest)
        return png(image.repeat(factor, axis=0).repeat(factor, axis=1))
    drawn = Image.fromarray(image)
    drawn.thumbnail((side, side))
    return png(np.asarray(drawn))


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


def data_url(picture: bytes) -> str:
    """A PNG's bytes as an address that holds them."""
    return "data:image/png;base64," + base64.b64encode(picture).decode()


def percent(share: float) -> str:
    """A share as a percentage in English notation; a page passes a writer in its reader's language."""
    return f"{share:.1%}"


def ranking_figure(names: Sequence[str], probabilities: ArrayLike, *, write: Write = percent, height: int = 330) -> go.Figure:
    """All classes, the most probable on top, each with its probability in percent.

    Args:
        names: of the classes, in their order, for a person. probabilities: (classes,).
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(-probabilities, kind="stable")
    colours = [BLUE if rank == 0 else GREY for rank in range(len(order))]
    bar = _share_bars(probabilities[order], [names[i] for i in order], write, marker={"color": colours})
    return chart([bar], x_title=_("Probability (%)"), keep="ranking", legend=False, height=height, bargap=0.25, margin={"t": 8},
                 x={"range": [0, 115], "tickvals": [0, 25, 50, 75, 100]}, y={"autorange": "reversed", "ticks": ""})  # fmt: skip


def _share_bars(shares: NDArray[np.floating], names: Sequence[str], write: Write, **more: Any) -> Trace:
    """Shares as bars, each with its percentage at its end."""
    percents = 100 * np.asarray(shares, dtype=np.float64)
    return bars(percents, names, hover="%{y}: %{x:.3~f} %<extra></extra>", orientation="h", textposition="outside",
                text=[write(float(share) / 100) for share in percents], cliponaxis=False, **more)  # fmt: skip


def ranking_change_figure(
    names: Sequence[str],
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    *,
    write: Write = percent,
    height: int = 400,
) -> go.Figure:
    """All classes with their probability on the whole picture and on what is left of it, in percent; most probable before on top.

    Args:
        names: of the classes, in their order, for a person. before, after: (classes,).
    """
    order = np.argsort(-before, kind="stable")
    traces = [
        _share_bars(values[order], [names[i] for i in order], write, name=title, textfont={"size": 11}, marker={"color": colour})
        for title, values, colour in ((_("Whole picture"), before, GREY), (_("With patches hidden"), after, BLUE))
    ]
    return chart(traces, x_title=_("Probability (%)"), keep="change", height=height, barmode="group", bargap=0.22, bargroupgap=0,
                 x={"range": [0, 118], "tickvals": [0, 25, 50, 75, 100]}, y={"autorange": "reversed", "ticks": ""})  # fmt: skip


def patches_figure(image: Bytes, *, patch: int, outlined: int | None = None, height: int = 400) -> go.Figure:
    """The picture cut into its patches, to click on.

    Args:
        image: (side, side) grey levels, or (side, side, 3). patch: pixels along a patch.
        outlined: number of a patch, from 0, that is framed.
    """
    side, grid = len(image), len(image) // patch
    shapes = [
        {"type": "line", "line": {"color": clear("grey", 0.55), "width": 1}} | ends
        for k in range(patch, side, patch)
        for ends in ({"x0": k, "x1": k, "y0": 0, "y1": side}, {"y0": k, "y1": k, "x0": 0, "x1": side})
    ]
    if outlined is not None:
        row, column = divmod(outlined, grid)
        shapes.append(_frame_of(column * patch, row * patch, patch))
    enlarged = image.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)  # squares, where a browser would blur them
    images = [_below(Image.fromarray(enlarged), side, side)]
    return _sheet([_unseen(grid, grid, patch)], side, side, keep="patches", height=height, edge=6, shapes=shapes, images=images)


def _unseen(rows: int, columns: int, side: float) -> dict[str, Any]:
    """A trace to click on, over pictures that lie below: cells `side` wide."""
    return {"type": "heatmap", "z": np.zeros((rows, columns)), "x0": side / 2, "dx": side, "y0": side / 2, "dy": side,
            "showscale": False, "hoverinfo": "none", "opacity": 0, "name": "cells"}  # fmt: skip


def _below(picture: Image.Image, width: int, height: int) -> dict[str, Any]:
    """A picture under the traces, over `width` x `height` units from the corner."""
    return {
        "source": data_url(png(np.asarray(picture))),
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": 0,
        "sizex": width,
        "sizey": height,
        "sizing": "stretch",
        "layer": "below",
    }


def photographs_figure(
    photographs: Sequence[Bytes],
    right: Sequence[bool | None],
    *,
    columns: int,
    side: int = 64,
    chosen: int | None = None,
    height: int = 230,
) -> go.Figure:
    """Pictures as one sheet, each framed in blue where it was answered rightly, in orange where not, in grey for None.

    Args:
        photographs: each (height, width), or (height, width, 3); they are fitted into squares.
        chosen: the one with the thick frame.
    """
    rows = -(-len(photographs) // columns)
    sheet = Image.new("RGBA", (columns * side, rows * side))
    for index, photograph in enumerate(photographs):
        small = Image.fromarray(photograph)
        small.thumbnail((side - 6, side - 6))
        row, column = divmod(index, columns)
        sheet.paste(small, (column * side + (side - small.width) // 2, row * side + (side - small.height) // 2))
    shapes = []
    for index, is_right in enumerate(right):
        row, column = divmod(index, columns)
        frame = _frame_of(column * side + 1, row * side + 1, side - 2)
        frame["line"] = {
            "color": GREY if is_right is None else BLUE if is_right else ORANGE,
            "width": 5 if index == chosen else 1.5,
        }
        shapes.append(frame)
    below = [_below(sheet, columns * side, rows * side)]
    cells = _unseen(rows, columns, side)
    return _sheet([cells], columns * side, rows * side, keep="photographs", height=height, edge=4, images=below, shapes=shapes)


def image_at(x: float, y: float, *, columns: int, count: int, side: int) -> int | None:
    """Index of the picture of a sheet, or of the patch, in which a point lies; None beside them."""
    number = int(y // side) * columns + int(x // side)
    return number if 0 <= number < count else None


def _sheet(traces: list[Trace], wide: float, high: float, *, edge: int, **layout: Any) -> go.Figure:
    """A picture of wide x high square pixels, upright, without axes, with so many pixels around it."""
    plain = {"visible": False, "constrain": "domain", "fixedrange": True}
    whole = base_layout(legend=False, **{name: layout.pop(name) for name in ("keep", "height")}) | layout
    axes = {"xaxis": plain | {"range": [0, wide]}, "yaxis": plain | {"range": [high, 0], "scaleanchor": "x"}}
    return figure_of(traces, whole | axes | {"margin": dict.fromkeys("tblr", edge)})


def _frame_of(x: float, y: float, size: float) -> dict[str, Any]:
    corners = {"x0": x, "x1": x + size, "y0": y, "y1": y + size}
    return {"type": "rect", "line": {"color": ORANGE, "width": 3}, "layer": "above"} | corners
