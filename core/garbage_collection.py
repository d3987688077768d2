"""Resets CPython's full-collection threshold after imports, and returns memory that is no longer used.

With torch in memory a full collection takes 0.1 s, during which no other thread of the process runs. `gc.freeze` takes libraries,
models and loaded pages, which never become garbage, out of all later collections.
"""

import ctypes
import gc
import sys
import threading
from contextlib import suppress

_lock = threading.Lock()
_frozen_modules = 0  # loaded at the last freeze


def freeze_loaded() -> bool:
    """Freeze all present objects where modules have been imported since the last call; returns whether any had.

    A frozen object that is dropped later is still freed by its reference count, unless it is part of a cycle.
    """
    global _frozen_modules
    with _lock:
        if len(sys.modules) == _frozen_modules:
            return False
        _frozen_modules = len(sys.modules)
        gc.collect()
        gc.freeze()
        gc.collect()  # its number of survivors, now small, is CPython's threshold for the next full collection
        return True


def return_memory() -> None:
    """Hand what has been freed back to the system, where the C library can (glibc): threads keep pools of it, 0.3 GiB here."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
