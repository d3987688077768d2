"""Records feeds of the app: a live one until it is told to stop, a played one for as long as somebody watches it.

It reads the session's own feed, so that an exchange is connected to once.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from core.market import watch_list
from core.market.feeds.background import background_loop
from core.market.hub import TooManyFeeds, hub
from core.market.journal import Caller
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.session_view import Status
from core.market.store import segments
from core.market.store.places import library_folder
from core.market.store.writer import SegmentWriter
from core.messages import Refusal, compose, first_line

VIEWER: Final = "recorder"
"""Name of the recorder among a feed's viewers."""
AGAIN_S: Final = 10.0
"""Seconds between two looks at a disk that refused."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RecordingStatus:
    """A recording's rows, bytes, span in seconds, interruptions, and the disk's free bytes.

    Attributes:
        running: whether it still records. problem: why it ended by itself, or waits for the disk; "" where it does neither.
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
        watch_list.watch(self._folder(), key, on=True)

    def resume(self, begin: Callable[[str], MarketSession]) -> None:
        """Record the markets of the library's watch list again, as after a restart; one that cannot be is logged.

        Args:
            begin: makes a session of the feed of a key.
        """
        for key in watch_list.read(self._folder()).markets:
            try:
                self.start(key, partial(begin, key))
            except (OSError, Refusal) as error:
                log.warning("%s is on the watch list, and is not recorded: %s", key, error)

    def stop(self, key: str) -> None:
        """End a recording and take it off the watch list; on return its rows are on disk.

        Raises:
            OSError: where the list cannot be written.
        """
        watch_list.watch(self._folder(), key, on=False)
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
        self.key, self._begin, self._session, self._folder = key, begin, session, folder
        self._wall = session.feed.clock != "event"
        self._before = list[SegmentWriter]()  # of files that were ended by a disk that refused
        self._writer, self._recorder = self._begun()
        self.stopping = threading.Event()
        self.future: Future[None] | None = None
        self._ended = False
        self._problem = self._refusal = ""

    def _begun(self) -> tuple[SegmentWriter, EventRecorder]:
        """New files of the feed."""
        session = self._session
        caller = Caller(session.predictor, session.entry)
        writer = SegmentWriter(self._folder, session.feed.market, key=self.key, by=caller.by)
        return writer, EventRecorder(writer, caller, wall=self._wall, tick=lambda: self._session.feed.tick)

    def status(self) -> RecordingStatus:
        writers = [*self._before, self._writer]
        return RecordingStatus(
            rows=sum(one.rows for one in writers),
            size=sum(one.size for one in writers),
            seconds=sum(one.seconds for one in writers),
            gaps=sum(one.gaps for one in writers) + len(self._before),
            free=shutil.disk_usage(self._folder).free,
            running=not self._ended,
            problem=self._problem or self._refusal,
        )

    async def run(self) -> None:
        """Record until it is asked to stop, or the feed fails or ends; in new files after a disk that refused takes them."""
        while (error := await self._recorded()) is not None and not self.stopping.is_set() and not self._problem:
            log.warning("the recording of %s waits for the disk: %s", self.key, error)
            self._refusal = compose(
                "The disk refuses: {reason}. The recording goes on, after a gap, as soon as it does not.",
                reason=first_line(error),
            )
            while not self.stopping.is_set():
                await asyncio.sleep(AGAIN_S)
                with contextlib.suppress(OSError):
                    await asyncio.to_thread(self._go_on)
                    break
        if error is not None:
            self._problem = self._problem or compose("The recording ended: {reason}.", reason=first_line(error))
        self._ended = True

    async def _recorded(self) -> OSError | None:
        """Record into the files at hand; returns what the disk refused with, None where it did not."""
        refused: OSError | None = None
        self._session.listeners.append(self._recorder.on_event)
        due = 0.0
        try:
            while not self.stopping.is_set() and not self._problem:
                await self._recorder.keep_up(0.1)
                if time.monotonic() >= due:
                    due = time.monotonic() + 1.0
                    self._follow_session()
        except OSError as error:
            refused = error
        finally:
            self._leave()
            for end in (self._recorder.stop, self._writer.close):
                try:
                    await asyncio.to_thread(end)
                except OSError as error:
                    log.warning("the recording of %s stays in its journal: %s", self.key, error)
                    refused = refused or error
        return refused

    def _go_on(self) -> None:
        """Write what the disk refused, and begin new files.

        Raises:
            OSError: where it still refuses.
        """
        if segments.is_full(self._folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._writer.close()
        ended = self._writer
        self._writer, self._recorder = self._begun()
        self._before.append(ended)
        self._refusal = ""

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
            session.listeners.append(self._recorder.on_event)
        elif status is Status.FAILED:
            self._problem = message or compose("The feed has failed.")
        elif status is Status.ENDED:
            self._problem = compose("The feed has ended, and the recording with it.")

    def _leave(self) -> None:
        if self._recorder.on_event in self._session.listeners:
            self._session.listeners.remove(self._recorder.on_event)


RECORDER: Final = BackgroundRecorder()
"""The process's one recorder."""
