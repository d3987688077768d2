"""Results kept for all viewers whose computing tells its progress: inside `st.cache_resource` nothing may be drawn."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class KeptResults(Generic[Result]):
    """The latest results by key. Two viewers who ask for one at the same time may both compute it.

    Args:
        most: results that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._found: OrderedDict[Hashable, Result] = OrderedDict()

    def known(self, key: Hashable) -> Result | None:
        """The result of this key; None where it is not kept."""
        with self._lock:
            return self._found.get(key)

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of this key, computed where it is not kept; what `compute` raises is raised, and nothing is kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        result = compute()
        with self._lock:
            self._found[key] = result
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return result
