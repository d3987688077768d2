"""A sheet of pictures, a click on one of which chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import plotly.graph_objects as go

from core.figures.pictures import image_at
from pages.shared.live_plot import Point, live_plot

COLUMNS: Final = 10


def draw_sheet(
    figure: go.Figure, *, key: str, alt: str, count: int, side: int, height: int, on_pick: Callable[[int], None]
) -> None:
    """The sheet of `count` pictures, `COLUMNS` in a row, each `side` wide in the figure's units.

    Args:
        on_pick: called with the place of a picture that was clicked, from 0, before the page runs again.
    """

    def clicked(point: Point) -> None:
        if isinstance(point.x, float | int) and isinstance(point.y, float | int):
            place = image_at(point.x, point.y, columns=COLUMNS, count=count, side=side)
            if place is not None:
                on_pick(place)

    live_plot(figure, key=key, height=height, proportion=COLUMNS / -(-count // COLUMNS), on_click=clicked, alt=alt)
