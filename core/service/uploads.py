"""Limits on what visitors keep uploaded in the server's memory: each of them, and all together."""

import threading
from collections import Counter
from collections.abc import Mapping

from core.messages import Message, compose
from core.service.limits import MIB, UPLOADED, UPLOADS, Places
from core.store import Holder, Limit


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
