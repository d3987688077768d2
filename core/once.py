"""Values that a process makes once, whichever of its threads asks first."""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def once(make: Callable[P, T]) -> Callable[P, T]:
    """As `functools.cache`, and who asks while another thread computes waits for its value instead of making a second one.

    A call that raises is forgotten, and the next one tries again.
    """
    kept, lock = functools.cache(make), threading.RLock()

    @functools.wraps(make)
    def value(*args: P.args, **kwargs: P.kwargs) -> T:
        with lock:
            return kept(*args, **kwargs)  # type: ignore[arg-type]  # the cache asks for what can be hashed, and says so itself

    value.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
    return value
