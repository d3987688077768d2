"""Who watches what: one session a feed, however many people look; started by the first, stopped some time after the last.

A viewer holds a feed by asking for it again and again (each redraw does); one who closes the tab simply stops asking.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from core.device import serve_small_inputs
from core.market.feeds.background import BackgroundLoop, background_loop
from core.market.session import MarketSession

GRACE_S = 20.0
"""How long a feed runs on with nobody asking for it, seconds: long enough for a reload or a page change."""


@dataclass
class _Running:
    """A session, and the last sign of life of each viewer and of any, seconds on the monotonic clock."""

    session: MarketSession
    future: Future[None]
    viewers: dict[str, float] = field(default_factory=dict)
    wanted: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Watched:
    """One running feed, for the System page."""

    key: str
    viewers: int
    steps: int
    seconds: float


class Hub:
    """The process's sessions.

    Args:
        loop: where they run.
        grace_s: see `GRACE_S`.
        clock: seconds, never running backwards.
    """

    def __init__(self, loop: BackgroundLoop, *, grace_s: float = GRACE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop, self._grace_s, self._clock = loop, grace_s, clock
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}
        self._reaper: Future[None] | None = None

    def watch(self, viewer: str, key: str, start: Callable[[], MarketSession]) -> MarketSession:
        """The session of the feed `key`, started with `start` where it is not running; counts as a sign of life.

        A session whose feed failed or ended is handed out as it is: what it has to say is still to be read.
        """
        with self._lock:
            running = self._running.get(key)
            if running is None:
                session = start()
                running = self._running[key] = _Running(session, self._loop.submit(session.run()))
            running.viewers[viewer] = running.wanted = self._clock()
            if self._reaper is None or self._reaper.done():
                self._reaper = self._loop.submit(self._reap())
            return running.session

    def leave(self, viewer: str, key: str) -> None:
        """The viewer looks elsewhere; the grace period starts now."""
        with self._lock:
            running = self._running.get(key)
            if running is not None and running.viewers.pop(viewer, None) is not None:
                running.wanted = self._clock()

    def restart(self, key: str) -> None:
        """Stop a feed at once, so that the next viewer starts it anew (after a failure, say)."""
        with self._lock:
            running = self._running.pop(key, None)
        if running is not None:
            running.future.cancel()

    def watched(self) -> list[Watched]:
        """What runs now."""
        now = time.time()
        with self._lock:
            return [
                Watched(key=key, viewers=self._present(r), steps=r.session.step, seconds=now - r.session.started)
                for key, r in self._running.items()
            ]

    def stop(self) -> None:
        """Stop every feed; returns when their tasks have been told."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
            reaper, self._reaper = self._reaper, None
        for one in running:
            one.future.cancel()
        if reaper is not None:
            reaper.cancel()

    def _present(self, running: _Running) -> int:
        now = self._clock()
        return sum(now - seen < self._grace_s for seen in running.viewers.values())

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._grace_s / 4))
            if not self._lock.acquire(blocking=False):
                continue  # someone is starting a feed, which may take its time: the loop must not wait for that
            try:
                now = self._clock()
                for key, running in list(self._running.items()):
                    running.viewers = {viewer: seen for viewer, seen in running.viewers.items() if now - seen < self._grace_s}
                    if now - running.wanted >= self._grace_s:
                        running.future.cancel()
                        del self._running[key]
                if not self._running:
                    self._reaper = None  # said under the lock, so that the next viewer starts another
                    return
            finally:
                self._lock.release()


_hub: Hub | None = None
_hub_lock = threading.Lock()


def hub() -> Hub:
    """The process's one hub."""
    global _hub
    with _hub_lock:
        if _hub is None:
            serve_small_inputs()
            _hub = Hub(background_loop())
        return _hub


def shutdown() -> None:
    """Stop every feed and the loop under them; safe to call twice, and a later `hub()` starts anew."""
    global _hub
    with _hub_lock:
        one, _hub = _hub, None
    if one is not None:
        one.stop()
        background_loop().stop()
