"""The rows since the last gap, as windows that a predictor reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from core.market.book import LEVELS, STEP_MS, FloatArray
from core.market.grid import Gap, GridItem, Row


class RunningWindow:
    """The last `span` rows since the last gap; used by one thread at a time."""

    def __init__(self, span: int) -> None:
        self._rows: deque[FloatArray] = deque(maxlen=span)
        self._length = self._last_ms = 0

    def restart(self) -> None:
        """A gap: no window spans it."""
        self._rows.clear()
        self._length = 0

    def take(self, batch: Sequence[GridItem]) -> tuple[list[int], list[FloatArray], int]:
        """Take a batch in.

        Returns:
            After each item, rows since the last gap; the windows (span, 40) that end in the batch; when the last of them ends,
            milliseconds since the epoch (0 without one).
        """
        lengths: list[int] = []
        windows: list[FloatArray] = []
        newest_ms = 0
        for item in batch:
            if isinstance(item, Gap):
                self.restart()
            elif isinstance(item, Row):
                if item.timestamp != self._last_ms + STEP_MS:
                    self.restart()
                self._last_ms = item.timestamp
                self._rows.append(item.levels[: 4 * LEVELS])
                self._length += 1
                if len(self._rows) == self._rows.maxlen:
                    windows.append(np.stack(self._rows))
                    newest_ms = item.timestamp
            lengths.append(self._length)
        return lengths, windows, newest_ms
