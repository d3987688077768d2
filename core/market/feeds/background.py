"""One daemon thread that owns one asyncio loop: where every feed lives (docs/architecture.md, "The flow of a book").

Exchange objects are bound to the loop they were made in, while a web app's pages run in threads that come and go. So feeds are
handed over here as coroutines, and pages read what they leave behind.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """A loop in a thread of its own, started by the first `submit` and again by the first one after a `stop`."""

    def __init__(self, name: str = "market") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._halt: asyncio.Event | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is there and takes work."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def submit(self, coro: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; cancelling the future cancels it. May be called from any thread.

        Raises:
            RuntimeError: from within the loop while it is stopping.
        """
        if threading.current_thread() is self._thread:  # the lock may be held by a `stop` that waits for this very thread
            assert self._loop is not None
            assert self._halt is not None
            if self._halt.is_set():
                coro.close()
                raise RuntimeError(f"the {self.name} loop is stopping and takes no more work")
            return asyncio.run_coroutine_threadsafe(coro, self._loop)
        with self._lock:
            return asyncio.run_coroutine_threadsafe(coro, self._started())

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Call a plain function in the loop, soon; does nothing where the loop is not running."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(function, *args)
            except RuntimeError:  # closed between the check and the call
                return

    def stop(self, timeout: float = 10.0) -> None:
        """Cancel every task, let each clean up, and end the thread. Nothing happens where none runs.

        Raises:
            RuntimeError: from within the loop, or where a task would not end within `timeout` seconds.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(f"the {self.name} loop cannot wait for its own end: stop it from another thread")
        with self._lock:
            thread, halt = self._thread, self._halt
            if thread is None or halt is None:
                return
            self.call_soon(halt.set)
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
        # asyncio.run ends as we want to end: it cancels what is left, waits for it, and closes generators and worker threads
        asyncio.run(self._until_halted(ready))

    async def _until_halted(self, ready: threading.Event) -> None:
        self._loop, self._halt = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        await self._halt.wait()


_background = BackgroundLoop()


def background_loop() -> BackgroundLoop:
    """The process's one loop."""
    return _background


def _at_exit() -> None:
    try:
        _background.stop()
    except RuntimeError:  # the thread is a daemon: what will not stop is not waited for
        return


atexit.register(_at_exit)
