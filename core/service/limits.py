"""Amounts that visitors may hold at once: everybody together, those of one address, one visitor; a table, and who counts.

A school or an office is one address, so these are generous: they stop one that opens without end, not a class.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

from core.messages import Message, compose
from core.store import Holder, Limit

MIB: Final = 2**20
SOCKETS: Final = Limit(total=2_000, address=500)
"""Sockets: a page has one or two, so 250 tabs of one school."""
CAMERAS: Final = Limit(total=4, address=3)
"""Cameras that are read: each takes about a third of a core at ten frames a second. One address leaves a place to others."""
UPLOADS: Final = Limit(total=64, address=32)
"""Uploads under way."""
UPLOADED: Final = Limit(total=2_048 * MIB, address=1_600 * MIB, visitor=800 * MIB)
"""Bytes of uploads, kept and under way: of a visitor two of the largest files that a widget takes."""


class Places:
    """Counts what is held of one thing. Safe from any thread."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    def acquire(self, address: str) -> Literal["all", "address"] | None:
        """Hold one more; says what is full where that cannot be.

        Args:
            address: `Visitor.limited_by`; "" counts among all alone.
        """
        with self._lock:
            if self._held.total() >= self.limit.total:
                return "all"
            if address and self.limit.address is not None and self._held[address] >= self.limit.address:
                return "address"
            self._held[address] += 1
            return None

    def give_back(self, address: str) -> None:
        """Hold one less."""
        with self._lock:
            self._held -= Counter([address])  # drops who holds nothing

    @property
    def held(self) -> int:
        """Places that are held now."""
        return self._held.total()


class UploadCaps:
    """Decides over each upload before it is read. Safe from any thread.

    Args:
        bytes_of: bytes kept and under way. under_way: uploads.
    """

    def __init__(self, *, bytes_of: Limit = UPLOADED, under_way: Limit = UPLOADS) -> None:
        self._limit, self._under_way = bytes_of, Places(under_way)
        self._lock = threading.Lock()
        self._coming: Counter[Holder] = Counter()

    def begin(self, by: Holder, size: int, held: Mapping[Holder, int]) -> Message | None:
        """Ask for an upload, and count it as under way; a sentence says why it is refused.

        Args:
            size: bytes to come. held: bytes that are kept already.
        """
        visitor, address = by
        with self._lock:
            kept = Counter(held) + self._coming
            mine = sum(count for (other, _), count in kept.items() if other == visitor) + size
            near = sum(count for (_, other), count in kept.items() if other == address) + size
            if self._limit.visitor is not None and mine > self._limit.visitor:
                return compose(
                    "Your uploads would take {size} MiB, and one visitor may keep {most}: remove some, or close other tabs.",
                    size=-(-mine // MIB),
                    most=self._limit.visitor // MIB,
                )
            if address and self._limit.address is not None and near > self._limit.address:
                return compose(
                    "Your address' uploads would take {size} MiB, and it may keep {most}: remove some, or close other tabs.",
                    size=-(-near // MIB),
                    most=self._limit.address // MIB,
                )
            if kept.total() + size > self._limit.total:
                return compose(
                    "All visitors' uploads together take the {most} MiB that this server keeps: try again later.",
                    most=self._limit.total // MIB,
                )
            if self._under_way.acquire(address) is not None:
                return compose("Too many uploads are under way: try again once some of them are over.")
            self._coming[by] += size
            return None

    def end(self, by: Holder, size: int) -> None:
        """The upload is over: it is kept by now, or it failed."""
        with self._lock:
            self._under_way.give_back(by[1])
            self._coming -= Counter({by: size})
