"""Which code places of the equation index are executed while something runs.

A function or property counts when it is called, a class when its `forward` is (any method of its own where it has none), a
constant when a function that reads it by name is called. `tests/core/conftest.py` follows every test that an entry names.
"""

import importlib
import inspect
import sys
import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, FunctionType

from core.lecture.equations import equations


@cache
def named_places() -> dict[str, frozenset[str]]:
    """The places that each named test has to execute."""
    found: dict[str, frozenset[str]] = {}
    for entry in equations():
        found[entry.test] = found.get(entry.test, frozenset()) | frozenset(entry.code)
    return found


def plain(member: object) -> object:
    """What a property, a static or class method or a cache is wrapped around."""
    if isinstance(member, property):
        member = member.fget
    return inspect.unwrap(getattr(member, "__func__", member))  # type: ignore[arg-type]


class ExecutedPlaces:
    """Follows every call, for the places of all entries."""

    def __init__(self) -> None:
        self.by_code: dict[CodeType, set[str]] = {}
        self.constants: dict[str, tuple[str, object]] = {}
        self.caches: dict[str, object] = {}
        for place in sorted(frozenset().union(*named_places().values())):
            self.add(place)

    def add(self, place: str) -> None:
        """Look the place up, and note by which code objects it is executed."""
        module, _, path = place.partition(":")
        found: object = importlib.import_module(module)
        for step in path.split("."):
            found = inspect.getattr_static(found, step)
        if hasattr(found, "cache_clear"):
            self.caches[place] = found
        found = plain(found)
        if isinstance(found, type):
            methods = {name: plain(member) for name, member in vars(found).items()}
            functions = [methods["forward"]] if "forward" in methods else list(methods.values())
        else:
            functions = [found]
        codes = [function.__code__ for function in functions if isinstance(function, FunctionType)]
        for code in codes:
            self.by_code.setdefault(code, set()).add(place)
        if not codes:
            self.constants[place] = (path, found)

    @contextmanager
    def followed(self, wanted: Set[str]) -> Iterator[set[str]]:
        """The places that the block has executed so far; a wanted one that is cached is computed anew."""
        for place in wanted & self.caches.keys():
            self.caches[place].cache_clear()  # type: ignore[attr-defined]
        executed: set[str] = set()
        seen: dict[int, CodeType] = {}

        def on_call(frame: FrameType, _event: str, _argument: object) -> None:
            code = frame.f_code
            if id(code) not in seen:
                seen[id(code)] = code
                executed.update(self.by_code.get(code, ()))
                for place, (name, value) in self.constants.items():
                    if name in code.co_names and frame.f_globals.get(name) is value:
                        executed.add(place)

        before = sys.gettrace()
        sys.settrace(on_call)
        threading.settrace(on_call)
        try:
            yield executed
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]


@cache
def executed_places() -> ExecutedPlaces:
    """The one of this process: it imports all that an entry names."""
    return ExecutedPlaces()
