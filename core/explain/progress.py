"""Progress of a computation that takes seconds."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[float], None]
"""Is told what share of a computation is done, 0 to 1. It may raise, which ends the computation."""


def untold(_share: float) -> None:
    """For a computation that nobody watches."""
