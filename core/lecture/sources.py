"""Lines of the code by what they say: the place of a function and of one line in it, as a page shows them."""

import importlib
import inspect
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a function: its file, its number, and itself without indentation."""

    file: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """File and number: core/nn/attention.py:54."""
        return f"{self.file}:{self.number}"


def function(place: str) -> FunctionType:
    """The function or method of "module:name", without its decorators.

    Raises:
        ValueError: for what is no function.
    """
    module, _, path = place.partition(":")
    member: Any = importlib.import_module(module)
    for step in path.split("."):
        member = inspect.getattr_static(member, step)
    member = member.fget if isinstance(member, property) else member.func if isinstance(member, cached_property) else member
    member = inspect.unwrap(member)
    if not isinstance(member, FunctionType):
        raise ValueError(f"{place} is no function")
    return member


@cache
def line_of(place: str, fragment: str = "return ") -> Line:
    """The last line of a function that has the fragment.

    Raises:
        ValueError: where none has it.
    """
    made = function(place)
    lines, first = inspect.getsourcelines(made)
    number = next((n for n in reversed(range(len(lines))) if fragment in lines[n]), None)
    if number is None:
        raise ValueError(f"no line of {place} has {fragment!r}")
    file = Path(made.__code__.co_filename).resolve().relative_to(ROOT).as_posix()
    return Line(file=file, number=first + number, text=lines[number].strip())
