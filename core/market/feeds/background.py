"""One daemon thread with one asyncio loop, in which every feed runs (docs/architecture.md, "The flow of a book").

Exchange objects are bound to the loop they were made in, while a web app's pages run in short-lived threads. So pages submit
feeds here as coroutines, and read their results.
"""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

T = TypeVar("T")

WORKERS = 64
"""Threads at most, started when needed: each feed at work has one."""


class BackgroundLoop:
    """A loop in its own thread, started by the first `submit`, and by the first one after a `stop`."""

    def __init__(self, name: str = "market") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halt: asyncio.Event | None = None

    @property
    def running(self) -> bool:
        """Tells whether the thread runs."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def submit(self, coro: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop, from any thread; cancelling the future cancels it.

        Raises:
            RuntimeError: from within the loop while it is stopping.
        """
        if threading.current_thread() is self._thread:  # a `stop` may hold the lock and wait for this thread
            assert self._loop is not None
            assert self._halt is not None
            if self._halt.is_set():
                coro.close()
                raise RuntimeError(f"the {self.name} loop is stopping and takes no more work")
            return asyncio.run_coroutine_threadsafe(coro, self._loop)
        with self._lock:
            return asyncio.run_coroutine_threadsafe(coro, self._started())

    def stop(self, timeout: float = 10.0) -> None:
        """Cancel every task, wait for its clean-up, and end the thread; does nothing where none runs.

        Raises:
            RuntimeError: from within the loop, or where a task would not end within `timeout` seconds.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(f"the {self.name} loop cannot wait for its own end: stop it from another thread")
        with self._lock:
            thread, loop, halt = self._thread, self._loop, self._halt
            if thread is None or loop is None or halt is None:
                return
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(halt.set)
            thread.join(timeout)
            if thread.is_alive():
                raise RuntimeError(f"the {self.name} loop did not stop in {timeout:g} s: a task ignores being cancelled")
            self._thread = self._loop = self._halt = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or not self.running:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(ready,), name=f"{self.name}-loop", daemon=True)
            self._thread.start()
            ready.wait()
        assert self._loop is not None
        return self._loop

    def _run(self, ready: threading.Event) -> None:
        # asyncio.run also cancels the remaining tasks, waits for them, and closes generators and worker threads
        asyncio.run(self._until_halted(ready))

    async def _until_halted(self, ready: threading.Event) -> None:
        self._loop, self._halt = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_default_executor(ThreadPoolExecutor(WORKERS, thread_name_prefix=self.name))
        ready.set()
        await self._halt.wait()


BACKGROUND_LOOP: Final = BackgroundLoop()
"""The process's one loop."""


@atexit.register
def _at_exit() -> None:
    with contextlib.suppress(RuntimeError):  # a task ignores being cancelled: the thread is a daemon and ends with the process
        BACKGROUND_LOOP.stop()
