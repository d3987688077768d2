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
    with _lock:
        new = [name for name in names if (load.__qualname__, name) not in _begun]
        _begun.update((load.__qualname__, name) for name in new)
    if new:
        threading.Thread(target=_load_all, args=(load, new), name="load-ahead", daemon=True).start()


def _load_all(load: Callable[[str], object], names: list[str]) -> None:
    for name in names:
        with suppress(Exception):
            load(name)
