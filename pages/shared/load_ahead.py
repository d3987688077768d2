"""Loads what a page offers beside its run, such as its other models, so that choosing one does not wait until it is read."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

_begun: Final[set[tuple[str, str]]] = set()
_lock: Final = threading.Lock()


def load_ahead(load: Callable[[str], object], names: Iterable[str]) -> None:
    """Load each of these by this function once a process, in a thread of its own.

    Args:
        load: loads one by name and keeps it. What it raises is left: it raises it again where somebody chooses that one.
    """
    new = [name for name in names if (load.__qualname__, name) not in _begun]
    if new:
        threading.Thread(target=load_in_turn, args=(load, new), name="load-ahead", daemon=True).start()


def load_in_turn(load: Callable[[str], object], names: Iterable[str]) -> None:
    """The same in the caller's thread; one that another thread has begun meanwhile is left to it."""
    for name in names:
        with _lock:
            begun = (load.__qualname__, name) in _begun
            _begun.add((load.__qualname__, name))
        if not begun:
            with suppress(Exception):
                load(name)
