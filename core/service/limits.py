"""Amounts that visitors may hold at once: everybody together, those of one address, one visitor; a table.

A school or an office is one address, so these are generous: they stop one that opens without end, not a class.
"""

import threading
from collections import Counter
from typing import Final, Literal

from core.store import Limit

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
