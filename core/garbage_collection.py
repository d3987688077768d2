"""Keeps Python's garbage collector away from what never becomes garbage: libraries, models, everything a page has loaded.

With torch in memory a full collection takes 0.1 s, in which nothing else of the process runs.
"""

from __future__ import annotations

import gc
import sys
import threading

_alone = threading.Lock()
_modules = 0  # loaded when things were last set aside


def settle() -> bool:
    """Set aside what is there by now, where modules have come since the last time; whether any had.

    What is set aside and later dropped is still freed, save where it refers to itself. Later collections look at newer objects
    alone, so they are short, and Python makes them often.
    """
    global _modules
    with _alone:
        if len(sys.modules) == _modules:
            return False
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()
        gc.collect()  # by what this one finds Python reckons when the next is due
        return True
