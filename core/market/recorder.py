"""Records a session: its rows once they are confirmed, its trades, its interruptions, and what its checkpoint calls.

`core.market.store.writer` writes them.
"""

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.market import watch_list
from core.market.bands import BandChange, Ladder
from core.market.book import STEP_MS
from core.market.depth import DepthHistory
from core.market.events import BookLost, Gap, Row, Trade, TradesBreak
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Feed, FeedEvent, FeedFailed, Status, StatusChange
from core.market.feeds.situations import Since
from core.market.follower import Step
from core.market.leads import leads_here
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.store import segments
from core.market.store.trades import BREAK
from core.market.store.writer import SegmentWriter
from core.messages import Refusal, compose, first_line

WHOLE_MS: Final = 60_000
"""Time between two rows whose price bands are written whole."""
JOURNAL_S: Final = 1.0
"""Seconds between two writes to the journal, where no call is written: what is lost at most if the process is killed."""
AGAIN_S: Final = 10.0
"""Seconds between two looks at a disk that refused."""

log = logging.getLogger(__name__)


class EventRecorder:
    """Hands a writer the steps of a session: rows once they are confirmed (D27), calls at once (D28).

    Steps are taken in one event loop, and written down in its worker threads, one at a time, in their order.

    Args:
        wall: whether rows are sampled by this machine's clock (`core.market.feeds.protocol.Feed.clock`).
        tick: tells the market's smallest step of price, 0 while it is not known; price bands need it.
        clock_ms: milliseconds since the epoch, by the clock of the rows.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        *,
        wall: bool,
        tick: Callable[[], float] = lambda: 0.0,
        clock_ms: Callable[[], int] = CLOCK.now_ms,
    ) -> None:
        self._writer, self._wall, self._clock_ms = writer, wall, clock_ms
        self._steps = deque[Step]()  # taken, and not written down yet
        self._fresh, self._working = asyncio.Event(), threading.Lock()
        self._save_due_s, self._hours = 0.0, 0
        self._depth, self._kept_ms, self._tick = DepthHistory(2), 0, tick  # of the worker alone
        self._situations = tuple[Since, ...]()
        if wall:
            writer.add_event("start", CLOCK.now_ms())

    def on_event(self, event: FeedEvent) -> None:
        """One event of the feed."""
        if isinstance(event, StatusChange):
            if event.situations and {one.kind for one in event.situations} != {one.kind for one in self._situations}:
                self._writer.add_event("state", CLOCK.now_ms(), event.message)
            self._situations = event.situations

    def on_steps(self, steps: Sequence[Step]) -> None:
        """Takes what a follower made of the next items."""
        self._steps += steps
        if any(step.followed is not None for step in steps):
            self._fresh.set()

    async def keep_up(self, seconds: float) -> None:
        """Write down what came, once a row has, or so many seconds have passed.

        Raises:
            OSError: where the disk refuses.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._fresh.wait()
        self._fresh.clear()
        await asyncio.to_thread(self.write_down)

    def write_down(self) -> None:
        """Write down what came until now; not what comes meanwhile, or a feed faster than the disk would never let it end.

        Raises:
            OSError: where the disk refuses.
        """
        with self._working:
            called = False
            for _ in range(len(self._steps)):
                called |= self._write(self._steps.popleft())
            if called or time.monotonic() >= self._save_due_s:
                self._save()

    def _save(self) -> None:
        self._save_due_s = time.monotonic() + JOURNAL_S
        self._writer.save_journal()
        if len(self._writer.files) > self._hours:
            self._hours = len(self._writer.files)
            self._make_room()

    def _make_room(self) -> None:
        """Keep the library within its limit, now that an hour more is there; a recording goes on where that fails."""
        with contextlib.suppress(OSError):
            for path in watch_list.make_room(self._writer.folder):
                log.info("the library is full by its limit: deleted %s", path)

    def _write(self, step: Step) -> bool:
        """Hand a step to the writer; returns whether something was called there."""
        for row, before, leads in step.known:
            stored = None if before is None else [one.to_dict() for one in before]
            self._writer.add(row, self._bands(row), before=stored, leads=[(head, one.to_dict()) for head, one in leads])
        item = step.item
        if isinstance(item, Trade):
            self._writer.add_trade(item)
        elif isinstance(item, TradesBreak):
            self._writer.add_event(BREAK, item.from_ms, until=item.until_ms)
        elif isinstance(item, Gap) and self._wall:
            self._writer.add_event(item.kind, item.at_ms, item.message)
        elif isinstance(item, BookLost):
            self._writer.add_event("lost", item.from_ns // 1_000_000)
        line = None if step.followed is None else step.followed.line(self._clock_ms())
        if line is not None:
            self._writer.add_call(line)
        return line is not None

    def stop(self) -> None:
        """Write down the rest and note the end; rows that were not confirmed are dropped.

        Raises:
            OSError: where the disk refuses.
        """
        try:
            self.write_down()
        finally:
            if self._wall:
                self._writer.add_event("stop", CLOCK.now_ms())

    def _bands(self, row: Row) -> tuple[Ladder, BandChange] | None:
        """Changes in a row's bands; all of them at each minute and after a hole, so that every file begins whole."""
        if row.timestamp != self._kept_ms + STEP_MS or row.timestamp % WHOLE_MS == 0:
            self._depth.clear()
        self._kept_ms = row.timestamp
        change = self._depth.append(row.levels, row.bands, self._tick())
        return None if change is None or self._depth.ladder is None else (self._depth.ladder, change)


@dataclass(frozen=True, kw_only=True)
class RecordingStatus:
    """A recording's rows, bytes, span in seconds, interruptions, and the disk's free bytes.

    Attributes:
        running: whether it still records. problem: why it ended by itself, or waits for the disk; "" where it does neither.
        feed: status and message of what is recorded.
    """

    rows: int
    size: int
    seconds: float
    gaps: int
    free: int
    running: bool
    problem: str
    feed: tuple[Status, str]


class SessionRecording:
    """A session's recording, which goes on in new files after a disk that refused takes them.

    Args:
        folder: of the library.
        follow: tells which session to record from now on, given the one so far; None where nobody wants it any more.

    Raises:
        OSError: where the folder cannot be written to.

    Attributes:
        stopping: set to end it.
    """

    def __init__(
        self, session: MarketSession, folder: Path, follow: Callable[[MarketSession], MarketSession | None] = lambda one: one
    ) -> None:
        self._session, self._folder, self._follow = session, folder, follow
        self._writers = list[SegmentWriter]()  # all but the last were ended by a disk that refused
        self._begin()
        self.stopping = threading.Event()
        self._ended = False
        self._problem = self._refusal = ""

    def _begin(self) -> None:
        """Begin new files of the session, and leads that go on in them: of what is played, the same rows would count again."""
        session, feed = self._session, self._session.feed
        writer = SegmentWriter(self._folder, feed.market, key=feed.key, by=(by := session.follower.by))
        live, market = feed.clock == "wall", self._folder / segments.market_folder(feed.key)
        self._leads = leads_here(market, by, CLOCK.now_ms()) if live else []
        self._recorder = EventRecorder(writer, wall=feed.clock != "event", tick=lambda: self._session.feed.tick)
        self._writers.append(writer)

    @property
    def files(self) -> list[Path]:
        """Files of rows so far."""
        return [path for one in self._writers for path in one.files]

    def status(self) -> RecordingStatus:
        """The recording as it stands."""
        return RecordingStatus(
            rows=sum(one.rows for one in self._writers),
            size=sum(one.size for one in self._writers),
            seconds=sum(one.seconds for one in self._writers),
            gaps=sum(one.gaps for one in self._writers) + len(self._writers) - 1,
            free=shutil.disk_usage(self._folder).free,
            running=not self._ended,
            problem=self._problem or self._refusal,
            feed=self._session.status_now(),
        )

    async def run(self, on_written: Callable[[], None] = lambda: None) -> None:
        """Record until it is asked to stop, or the feed fails or ends; however it ends, every confirmed row is on disk.

        Args:
            on_written: called in the loop each time that something was written.
        """
        while (error := await self._recorded(on_written)) is not None and not self.stopping.is_set() and not self._problem:
            log.warning("the recording of %s waits for the disk: %s", self._session.feed.key, error)
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

    async def _recorded(self, on_written: Callable[[], None]) -> OSError | None:
        """Record into the files at hand; returns what the disk refused with, None where it did not."""
        refused: OSError | None = None
        self._session.record(self._recorder, self._leads)
        due = 0.0
        try:
            while not self.stopping.is_set() and not self._problem:
                await self._recorder.keep_up(0.1)
                on_written()
                if time.monotonic() >= due:
                    due = time.monotonic() + 1.0
                    self._follow_session()
        except OSError as error:
            refused = error
        finally:
            self._session.leave(self._recorder)
            for end in (self._recorder.stop, self._writers[-1].close):
                try:
                    await asyncio.to_thread(end)
                except OSError as error:
                    log.warning("the recording of %s stays in its journal: %s", self._session.feed.key, error)
                    refused = refused or error
            on_written()
        return refused

    def _go_on(self) -> None:
        """Write what the disk refused, and begin new files.

        Raises:
            OSError: where it still refuses.
        """
        if segments.is_full(self._folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._writers[-1].close()
        self._begin()
        self._refusal = ""

    def _follow_session(self) -> None:
        """Follow the feed into a session that replaced this one; end where it has ended, or nobody wants it."""
        try:
            session = self._follow(self._session)
        except Refusal as error:
            self._problem = str(error)
            return
        status, message = self._session.status_now()
        if session is None:
            self.stopping.set()
        elif session is not self._session:
            self._session.leave(self._recorder)
            session.record(self._recorder, tuple(self._session.follower.board.answers.here))
            self._session = session
        elif session.is_running:
            return
        elif status is Status.FAILED:
            self._problem = message or compose("The feed has failed.")
        elif status is Status.ENDED:
            self._problem = compose("The feed has ended, and the recording with it.")


async def record(
    feed: Feed,
    folder: Path,
    predictor: Predictor,
    *,
    seconds: float | None = None,
    on_progress: Callable[[RecordingStatus], None] = lambda now: None,
) -> list[Path]:
    """Record a feed until it ends, `seconds` have passed, or the task is cancelled.

    Args:
        feed: closed at the end.
        on_progress: called about once a row, in the loop.

    Returns:
        The files of rows written.

    Raises:
        FeedFailed: where the feed cannot go on.
        OSError: where the folder cannot be written to.
    """
    session = MarketSession(feed, predictor)
    recording = SessionRecording(session, folder)
    running = asyncio.create_task(session.run())
    try:
        async with asyncio.timeout(seconds):
            await recording.run(lambda: on_progress(recording.status()))
    except TimeoutError:
        pass
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    status, failure = session.status_now()
    if status is Status.FAILED:
        raise FeedFailed(failure)
    return recording.files
