"""Records feeds of the app: a live one until it is told to stop, a played one for as long as somebody watches it.

It reads the session's own feed, so that an exchange is connected to once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.market.feeds.background import background_loop
from core.market.hub import TooManyFeeds, hub
from core.market.journal import Caller
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.session_view import Status
from core.market.store.places import library_folder
from core.market.store.writer import SegmentWriter
from core.messages import compose

VIEWER: Final = "recorder"
"""Name of the recorder among a feed's viewers."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RecordingStatus:
    """A recording's rows, bytes, span in seconds, interruptions, and the disk's free bytes.

    Attributes:
        running: whether it still records. problem: why it ended by itself; "" where it did not.
    """

    rows: int
    size: int
    seconds: float
    gaps: int
    free: int
    running: bool
    problem: str


class BackgroundRecorder:
    """The app's recordings, one a feed. May be called from any thread."""

    def __init__(self, folder: Callable[[], Path] = library_folder) -> None:
        self._folder = folder
        self._starting, self._lock = threading.Lock(), threading.Lock()  # of starts, and of the dictionary
        self._running: dict[str, _FeedRecording] = {}

    def start(self, key: str, begin: Callable[[], MarketSession]) -> None:
        """Record the feed `key`, started by `begin` where it does not run, until `stop`.

        Raises:
            OSError: where the folder cannot be written to. TooManyFeeds: where the feed would be one too many.
        """
        with self._starting:  # it may restore an hour of a killed process: who asks for a status does not wait for that
            known = self.status(key)
            if known is not None and known.running:
                return
            session = hub().watch(VIEWER, key, begin)
            one = _FeedRecording(key, begin, session, self._folder())
            one.future = background_loop().submit(one.run())
            with self._lock:
                self._running[key] = one

    def stop(self, key: str) -> None:
        """End a recording; on return its rows are on disk."""
        with self._lock:
            one = self._running.get(key)
        if one is not None:
            one.stopping.set()
            if one.future is not None:
                with contextlib.suppress(TimeoutError):  # a deep hour is being written; the status says when it is over
                    one.future.result(timeout=60)
            hub().leave(VIEWER, key)

    def status(self, key: str) -> RecordingStatus | None:
        """A feed's recording, ended ones included; None where there was none."""
        with self._lock:
            one = self._running.get(key)
        return one.status() if one else None

    def running(self) -> list[str]:
        """Keys of the feeds that are being recorded."""
        with self._lock:
            return [key for key, one in self._running.items() if one.status().running]


class _FeedRecording:
    def __init__(self, key: str, begin: Callable[[], MarketSession], session: MarketSession, folder: Path) -> None:
        self.key, self._begin, self._session = key, begin, session
        self._wall = session.feed.clock != "event"
        caller = Caller(session.predictor, session.entry)
        self._writer = SegmentWriter(folder, session.feed.market, key=key, by=caller.by)
        self._recorder = EventRecorder(self._writer, caller, wall=self._wall, tick=lambda: session.feed.tick)
        self.stopping = threading.Event()
        self.future: Future[None] | None = None
        self._ended = False
        self._problem: str = ""

    def status(self) -> RecordingStatus:
        writer = self._writer
        return RecordingStatus(
            rows=writer.rows,
            size=writer.size,
            seconds=writer.seconds,
            gaps=writer.gaps,
            free=shutil.disk_usage(writer.folder).free,
            running=not self._ended,
            problem=self._problem,
        )

    async def run(self) -> None:
        """Record until it is asked to stop, the feed fails or ends, or the disk refuses."""
        self._session.listeners.append(self._recorder.take)
        due = 0.0
        try:
            while not self.stopping.is_set() and not self._problem:
                await self._recorder.keep_up(0.1)
                if time.monotonic() >= due:
                    due = time.monotonic() + 1.0
                    self._follow_session()
        except OSError as error:
            self._problem = compose("The recording ended: {reason}.", reason=error.strerror or str(error))
        finally:
            self._leave()
            try:
                try:
                    await asyncio.to_thread(self._recorder.stop)
                finally:
                    await asyncio.to_thread(self._writer.close)
            except OSError as error:
                log.warning("the recording of %s stays in its journal: %s", self.key, error)
                self._problem = self._problem or compose("The recording ended: {reason}.", reason=error.strerror or str(error))
            self._ended = True

    def _follow_session(self) -> None:
        """Keep a live feed running, and follow it into a session that replaced this one; end with a feed that is played."""
        status, message = self._session.status_now()
        if not self._wall and self.key not in {feed.key for feed in hub().watched()}:
            self.stopping.set()
            return
        if not self._wall and status not in (Status.FAILED, Status.ENDED):
            return
        session = hub().join(VIEWER, self.key)
        if session is None:
            try:
                session = hub().watch(VIEWER, self.key, self._begin)
            except TooManyFeeds as error:
                self._problem = str(error)
                return
        if session is not self._session:
            self._leave()
            self._session = session
            session.listeners.append(self._recorder.take)
        elif status is Status.FAILED:
            self._problem = message or compose("The feed has failed.")
        elif status is Status.ENDED:
            self._problem = compose("The feed has ended, and the recording with it.")

    def _leave(self) -> None:
        if self._recorder.take in self._session.listeners:
            self._session.listeners.remove(self._recorder.take)


RECORDER: Final = BackgroundRecorder()
"""The process's one recorder."""
