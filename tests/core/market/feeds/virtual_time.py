"""An event loop whose clock jumps to the next timer instead of waiting for it, and all clocks of the market after it."""

import asyncio
import selectors
import sys
import time as real
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import pytest

from core.market.feeds import clock

T = TypeVar("T")

BEGAN_NS: Final = 1_700_000_000_000_000_000
"""The time of day when a virtual loop's clock stands at zero."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes only where every task waits; what others do in a thread is done at once."""

    def __init__(self) -> None:
        self.now = 1_000.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, function: Callable[..., T], *values: Any) -> asyncio.Future[T]:  # type: ignore[override]
        done = self.create_future()
        try:
            done.set_result(function(*values))
        except Exception as error:
            done.set_exception(error)
        return done


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._clock_of = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if timeout is not None else None)
        if not ready and timeout:
            self._clock_of.now += timeout
        return ready


def all_clocks(loop: asyncio.AbstractEventLoop, patch: pytest.MonkeyPatch) -> None:
    """The loop's time is everybody's in the market."""
    day = lambda: BEGAN_NS + int(loop.time() * 1e9)  # noqa: E731
    virtual = SimpleNamespace(monotonic=loop.time, perf_counter=loop.time, time=lambda: day() / 1e9, time_ns=day)
    virtual.monotonic_ns = lambda: int(loop.time() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith(("core.market.", "tests.core.market.")) and getattr(module, "time", None) is real:
            patch.setattr(module, "time", virtual)
    patch.setattr(clock.CLOCK, "_anchor_ns", BEGAN_NS)


def virtually(scenario: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine as `asyncio.run` does, in a virtual time that is everybody's in the market; two hours of it at most."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, pytest.MonkeyPatch.context() as patch:
        all_clocks(runner.get_loop(), patch)
        return runner.run(asyncio.wait_for(scenario, 7_200))
