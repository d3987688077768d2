import asyncio
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from core.market.feeds.background import BackgroundLoop

LIMIT_S = 20


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_a_coroutine_runs_in_the_thread_and_its_result_comes_back(loop: BackgroundLoop) -> None:
    async def where() -> str:
        return threading.current_thread().name

    assert not loop.running
    loop.stop()
    for _ in range(2):  # it can be started again
        assert loop.submit(answer()).result(LIMIT_S) == 42
        assert loop.submit(where()).result(LIMIT_S) == "test-loop"
        assert loop.running
        loop.stop()
        loop.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "test-loop"]


def test_stop_cancels_tasks_and_waits_for_their_cleanup(loop: BackgroundLoop) -> None:
    started, steps = threading.Event(), list[str]()

    async def generate():
        try:
            yield 1
        finally:
            await asyncio.sleep(0.01)
            steps.append("generator closed")

    async def work() -> None:
        try:
            async for _ in generate():
                started.set()
                await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            steps.append("task cleaned up")

    future = loop.submit(work())
    assert started.wait(LIMIT_S)
    before = threading.active_count()
    loop.stop()
    assert threading.active_count() == before - 1
    with pytest.raises(CancelledError):
        future.result(0)
    assert set(steps) == {"generator closed", "task cleaned up"}


def test_work_may_be_submitted_from_within_and_many_threads_share_one_loop(loop: BackgroundLoop) -> None:
    async def outer() -> int:
        return await asyncio.wrap_future(loop.submit(answer()))

    names = set()

    async def note() -> None:
        names.add(threading.current_thread().ident)

    assert loop.submit(outer()).result(LIMIT_S) == 42
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: loop.submit(note()).result(LIMIT_S), range(20)))
    assert len(names) == 1


def test_stopping_from_within_is_refused(loop: BackgroundLoop) -> None:
    async def stop() -> None:
        loop.stop()

    with pytest.raises(RuntimeError, match="cannot wait for its own end"):
        loop.submit(stop()).result(LIMIT_S)


def test_a_task_that_will_not_end_is_reported_and_ends_later(loop: BackgroundLoop) -> None:
    started, release = threading.Event(), threading.Event()

    async def stubborn() -> None:
        started.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    loop.submit(stubborn())
    assert started.wait(LIMIT_S)
    with pytest.raises(RuntimeError, match=r"did not stop in 0\.2 s"):
        loop.stop(timeout=0.2)
    release.set()
    loop.stop()
    assert not loop.running


def test_the_interpreter_ends_although_the_loop_was_never_stopped() -> None:
    code = """
import asyncio
from core.market.feeds.background import BACKGROUND_LOOP
async def work():
    try:
        await asyncio.sleep(3600)
    finally:
        print("cleaned up", flush=True)
async def started(): pass
BACKGROUND_LOOP.submit(work())
BACKGROUND_LOOP.submit(started()).result(20)
"""
    root = Path(__file__).resolve().parents[4]
    ended = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "cleaned up", "")
