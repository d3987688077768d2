"""Limits on what visitors keep uploaded in the server's memory: each of them, and all together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from core.messages import Message, compose

MIB: Final = 2**20
MAX_OF_VISITOR: Final = 800 * MIB
"""Bytes of one visitor's uploads: two of the largest files that a widget takes."""
MAX_TOTAL: Final = 2_048 * MIB
"""Bytes of everybody's uploads."""


class UploadCaps:
    """Decides over each upload before it is read. Safe from any thread.

    Args:
        max_of_visitor, max_total: bytes.
    """

    def __init__(self, *, max_of_visitor: int = MAX_OF_VISITOR, max_total: int = MAX_TOTAL) -> None:
        self._max_of_visitor, self._max_total = max_of_visitor, max_total
        self._lock = threading.Lock()
        self._coming: Counter[str] = Counter()

    def begin(self, visitor: str, size: int, held: Mapping[str, int]) -> Message | None:
        """Ask for an upload, and count it as under way; a sentence says why it is refused.

        Args:
            size: bytes to come. held: bytes that are kept already, by visitor.
        """
        with self._lock:
            mine = held.get(visitor, 0) + self._coming[visitor] + size
            if mine > self._max_of_visitor:
                return compose(
                    "Your uploads would take {size} MiB, and one visitor may keep {most}: remove some, or close other tabs.",
                    size=-(-mine // MIB),
                    most=self._max_of_visitor // MIB,
                )
            if sum(held.values()) + self._coming.total() + size > self._max_total:
                return compose(
                    "All visitors' uploads together take the {most} MiB that this server keeps: try again later.",
                    most=self._max_total // MIB,
                )
            self._coming[visitor] += size
            return None

    def end(self, visitor: str, size: int) -> None:
        """The upload is over: it is kept by now, or it failed."""
        with self._lock:
            self._coming[visitor] -= size
            if self._coming[visitor] <= 0:
                del self._coming[visitor]
