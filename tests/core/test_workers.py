"""Orders within their bounds, in their turns; the process that carries one out is measured by the system's own accounts."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from core.workers import Budget, Pool, Stopped, WaitingLine
from tests.core import bombs

BUDGET = Budget(seconds=0.5, mib=100)


def processes() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "tests.core.bombs" in one.cmdline()]


@pytest.fixture
def pool() -> Pool:
    made = Pool(2, "tests.core.bombs")
    yield made  # type: ignore[misc]
    made.rest()
    assert processes() == []


def reason(run: Callable[[], object]) -> str:
    with pytest.raises(Stopped) as stopped:
        run()
    return stopped.value.reason


def test_time_and_memory_end_an_order_and_not_the_next(pool: Pool) -> None:
    assert reason(lambda: pool.run(bombs.spin, b"", {}, BUDGET)) == "time"
    assert reason(lambda: pool.run(bombs.fill, b"", {"mib": 150}, BUDGET)) == "memory"
    assert pool.run(bombs.fill, b"", {"mib": 60}, BUDGET) == 1
    assert pool.run(bombs.sleep, bytes(200 << 20), {"seconds": 0}, BUDGET) == 200 << 20  # what is given does not count


def test_an_order_that_nobody_waits_for_ends_with_its_process(pool: Pool) -> None:
    def gone(_place: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        pool.run(bombs.spin, b"", {}, Budget(seconds=60), report=gone)
    assert processes() == []
    assert pool.run(bombs.sleep, b"", {"seconds": 0}, BUDGET) == 0


def test_a_process_that_was_killed_while_idle_is_replaced(pool: Pool) -> None:
    pool.run(bombs.sleep, b"", {"seconds": 0}, BUDGET)
    (one,) = processes()
    one.kill()
    one.wait()
    assert pool.run(bombs.sleep, b"abc", {"seconds": 0}, BUDGET) == 3


def test_who_waits_is_told_the_place_and_addresses_take_turns(pool: Pool) -> None:
    """Four files of one address, then one of another: that is the next, whatever the first brings."""
    turns, order, told = WaitingLine(1), list[str](), list[tuple[str, int]]()
    began, first, all_wait = threading.Event(), threading.Event(), threading.Event()

    def one(name: str, by: str) -> None:
        def tell(place: int) -> None:
            told.append((name, place))
            if len(turns.queue()) == len({waiting for waiting, _place in told}) == 4:
                all_wait.set()

        with turns.hold_place(by, tell):
            order.append(name)
            began.set()
            assert name != "a1" or first.wait(60)

    with ThreadPoolExecutor(5) as threads:
        threads.submit(one, "a1", "a")
        assert began.wait(60)
        for number, (name, by) in enumerate([("a2", "a"), ("a3", "a"), ("a4", "a"), ("b1", "b")]):
            threads.submit(one, name, by)
            while len(turns.queue()) <= number:
                pass
        assert all_wait.wait(60)
        first.set()
    assert order == ["a1", "b1", "a2", "a3", "a4"]
    assert ("b1", 1) in told and ("a4", 4) in told


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.workers.MAX_WAITING_EACH", 0)
    assert reason(lambda: Pool(1).run(bombs.sleep, b"", {"seconds": 0}, BUDGET, by="a")) == "busy"


def test_the_process_has_no_rights_to_more_memory_and_loads_no_network(pool: Pool) -> None:
    pool.run(bombs.sleep, b"", {"seconds": 0}, BUDGET)
    (one,) = processes()
    maps = Path(f"/proc/{one.pid}/maps")
    assert os.name != "posix" or not maps.exists() or "libtorch" not in maps.read_text()
