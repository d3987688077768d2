"""Keeps what visitors brought or froze (windows, pictures, clips) in memory, so that a link finds it while the app runs."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Value = TypeVar("Value")
Name = TypeVar("Name", bound=Hashable)
Holder = tuple[str, str]
"""A visitor and the address that limits are counted by; "" for one that is not counted."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Most of something that may be held: by all together, those of one address, one visitor (None: not counted)."""

    total: int
    address: int | None = None
    visitor: int | None = None


@dataclass
class _Entry(Generic[Value]):
    value: Value
    size: int
    holders: set[Holder] = field(default_factory=set)


class BoundedStore(Generic[Value]):
    """The values last used in this process, by the hash of their content. Safe from any thread.

    A visitor with too many loses the one of their own that is unused for longest, and so does an address. Where all together have
    too many, or they take too many bytes, whoever keeps most loses one. What several brought stays until all have lost it. The
    newest always stays, also where it is larger than `max_bytes` by itself.

    Args:
        key: hash of a value's content; values with the same key count as the same.
        size: bytes that a value takes.
        limit: values kept. max_bytes: bytes kept.

    Raises:
        ValueError: for a limit below 1.
    """

    def __init__(self, *, key: Callable[[Value], str], size: Callable[[Value], int], limit: Limit, max_bytes: int) -> None:
        if limit.total < 1 or max_bytes < 1:
            raise ValueError(
                f"a store of {limit.total} values and {max_bytes} bytes at most keeps nothing: both must be 1 or more"
            )
        self._key, self._size = key, size
        self.limit, self._most_bytes = limit, max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry[Value]] = OrderedDict()
        self._bytes = 0

    def keep(self, value: Value, by: Holder = ("", "")) -> str:
        """Keep a value as the newest, in place of an earlier one of the same key; returns its key."""
        key, size = self._key(value), self._size(value)
        with self._lock:
            earlier = self._entries.pop(key, None)
            self._bytes += size - (earlier.size if earlier else 0)
            self._entries[key] = _Entry(value, size, {by} | (earlier.holders if earlier else set()))
            self._make_room(*by)
        return key

    def _make_room(self, visitor: str, address: str) -> None:
        """Let go of values until all limits hold, for the visitor who brought the newest."""
        if visitor and self.limit.visitor is not None:
            self._let_go(lambda holder: holder == (visitor, address), self.limit.visitor)
        if address and self.limit.address is not None:
            self._let_go(lambda holder: holder[1] == address, self.limit.address)
        while len(self._entries) > 1 and (len(self._entries) > self.limit.total or self._bytes > self._most_bytes):
            heavy = self._bytes > self._most_bytes
            older = list(self._entries.values())[:-1]
            kept = [(holder, entry.size if heavy else 1) for entry in older for holder in sorted(entry.holders)]
            address = _heaviest([(_group(holder), weight) for holder, weight in kept])
            self._drop_oldest(_heaviest([one for one in kept if _group(one[0]) == address]).__eq__)

    def _let_go(self, counts: Callable[[Holder], bool], most: int) -> None:
        while sum(any(map(counts, entry.holders)) for entry in self._entries.values()) > most:
            self._drop_oldest(counts)

    def _drop_oldest(self, counts: Callable[[Holder], bool]) -> None:
        """Take the oldest value of these holders from them; it goes where nobody else holds it."""
        newest = next(reversed(self._entries))
        key = next(key for key, entry in self._entries.items() if key != newest and any(map(counts, entry.holders)))
        entry = self._entries[key]
        entry.holders = {holder for holder in entry.holders if not counts(holder)}
        if not entry.holders:
            self._bytes -= self._entries.pop(key).size

    def find(self, key: str) -> Value | None:
        """The value of that key, which becomes the last used; None where it is not kept (any longer)."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def values(self, by: Holder | None = None) -> list[Value]:
        """All values, or those of one visitor, the last used first."""
        with self._lock:
            return [entry.value for entry in reversed(self._entries.values()) if by is None or by in entry.holders]


def _group(holder: Holder) -> str:
    """Returns the address that a visitor's values count for, or the visitor where it is not counted."""
    return holder[1] or holder[0]


def _heaviest(weights: list[tuple[Name, int]]) -> Name:
    """Returns the name with the largest sum, of equal ones the first."""
    sums: Counter[Name] = Counter()
    for name, weight in weights:
        sums[name] += weight
    return sums.most_common(1)[0][0]
