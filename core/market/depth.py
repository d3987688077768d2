"""The price bands of a session's newest rows (`core.market.bands`), kept as what changed from row to row."""

from collections import deque
from itertools import islice
from typing import Final

from core.market.bands import BandChange, Bands, Ladder, bands_of, change_of
from core.market.book import LEVELS, FloatArray, mid_price

DEEP_ROWS: Final = 1_200
"""Newest rows whose bands are kept: five minutes."""


class DepthHistory:
    """The bands of a session's newest rows, as changes, for the frames of its stream.

    A row without bands of its own gets them from its levels past the tenth, by a ladder that is chosen once; one that has none
    has no bands either.
    """

    def __init__(self, capacity: int = DEEP_ROWS) -> None:
        self._rows: deque[Bands | None] = deque(maxlen=capacity)
        self.ladder: Ladder | None = None

    def append(self, levels: FloatArray, bands: Bands | None, tick: float) -> BandChange | None:
        """A row's change since the row before it; levels (40 + 4m,)."""
        if bands is None and len(levels) > 4 * LEVELS and (self.ladder or tick):
            sides = levels.reshape(-1, 2, 2)
            ladder = self.ladder or Ladder.of(float(mid_price(levels)), tick)
            bands = bands_of(sides[:, 0], sides[:, 1], ladder)
        before = self._rows[-1] if self._rows else None
        self._rows.append(bands)
        if bands is None:
            return None
        self.ladder = bands.ladder
        return change_of(before, bands)

    def drop_last(self, count: int) -> None:
        """Rows that are no rows (D27)."""
        for _ in range(min(count, len(self._rows))):
            self._rows.pop()

    def clear(self) -> None:
        """Drop every row."""
        self._rows.clear()

    def snapshot(self, count: int) -> list[BandChange | None]:
        """The last `count` rows' changes, the first of them whole, oldest first; fewer where fewer are kept."""
        rows = list(islice(reversed(self._rows), count))[::-1]
        pairs = zip([None, *rows], rows, strict=False)
        return [None if after is None else change_of(before, after) for before, after in pairs]
