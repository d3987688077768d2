"""Keeps what visitors brought or froze (windows, pictures, clips) in memory, so that a link finds it while the app runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedStore(Generic[Value]):
    """The values last used in this process, by the hash of their content. Safe from any thread.

    Where there are too many, or they take too many bytes, the one unused for longest goes first. The newest always stays, also
    where it is larger than `max_bytes` by itself.

    Args:
        key: hash of a value's content; values with the same key count as the same.
        size: bytes that a value takes.
        most: values kept. max_bytes: bytes kept.

    Raises:
        ValueError: for a limit below 1.
    """

    def __init__(self, *, key: Callable[[Value], str], size: Callable[[Value], int], most: int, max_bytes: int) -> None:
        if most < 1 or max_bytes < 1:
            raise ValueError(f"a store of {most} values and {max_bytes} bytes at most keeps nothing: both must be 1 or more")
        self._key, self._size = key, size
        self._most, self._most_bytes = most, max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, value: Value) -> str:
        """Keep a value as the newest, in place of an earlier one of the same key; returns its key."""
        key, size = self._key(value), self._size(value)
        with self._lock:
            earlier = self._entries.pop(key, None)
            self._bytes += size - (earlier[1] if earlier else 0)
            self._entries[key] = value, size
            while len(self._entries) > 1 and (len(self._entries) > self._most or self._bytes > self._most_bytes):
                self._bytes -= self._entries.popitem(last=False)[1][1]
        return key

    def find(self, key: str) -> Value | None:
        """The value of that key, which becomes the last used; None where it is not kept (any longer)."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def values(self) -> list[Value]:
        """All values, the last used first."""
        with self._lock:
            return [value for value, _size in reversed(self._entries.values())]
