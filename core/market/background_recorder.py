"""Records feeds of the app: a live one until it is told to stop, a played one for as long as somebody watches it.

It reads the session's own feed, so that an exchange is connected to once.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Final

from core.market import watch_list
from core.market.feeds.background import BACKGROUND_LOOP
from core.market.feeds.protocol import Status
from core.market.hub import hub
from core.market.recorder import RecordingStatus, SessionRecording
from core.market.session import MarketSession
from core.market.store.places import library_folder
from core.messages import Refusal

VIEWER: Final = "recorder"
"""Name of the recorder among a feed's viewers."""
log = logging.getLogger(__name__)


class BackgroundRecorder:
    """The app's recordings, one a feed. May be called from any thread."""

    def __init__(self, folder: Callable[[], Path] = library_folder) -> None:
        self._folder = folder
        self._starting, self._lock = threading.Lock(), threading.Lock()  # of starts, and of the dictionary
        self._running: dict[str, tuple[SessionRecording, Future[None]]] = {}

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
            one = SessionRecording(session, self._folder(), partial(_session_of, key, begin))
            future = BACKGROUND_LOOP.submit(one.run())
            with self._lock:
                self._running[key] = one, future
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
            known = self._running.get(key)
        if known is not None:
            one, future = known
            one.stopping.set()
            with contextlib.suppress(TimeoutError):  # a deep hour is being written; the status says when it is over
                future.result(timeout=60)
            hub().leave(VIEWER, key)

    def status(self, key: str) -> RecordingStatus | None:
        """A feed's recording, ended ones included; None where there was none."""
        with self._lock:
            known = self._running.get(key)
        return known[0].status() if known else None

    def running(self) -> list[str]:
        """Keys of the feeds that are being recorded."""
        with self._lock:
            return [key for key, (one, _future) in self._running.items() if one.status().running]


def _session_of(key: str, begin: Callable[[], MarketSession], session: MarketSession) -> MarketSession | None:
    """The session of a feed from now on: a live one is kept running, a played one is recorded for as long as it is watched.

    Raises:
        TooManyFeeds: where it would have to be started, and too many feeds run already.
    """
    if session.feed.clock == "event":
        if key not in hub().watched():
            return None
        if session.status_now()[0] not in (Status.FAILED, Status.ENDED):
            return session
    return hub().join(VIEWER, key) or hub().watch(VIEWER, key, begin)


RECORDER: Final = BackgroundRecorder()
"""The process's one recorder."""
