"""Hands as small drawings (SVG): one that is held, or two that move."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.figures.style import BLUE, ORANGE

SIDE: Final = 100
EDGE: Final = 8
CHAINS: Final = ((0, 1, 2, 3, 4), (0, 5, 6, 7, 8), (5, 9, 10, 11, 12), (9, 13, 14, 15, 16), (13, 17, 18, 19, 20), (0, 17))
"""Landmarks that a line joins: the fingers, the knuckles and the palm's edge."""
FPS: Final = 30.0
MAX_FRAMES: Final = 24
"""Of a moving drawing: frames that it steps through."""

Floats = NDArray[np.floating]


def _placed(points: Floats) -> Floats:
    """Points (..., 2) in a square of `SIDE`, as large as fits, with an edge."""
    flat = points.reshape(-1, 2)
    flat = flat[np.isfinite(flat).all(axis=1)]
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = (SIDE - 2 * EDGE) / max(float((high - low).max()), 1e-6)
    return (points - (low + high) / 2) * scale + SIDE / 2


def _path(hand: Floats) -> str:
    return "".join("M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in hand[list(chain)]) for chain in CHAINS)


def _svg(inside: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}">'
        f'<g fill="none" stroke-width="3" stroke-linecap="round" stroke-linejoin="round">{inside}</g></svg>'
    )


def hand_svg(hand: Floats) -> str:
    """A hand (21, 2), right and down."""
    return _svg(f'<path stroke="{ORANGE}" d="{_path(_placed(hand))}"/>')


def moving_svg(film: Floats) -> str:
    """Hands (T, HANDS, 21, 2) that move over and over; a hand that is not seen is all zeros."""
    film = film[np.linspace(0, len(film) - 1, min(MAX_FRAMES, len(film))).astype(int)]
    seen = (film != 0).any(axis=(2, 3))
    placed = _placed(np.where(seen[:, :, None, None], film, np.nan))
    parts = []
    for slot, colour in zip(range(film.shape[1]), (ORANGE, BLUE), strict=False):
        if not seen[:, slot].any():
            continue
        values = ";".join(_path(hand) if there else "M0 0" for hand, there in zip(placed[:, slot], seen[:, slot], strict=True))
        first = _path(placed[np.flatnonzero(seen[:, slot])[0], slot])
        parts.append(
            f'<path stroke="{colour}" d="{first}"><animate attributeName="d" values="{values}" calcMode="discrete" '
            f'dur="{len(film) * 2.5 / FPS:.1f}s" repeatCount="indefinite"/></path>'
        )
    return _svg("".join(parts))
