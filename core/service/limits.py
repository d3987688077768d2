"""Amounts that visitors may hold at once: everybody together, those of one address, one visitor; a table.

A school or an office is one address, so these are generous: they stop one that opens without end, not a class.
"""

from __future__ import annotations

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

    def take(self, address: str) -> Literal["all", "address"] | None:
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


def table() -> str:
    """The table in Markdown, as `docs/deploy.md` has it."""
    from core import workers
    from core.market import hub, windows
    from core.signs import own_clips
    from core.vision import pictures

    feeds = Limit(total=hub.MAX_FEEDS, address=hub.MAX_FEEDS_OF_ADDRESS, visitor=hub.MAX_FEEDS_OF_VIEWER)
    waiting = Limit(total=workers.MAX_WAITING, address=workers.MAX_WAITING_EACH)
    rows = {
        "live markets, and as many playbacks of one's own (an address's and a visitor's are counted together)": (feeds, 1),
        "sockets": (SOCKETS, 1),
        "cameras read": (CAMERAS, 1),
        "pictures and frames, or films, that wait to be decoded": (waiting, 1),
        "pictures kept for their links": (pictures.STORE.limit, 1),
        "clips kept for their links": (own_clips.STORE.limit, 1),
        "order-book windows kept for their links": (windows.STORE.limit, 1),
        "uploads under way": (UPLOADS, 1),
        "uploads kept and under way, MiB": (UPLOADED, MIB),
    }
    lines = ["| what is held | everybody | an address | a visitor |", "| --- | --- | --- | --- |"]
    for what, (limit, unit) in rows.items():
        cells = ["-" if most is None else f"{most // unit:,}" for most in (limit.total, limit.address, limit.visitor)]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines)
