"""Windows of the book that are kept: frozen from a feed, or cut from a recording.

The newest few hundred frozen windows stay in memory as long as the process runs.
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from core.market.book import FEATURES, STEP_MS, BookRows, FloatArray, first_fault
from core.market.grid import segments
from core.messages import Refusal
from core.store import BoundedStore, Limit

KEPT = Limit(total=256, address=128, visitor=64)
MAX_BYTES = 64 * 2**20
"""Of all windows together; one takes 43 kilobytes."""


class WindowError(Refusal, ValueError):
    """A window that is not valid; the message says what was wrong and what would be right."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FrozenWindow:
    """Consecutive rows of one book. Windows with the same content are equal; their arrays are read-only.

    Attributes:
        timestamps: (n,) int64, milliseconds UTC, 250 apart. levels: (n, 40) in `FEATURES` order, oldest first.
        market: the feed's key and symbol ("live/binance/NEXO/USDT"), by which a card recognises the market.
        predictor: name of the checkpoint to read it with.

    Raises:
        WindowError: for other shapes, a gap, or rows that are not a book.
    """

    timestamps: NDArray[np.int64]
    levels: FloatArray
    market: str
    predictor: str

    def __post_init__(self) -> None:
        timestamps, levels = np.array(self.timestamps, dtype=np.int64), np.array(self.levels, dtype=np.float64)
        if timestamps.ndim != 1 or not len(timestamps) or levels.shape != (len(timestamps), len(FEATURES)):
            raise WindowError(
                "the window has {times} timestamps and {levels} levels: (n,) and (n, {columns}) are right",
                times=timestamps.shape,
                levels=levels.shape,
                columns=len(FEATURES),
            )
        if (np.diff(timestamps) != STEP_MS).any():
            raise WindowError("the window has a gap: its rows must be {step} ms apart", step=STEP_MS)
        if fault := first_fault(levels):
            raise WindowError("the window {fault} (row {row})", fault=fault.what, row=fault.row)
        for name, array in (("timestamps", timestamps), ("levels", levels)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @cached_property
    def id(self) -> str:
        """Hash of the content, twelve hexadecimal digits, for links."""
        digest = blake2b(digest_size=6)
        for part in (self.timestamps.tobytes(), self.levels.tobytes(), self.market.encode(), self.predictor.encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def seconds(self) -> FloatArray:
        """(n,) seconds relative to the newest row: -31.75 to 0 for 128 rows."""
        return (self.timestamps - self.timestamps[-1]) / 1e3


STORE: BoundedStore[FrozenWindow] = BoundedStore(
    key=lambda window: window.id,
    size=lambda window: window.timestamps.nbytes + window.levels.nbytes,
    limit=KEPT,
    max_bytes=MAX_BYTES,
)
"""Frozen windows of this process; `STORE.keep(window)` returns the id for `?frozen=`."""


def window_ends(timestamps: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Rows, in rising order, at which a window of `steps` rows without a gap ends; empty where no stretch is long enough."""
    ends = [np.arange(piece.start + steps - 1, piece.stop, dtype=np.int64) for piece in segments(timestamps)]
    return np.concatenate(ends)


class RecordedWindows:
    """All windows without a gap of one recording, by the second at which they end, counted from its first row.

    Args:
        rows: the recording, on the 250 ms grid. steps: rows per window. market: see `FrozenWindow`.

    Attributes:
        first, last: seconds at which the earliest and the latest window end.

    Raises:
        WindowError: where no stretch of the recording is long enough.
    """

    def __init__(self, rows: BookRows, steps: int, *, market: str) -> None:
        self.rows, self.steps, self.market = rows, steps, market
        self._ends = window_ends(rows.timestamps, steps)
        if not len(self._ends):
            raise WindowError("the recording has no stretch of {steps} rows without a gap: a window needs that many", steps=steps)
        self._seconds = (rows.timestamps[self._ends] - rows.timestamps[0]) / 1e3
        self.first, self.last = float(self._seconds[0]), float(self._seconds[-1])

    def nearest(self, second: float) -> float:
        """The last second up to this one at which a window ends, or the first at all where there is none before."""
        return float(self._seconds[self._at(second)])

    def window(self, second: float, *, predictor: str) -> FrozenWindow:
        """The window that ends at `nearest(second)`."""
        end = int(self._ends[self._at(second)]) + 1
        part = self.rows[end - self.steps : end]
        return FrozenWindow(timestamps=part.timestamps, levels=part.levels, market=self.market, predictor=predictor)

    def _at(self, second: float) -> int:
        return max(0, int(np.searchsorted(self._seconds, second + STEP_MS / 2e3, side="right")) - 1)
