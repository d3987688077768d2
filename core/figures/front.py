"""The front page's pictures: small, there at once, and moved by `assets/scripts/home.js`.

Drawings are SVG in images, since Streamlit takes SVG out of a page's HTML.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

from core.figures.colours import PALETTE
from core.figures.hands import CHAINS

HEIGHT: Final = 100
RIBBON: Final = 11
"""Height of a ribbon of calls, where the picture is 100 high."""
COLOURS: Final = (PALETTE["orange"], PALETTE["grey"], PALETTE["blue"])
"""Of down, stationary and up."""
POINT: Final = PALETTE["point"]


def market_picture(mids: Sequence[float], calls: Sequence[int], truths: Sequence[int], *, called: str, came: str) -> str:
    """The mid-price with two ribbons below: what was called at each row, and what came of it.

    Args:
        called, came: names of the ribbons, as HTML.
    """
    low, high = min(mids), max(mids)
    room = HEIGHT - 2 * RIBBON - 10
    points = " ".join(f"{at},{4 + room * (high - mid) / ((high - low) or 1):.2f}" for at, mid in enumerate(mids))
    stroke = f'fill="none" stroke="{PALETTE["price"]}" stroke-width="2" vector-effect="non-scaling-stroke"'
    line = f'<polyline points="{points}" {stroke}/>'
    box = f"0 0 {len(mids)} {HEIGHT}"
    return (
        _drawing(line + _ribbon(calls, HEIGHT - 2 * RIBBON - 2), box)
        + _drawing(_ribbon(truths, HEIGHT - RIBBON), box)
        + f'<span class="front-called">{called}</span><span class="front-came">{came}</span>'
    )


def _drawing(content: str, box: str) -> str:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" preserveAspectRatio="none">{content}</svg>'
    return f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def _ribbon(classes: Sequence[int], top: float) -> str:
    return "".join(
        f'<rect x="{first}" y="{top}" width="{count}" height="{RIBBON}" fill="{COLOURS[one]}"/>'
        for one, first, count in _runs(classes)
        if one >= 0
    )


def _runs(classes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each run of one class: the class, its first row, and its rows."""
    first = 0
    for one, run in groupby(classes):
        count = len(list(run))
        yield one, first, count
        first += count


def photograph_picture(jpeg: str, *, proportion: float, box: Sequence[float], says: str) -> str:
    """A picture (base64) with the box that is read (edges in percent), where that is a part of it."""
    left, top, right, bottom = box
    edges = f"left:{left}%;top:{top}%;width:{right - left:.2f}%;height:{bottom - top:.2f}%"
    frame = f'<i class="front-box" style="{edges}"></i>' if tuple(box) != (0, 0, 100, 100) else ""
    size = f"width:{100 * min(1, proportion):.2f}%;height:{100 * min(1, 1 / proportion):.2f}%"
    return f'<div class="front-whole" style="{size}">{_image(jpeg, says)}{frame}</div>'


def signs_picture(frames: Sequence[Mapping[str, Any]], *, says: str) -> str:
    """One picture for each sign, the first on top, with the hands found there."""
    return "".join(
        f'<div class="front-square front-frame{" on" if not at else ""}">{_image(frame["picture"], says)}'
        f"{_drawing(''.join(map(_hand, frame['hands'])), '0 0 1 1')}</div>"
        for at, frame in enumerate(frames)
    )


def _hand(points: Sequence[Sequence[float]]) -> str:
    lines = "".join(f'<polyline points="{" ".join("{},{}".format(*points[at]) for at in bone)}"/>' for bone in CHAINS)
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="0.013"/>' for x, y in points)
    return f'<g fill="none" stroke="{COLOURS[0]}" stroke-width="0.014">{lines}</g><g fill="{POINT}">{dots}</g>'


def weights_picture(words: Sequence[str], weights: Sequence[Sequence[float]], *, says: str) -> str:
    """A heat map of attention weights (percent), a row for each word that looks."""
    heads = "".join(f"<b>{escape(word)}</b>" for word in words)
    rows = "".join(
        f"<b>{escape(word)}</b>" + "".join(f'<i style="--weight:{weight / 100:.3f}"></i>' for weight in row)
        for word, row in zip(words, weights, strict=True)
    )
    opening = f'<div class="front-matrix" role="img" aria-label="{escape(says)}" style="--words:{len(words)}">'
    return f"{opening}<b></b>{heads}{rows}</div>"


def _image(jpeg: str, says: str) -> str:
    return f'<img alt="{escape(says, quote=True)}" src="data:image/jpeg;base64,{jpeg}">'
