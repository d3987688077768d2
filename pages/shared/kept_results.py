"""Results kept for all viewers: the one way in which pages keep what a computation made of a picture, a clip or a window.

    HASHES = {Classifier: lambda one: one.fingerprint, Picture: lambda one: one.id}  # what tells two arguments apart

    @kept(64, HASHES)
    def analysis(classifier: Classifier, picture: Picture) -> PictureAnalysis: ...

The result is shared, so that nobody writes to it. `st.cache_data` copies results, tells arrays of half a million
numbers and more apart by a sample (two pictures that differ in one pixel are one), and refuses a progress bar drawn outside.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from types import FunctionType, MethodType
from typing import Any, Final, Generic, ParamSpec, TypeVar

from core.device import use_one_thread

Asked = ParamSpec("Asked")
Result = TypeVar("Result")
Hashes = Mapping[type, Callable[[Any], Hashable]]
PROGRESS: Final = (FunctionType, MethodType, functools.partial)
"""Arguments that are told how far a computation is; they make no difference to its result."""
TURNS: Final = 16
_every: Final[list[Kept[..., Any]]] = []


class Kept(Generic[Asked, Result]):
    """A function whose latest results are kept by its arguments; what it raises is raised, and nothing is kept.

    It computes on one thread. Where two viewers ask for a result at once, the second waits for the first, unless it is told
    progress: then it may be stopped.

    Args:
        most: results that are kept. hashes: what tells two arguments of a type apart; others are compared themselves.
    """

    def __init__(self, compute: Callable[Asked, Result], most: int, hashes: Hashes) -> None:
        assert compute.__module__ != "__main__", "a page's own script is run anew each time and would keep nothing"
        self._compute, self._most, self._hashes = compute, most, hashes
        self._signature, self._lock = inspect.signature(compute), threading.Lock()
        self._turns = [threading.Lock() for _ in range(TURNS)]  # a key's, by its hash
        self._results: OrderedDict[Hashable, Result] = OrderedDict()
        functools.update_wrapper(self, compute)
        _every.append(self)

    def __call__(self, *args: Asked.args, **kwargs: Asked.kwargs) -> Result:
        if (known := self.find(*args, **kwargs)) is not None:
            return known
        key = self._key(*args, **kwargs)
        watched = any(isinstance(one, PROGRESS) for one in (*args, *kwargs.values()))
        with nullcontext() if watched else self._turns[hash(key) % TURNS]:
            if (known := self.find(*args, **kwargs)) is None:
                use_one_thread()
                known = self._compute(*args, **kwargs)
                with self._lock:
                    self._results[key] = known
                    if len(self._results) > self._most:
                        self._results.popitem(last=False)
            return known

    def find(self, *args: Asked.args, **kwargs: Asked.kwargs) -> Result | None:
        """The result where it is kept, else None."""
        key = self._key(*args, **kwargs)
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def _key(self, *args: Asked.args, **kwargs: Asked.kwargs) -> Hashable:
        asked = self._signature.bind(*args, **kwargs)
        asked.apply_defaults()
        return tuple(None if isinstance(one, PROGRESS) else self._identity(one) for one in asked.arguments.values())

    def _identity(self, one: Any) -> Hashable:
        if hasattr(one, "tobytes"):
            return one.shape, str(one.dtype), hashlib.sha256(one.tobytes()).digest()
        return next((tell(one) for kind, tell in self._hashes.items() if isinstance(one, kind)), one)


def kept(most: int, hashes: Hashes | None = None) -> Callable[[Callable[Asked, Result]], Kept[Asked, Result]]:
    """Decorates a function of an imported module, as `Kept` says."""
    return lambda compute: Kept(compute, most, hashes or {})


def forget_all() -> None:
    """Empties every store, for tests that change what functions read besides their arguments."""
    for one in _every:
        one._results.clear()
