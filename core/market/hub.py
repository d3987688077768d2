"""Shares one session per feed among its viewers: the first viewer starts it, and it stops some time after the last has left.

A viewer holds a feed by asking for it again and again (each redraw does); one who closes the tab stops asking.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from core.device import use_one_thread
from core.market.feeds.background import BACKGROUND_LOOP, BackgroundLoop
from core.market.session import MarketSession
from core.messages import N_, Refusal

GRACE_S = 20.0
"""Seconds a feed keeps running without viewers, so that who comes back finds a whole window: a page change takes as long."""
REST_S = 3.0
"""Seconds without viewers after which nothing is predicted from its rows: a reload is over by then."""
MAX_FEEDS = 32
"""Live feeds that run at once, and as many played ones of visitors' own. Sixty live ones took a whole processor core."""
MAX_FEEDS_OF_VIEWER = 8
"""Feeds that run at once for one viewer."""
MAX_FEEDS_OF_ADDRESS = 16
"""Feeds that run at once for the viewers of one address, which one person may open tabs without end from."""


class TooManyFeeds(Refusal):
    """No further feed may be started now; the message is a sentence for a person."""


@dataclass
class _Running:
    """A session; who started it, and from which address; when each viewer, and any, last asked for it, monotonic seconds."""

    session: MarketSession
    future: Future[None]
    started_by: str
    address: str
    viewers: dict[str, float] = field(default_factory=dict)
    last_asked: float = 0.0


def kind_of(key: str) -> Literal["live", "own", "shared"]:
    """Kind of a feed by its key: live, a playback of somebody's own, or one that all share."""
    if key.startswith("live/"):
        return "live"
    return "own" if "~" in key else "shared"


