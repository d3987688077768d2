"""A pytest plugin that writes down which code places of the equation index each test executes.

Used as `python -m pytest -p tests.core.lecture.executed_places --executed-places FILE TESTS`. A function or property counts
when it is called, a class when its `forward` is (any method of its own where it has none), a constant when a function that
reads it by name is called. FILE gets {test: [place, ...]} in JSON; the cases of a parametrised test count together.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import pytest

from core.lecture.equations import equations


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--executed-places", metavar="FILE", help="where to write the executed code places of the equation index")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.executed_places:
        config.pluginmanager.register(ExecutedPlaces(Path(config.option.executed_places)))


def plain(member: object) -> object:
    """What a property, a static or class method or a cache is wrapped around."""
    if isinstance(member, property):
        member = member.fget
    return inspect.unwrap(getattr(member, "__func__", member))  # type: ignore[arg-type]


class ExecutedPlaces:
    """Follows every call while a test runs."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.by_test: dict[str, set[str]] = {}
        self.by_code: dict[CodeType, set[str]] = {}
        self.constants: dict[str, tuple[str, object]] = {}
        self.caches: list[object] = []
        for place in sorted({place for entry in equations() for place in entry.code}):
            self.add(place)

    def add(self, place: str) -> None:
        """Look the place up, and note by which code objects it is executed."""
        module, _, path = place.partition(":")
        found: object = importlib.import_module(module)
        for step in path.split("."):
            found = inspect.getattr_static(found, step)
        if hasattr(found, "cache_clear"):
            self.caches.append(found)
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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        executed = self.by_test.setdefault(item.nodeid.partition("[")[0], set())
        for cached in self.caches:
            cached.cache_clear()  # type: ignore[attr-defined]
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
            return (yield)
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({test: sorted(places) for test, places in self.by_test.items()}), encoding="utf-8")
