"""What a kind of file is to the tests of damaged ones: real examples, how the app reads them, and what reading may raise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

Examples = list[tuple[str, bytes]]
"""Names and contents."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: real examples, how it is read, and the errors that reading may raise."""

    examples: Callable[[], Examples]
    read: Callable[[Path], object]
    errors: tuple[type[Exception], ...]


def files(*patterns: str, most: int = 400_000) -> Callable[[], Examples]:
    """Files of the project as examples, those of less than `most` bytes."""

    @cache
    def read() -> Examples:
        paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.stat().st_size < most)
        return [(path.name, path.read_bytes()) for path in paths]

    return read