class Hub:
    """The process's sessions, which run in a loop."""

    def __init__(self, loop: BackgroundLoop) -> None:
        self._loop = loop
        self._lock = threading.Condition()  # waited on for the end of a start; its holder may take it again
        self._starting: set[str] = set()
        self._running: dict[str, _Running] = {}
        self._reaper: Future[None] | None = None

    def watch(self, viewer: str, key: str, start: Callable[[], MarketSession], *, address: str = "") -> MarketSession:
        """The session of the feed `key`, started with `start` where it is not running; also keeps it running for the viewer.

        A session whose feed failed or ended is returned too, so that its message can be read.

        Args:
            address: of the viewer, by which feeds are counted too; "" for one that is not.

        Raises:
            TooManyFeeds: where it would have to be started, and too many feeds run already.
        """
        with self._lock:
            self._lock.wait_for(lambda: key not in self._starting)
            if (known := self.join(viewer, key)) is not None:
                self._see_to_the_reaper()
                return known
            self._make_room(viewer, key, address)
            self._starting.add(key)
        try:
            session = start()  # seconds, of a large file: only who wants the same feed waits for it
            with self._lock:
                self._make_room(viewer, key, address)  # others may have taken it meanwhile
                self._running[key] = _Running(session, self._loop.submit(session.run()), viewer, address)
                self.join(viewer, key)
                self._see_to_the_reaper()
            return session
        finally:
            with self._lock:
                self._starting.discard(key)
                self._lock.notify_all()

    def join(self, viewer: str, key: str) -> MarketSession | None:
        """The session of a feed that runs, also kept running for this viewer; None where it does not run."""
        with self._lock:
            if (running := self._running.get(key)) is None:
                return None
            running.viewers[viewer] = running.last_asked = time.monotonic()
            running.session.rests = False
            return running.session

    def _see_to_the_reaper(self) -> None:
        if self._reaper is None or self._reaper.done():
            self._reaper = self._loop.submit(self._reap())

    def leave(self, viewer: str, key: str) -> None:
        """The viewer no longer watches this feed; the grace period starts now."""
        with self._lock:
            running = self._running.get(key)
            if running is not None and running.viewers.pop(viewer, None) is not None:
                running.last_asked = time.monotonic()

    def restart(self, key: str, failed: MarketSession | None = None) -> None:
        """Stop a feed at once, so that the next viewer starts it anew; where a session is given, only if it still is that one."""
        with self._lock:
            running = self._running.get(key)
            if running is None or failed not in (None, running.session):
                return
            del self._running[key]
        running.future.cancel()

    def watched(self) -> dict[str, int]:
        """The running feeds by their keys: how many watch each."""
        with self._lock:
            return {key: self._present(running) for key, running in self._running.items()}

    def sessions(self) -> list[MarketSession]:
        """The running sessions."""
        with self._lock:
            return [running.session for running in self._running.values()]

    def stop(self) -> None:
        """Cancel every feed."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
            reaper, self._reaper = self._reaper, None
        for feed in running:
            feed.future.cancel()
        if reaper is not None:
            reaper.cancel()

    def _make_room(self, viewer: str, key: str, address: str) -> None:
        """Stop feeds without viewers, the longest abandoned first, where a further one would be too many.

        Live feeds, playbacks of visitors' own and playbacks that all share are counted apart: none of them closes another.

        Raises:
            TooManyFeeds: where that is not enough.
        """
        one = N_("You watch {count} markets already: close one of their tabs first.")
        near = N_("{count} markets are being watched from your address, and it takes no more: close a tab.")
        every = N_("{count} markets are being watched on this server, and it takes no more: try again later.")

        def is_theirs(_: str, running: _Running) -> bool:
            return viewer in running.viewers or (running.started_by == viewer and not self._present(running))

        self._limit(is_theirs, MAX_FEEDS_OF_VIEWER, one)
        if address and kind_of(key) != "shared":
            self._limit(lambda _, running: running.address == address, MAX_FEEDS_OF_ADDRESS, near)
        self._limit(lambda other, _: kind_of(other) == kind_of(key), MAX_FEEDS, every)

    def _limit(self, counts: Callable[[str, _Running], bool], most: int, problem: str) -> None:
        """Stops abandoned ones of the feeds that count until one more fits.

        Raises:
            TooManyFeeds: with `problem`, which names the most, where it does not.
        """
        counted = {key for key, running in self._running.items() if counts(key, running)}
        for _, key in sorted((r.last_asked, key) for key, r in self._running.items() if not self._present(r)):
            if len(counted) >= most and key in counted:
                counted.discard(key)
                self._running.pop(key).future.cancel()
        if len(counted) >= most:
            raise TooManyFeeds(problem, count=most)

    def _present(self, running: _Running) -> int:
        now = time.monotonic()
        return sum(now - seen < GRACE_S for seen in running.viewers.values())

    async def _reap(self) -> None:
        """Let feeds rest that nobody watches, and stop those that nobody has asked for since the grace period began."""
        while True:
            await asyncio.sleep(min(1.0, GRACE_S / 4))
            if not self._lock.acquire(blocking=False):
                continue  # whoever has it may wait for the loop, as it is being stopped
            try:
                now = time.monotonic()
                for key, running in list(self._running.items()):
                    if running.session.frames.stream.viewers:
                        running.last_asked = now  # whoever is connected asks all the time
                    running.session.rests = now - running.last_asked >= REST_S
                    running.viewers = {viewer: seen for viewer, seen in running.viewers.items() if now - seen < GRACE_S}
                    if now - running.last_asked >= GRACE_S:
                        running.future.cancel()
                        del self._running[key]
                if not self._running:
                    self._reaper = None  # under the lock, so that the next viewer starts another
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
            use_one_thread()
            _hub = Hub(BACKGROUND_LOOP)
        return _hub


def shutdown() -> None:
    """Stop every feed and their loop; may be called twice, and a later `hub()` starts anew."""
    global _hub
    with _hub_lock:
        stopped, _hub = _hub, None
    if stopped is not None:
        stopped.stop()
        BACKGROUND_LOOP.stop()
