"""A session follows one feed: its books become rows, its rows predictions, its predictions scores.

The feed and the clock run in the background loop. Their rows pass through one queue, in order, to one worker thread, which
predicts and records the outcome. Pages only read, through `view`.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Protocol

import numpy as np
import pandas as pd

from core.market.answers.ahead import Lead
from core.market.answers.one_answer import Comparison
from core.market.answers.recalibration import AdaptiveHead
from core.market.answers.scoreboard import traded_calls
from core.market.book import FEATURES, PRICES, TEN_LEVELS, OrderBookSnapshot, price_tick
from core.market.depth import DepthHistory
from core.market.events import GRID_ITEMS, Gap, GridItem, Row, Trade, TradesBreak
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Feed, FeedEvent, FeedFailed, Status, StatusChange
from core.market.feeds.sampling import Grid, next_step
from core.market.feeds.situations import SILENT, LagMeter, Since, gravest, without_rows
from core.market.follower import MAX_PROVISIONAL, FollowedRow, Follower, Step
from core.market.grid import STEP_MS
from core.market.leads import leads_here
from core.market.light import NewestWindow
from core.market.meters import Meters
from core.market.predictor import Predictions, Predictor
from core.market.row_log import RowLog
from core.market.session_view import DayOfStates, View
from core.market.store.places import library_folder
from core.market.store.segments import market_folder
from core.market.store.trades import CODES
from core.market.stream import FrameKind, StepCollector, encode, score_rows
from core.market.windows import FrozenWindow
from core.messages import compose

STALE_MS = 8_000
"""Age at which a live book is called stale; the feed checks a quiet one well before that."""
KEPT_ROWS = MAX_PROVISIONAL
"""Rows kept for display, which none that is not confirmed may outlive."""
KEPT_TRADES = 60_000
"""Most trades kept, those of the kept rows: fifty a second for twenty minutes, 12 MB."""
LATE_TRADES_MS = 60_000
"""Trades come out of their order by this much at most."""
BATCH = 64
"""Most rows predicted at once, where they arrive faster than the clock (a fast replay, or the rows before its start)."""

log = logging.getLogger(__name__)


class Recorder(Protocol):
    """A writer of a session: all that the grid emits, and the steps of its rows, in the background loop."""

    def on_event(self, event: FeedEvent) -> None:
        """Take what the grid emits."""

    def on_steps(self, steps: Sequence[Step]) -> None:
        """Take what the follower made of the next items."""


class MarketSession:
    """Runs one feed through one predictor.

    Args:
        feed: the source of books; its `market` selects the entry of the predictor's card.

    Attributes:
        rests: whether nobody watches. Rows are kept then, and nothing is predicted from them unless somebody records: there is no
            call at such a row, to be shown or scored. The hub sets it.
        step: rows since the session began. lag: of the newest books, by their venue's time.
        day: the states of a live feed today.
    """

    def __init__(self, feed: Feed, predictor: Predictor) -> None:
        self.feed, self.predictor = feed, predictor
        self.entry = predictor.market(f"{feed.key} {feed.market}")
        self.follower = Follower(predictor, self.entry)
        if feed.clock == "wall":  # of what is played, the same rows would count again and again
            here = library_folder() / market_folder(feed.key)
            self.follower.begin_anew(leads_here(here, self.follower.by, CLOCK.now_ms()))
        self.started = time.time()
        self.rests = False
        self._lock = threading.RLock()  # guards the attributes down to `step`
        self._begin()
        self._meters = Meters(feed.key)
        self._state, self._message, self._situations = Status.CONNECTING, "", tuple[Since, ...]()
        self.step = 0
        self._recorders, self._joining = list[Recorder](), list[Recorder]()
        self._before: Sequence[Lead] = ()  # leads that go on as the joining ones join
        self._snapshot: tuple[tuple[int, int], bytes] | None = None  # version and rows; the frame
        self.frames = StepCollector()
        self.listeners: list[Callable[[FeedEvent], None]] = []  # each gets all that the grid emits, in the background loop
        self._received_ns = self._row_received_ns = self._heard_ns = 0  # when the newest book, row's book and message arrived
        self.lag = LagMeter()
        self._grid = Grid(feed.clock)
        self._run_lock = asyncio.Lock()  # one run at a time
        self._dispatching = asyncio.Lock()
        self._queue: asyncio.Queue[GridItem] = asyncio.Queue(maxsize=4 * BATCH)

    def _begin(self) -> None:
        """Nothing is there to be drawn."""
        row = [("timestamp", np.int64), ("levels", np.float64, len(FEATURES))]
        self._rows, self._depth, self._known_tick = RowLog(row, KEPT_ROWS + MAX_PROVISIONAL), DepthHistory(), 0.0
        self._trades: deque[tuple[float, float, float, float]] = deque(maxlen=KEPT_TRADES)
        self._breaks: deque[tuple[float, float]] = deque(maxlen=KEPT_ROWS)
        self.day, self._stalled = DayOfStates(), False

    # -- in the background loop -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the feed until it ends, fails or is cancelled; the status says which. May be run again afterwards."""
        async with self._run_lock:
            self._queue = asyncio.Queue(maxsize=4 * BATCH)
            self._set(Status.CONNECTING, "")
            if self.feed.clock == "wall":
                await self._dispatch(lambda: [self._grid.gap()])  # the time since an earlier run is unknown
            try:
                await self._run_group()
            except asyncio.CancelledError as end:
                # the frames of the group hold this error, and its traceback them: a cycle that keeps the session and its files
                raise end.with_traceback(None) from None
            except ExceptionGroup as faults:
                log.exception("the session of %s failed", self.feed.key)
                fault = type(faults.exceptions[0]).__name__
                self._set(Status.FAILED, compose("The session stopped by a fault of the program ({fault}).", fault=fault))

    async def _run_group(self) -> None:
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(self._work())]
            if self.feed.clock == "wall":
                helpers.append(group.create_task(self._tick()))
            await self._follow()
            for helper in helpers:
                helper.cancel()

    async def _follow(self) -> None:
        """Process every event; set the final state once the worker has processed them all."""
        end, message = Status.ENDED, ""
        events = self.feed.events()
        try:
            async for event in events:
                await self._dispatch(partial(self._grid.on_event, event))
        except FeedFailed as failure:
            end, message = Status.FAILED, str(failure)
        finally:
            close = getattr(events, "aclose", None)  # async generators have it
            if close is not None:
                await close()
        if self.feed.clock == "wall":
            await self._dispatch(lambda: [self._grid.gap()])  # rows that nothing confirmed
        await self._queue.join()
        if self._state is not end:
            self._set(end, message)

    async def _dispatch(self, sample: Callable[[], Iterable[FeedEvent]]) -> None:
        """Give what the grid makes of an event or of a moment to the listeners, a recorder's among them, and to the worker.

        One at a time, as a full queue would let rows of the other past those of the first.
        """
        async with self._dispatching:
            for item in sample():
                for listen in tuple(self.listeners):
                    listen(item)
                if isinstance(item, Row | OrderBookSnapshot):
                    self._received_ns = max(self._received_ns, item.received_ns)
                if isinstance(item, OrderBookSnapshot):
                    self._heard_ns = self._heard_ns if item.asked else self._received_ns
                    if self.feed.clock != "event":
                        self.lag.measure(item)
                elif isinstance(item, StatusChange):
                    if item.gap or item.state is not Status.LIVE:
                        self.lag.begin_anew()
                    self._set(item.state, item.message, item.situations)
                elif isinstance(item, GRID_ITEMS):
                    await self._queue.put(item)

    async def _tick(self) -> None:
        while True:
            await next_step()
            await self._dispatch(self._grid.on_tick)
            silent = self._state is not Status.LIVE or self._status() is Status.STALE
            self.day.enter(CLOCK.now_ms(), SILENT if silent else gravest(self.situations()))

    async def _work(self) -> None:
        while True:
            batch = await self._next_batch()
            self._let_join()
            work = asyncio.create_task(asyncio.to_thread(self._follow_batch, batch))
            try:
                await asyncio.shield(work)
            finally:
                await asyncio.wait([work])  # a thread cannot be cancelled: wait until it no longer writes
                if work.exception() is None:
                    for recorder in self._recorders:
                        recorder.on_steps(work.result())
            for _ in batch:
                self._queue.task_done()

    async def _next_batch(self) -> list[GridItem]:
        """Waits for the next items, at least one. Trades wait for the row that follows them, but no longer than a step."""
        batch = [await self._queue.get()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STEP_MS / 1e3):
                while len(batch) < BATCH and (not self._queue.empty() or isinstance(batch[-1], Trade)):
                    batch.append(await self._queue.get())
        return batch

    def record(self, recorder: Recorder, before: Sequence[Lead]) -> None:
        """Let a recorder take all from the next row on, with which what is known of the market begins anew (D28).

        Args:
            before: leads of each head that go on (D44), unless what is recorded already has some.
        """
        self.listeners.append(recorder.on_event)
        self._joining.append(recorder)
        self._before = before

    def leave(self, recorder: Recorder) -> None:
        """Let a recorder take nothing more."""
        self.listeners = [one for one in self.listeners if one != recorder.on_event]
        self._joining = [one for one in self._joining if one is not recorder]
        self._recorders = [one for one in self._recorders if one is not recorder]

    def _let_join(self) -> None:
        """Begin anew for recorders that wait."""
        if self._joining:
            with self._lock:
                self.follower.begin_anew(self.follower.board.answers.here if self._recorders else self._before)
            self._recorders += self._joining
            self._joining.clear()

    # -- in the worker thread ---------------------------------------------------------------------------------------

    def _follow_batch(self, batch: Sequence[GridItem]) -> list[Step]:
        """Predict at the rows of a batch that end a whole window, and take the batch in."""
        predictions = self.follower.predict(batch, wanted=bool(self._recorders) or not self.rests)
        count = sum(prediction is not None for prediction in predictions)
        self._meters.predictions.inc(count)
        done_ns = CLOCK.now_ns()
        with self._lock:
            # trades lie beside rows by this machine's clock, where the venue's is far from it
            lag_ms, fresh = (self.lag.ms or 0.0) if self.lag.state else 0.0, None
            steps = self.follower.take(batch, predictions, lag_ms=lag_ms)
            for step in steps:
                item = step.item
                if isinstance(item, Gap):
                    self._drop_last(step.dropped)
                elif isinstance(item, TradesBreak):
                    self._breaks.append((float(item.from_ms), float(item.until_ms)))
                    self.frames.breaks.append(self._breaks[-1])
                elif isinstance(item, Trade):
                    self._trades.append((item.exchange_ms + lag_ms, item.price, item.size, CODES[item.side]))
                    self.frames.trades.append(self._trades[-1])
                elif step.followed is not None:
                    row = step.followed.row
                    fresh = row if row.received_ns != self._row_received_ns else None
                    self._row_received_ns = row.received_ns
                    self._add_row(step.followed, wound_back=step.wound_back)
                self.frames.outcomes += step.outcomes
            if count and fresh is not None and self.follower.newest is not None:
                self._time(fresh, self.follower.newest, done_ns)
            self.frames.publish(self._state_with, self.follower.board.log.dtype)
            self._snapshot = None
        return steps

    def _add_row(self, followed: FollowedRow, *, wound_back: bool) -> None:
        row = followed.row
        if wound_back:
            self._begin()
            self.frames.start_anew()
        self._rows.add((row.timestamp, row.levels[TEN_LEVELS]))
        self._stalled = followed.stalled
        oldest = int(self._rows[max(self._rows.first, self._rows.count - KEPT_ROWS)]["timestamp"])
        while self._trades and self._trades[0][0] <= oldest - STEP_MS:
            self._trades.popleft()
        while self._breaks and self._breaks[0][1] < oldest:
            self._breaks.popleft()
        self.step += 1
        self._meters.steps.inc()
        self.frames.rows.append((row, followed.record(), self._depth.append(row.levels, row.bands, self._price_tick)))

    def _drop_last(self, count: int) -> None:
        """A gap: rows that nothing confirmed are not rows (D27)."""
        if count:
            self.frames.start_anew()
        self._rows.drop_last(count)
        self._depth.drop_last(count)
        self._stalled = False
        self._meters.gaps.inc()

    def _time(self, row: Row, predictions: Predictions, done_ns: int) -> None:
        count = len(predictions.calls)
        feed_ms, total_ms = (row.formed_ns - row.received_ns) / 1e6, (done_ns - row.received_ns) / 1e6
        self._meters.took(feed_ms, predictions.features_ms / count, predictions.model_ms / count, total_ms)

    # -- from any thread --------------------------------------------------------------------------------------------

    def _set(self, state: Status, message: str, situations: tuple[Since, ...] = ()) -> None:
        with self._lock:
            if state is not self._state or not situations:
                self._meters.came_into(state)
            self._state, self._message, self._situations = state, message, situations
        self.frames.stream.wake()

    def view(self, rows: int = 1_200) -> View:
        """The last `rows` rows and their predictions, provisional ones included."""
        with self._lock:
            newest, log = self._rows.tail(min(rows, KEPT_ROWS)), self.follower.board.log
            timestamps, levels = newest["timestamp"], newest["levels"]
            waiting = [record for one in self.follower.provisional if (record := one.record())]
            predictions = np.concatenate([log.tail(rows), np.array(waiting, dtype=log.dtype)])
            first = int(timestamps[0]) if len(timestamps) else 0
            recent = takewhile(lambda trade: trade[0] > first - LATE_TRADES_MS, reversed(self._trades))
            trades = [trade for trade in recent if trade[0] > first - STEP_MS][::-1]
            return self._state_with(
                timestamps=timestamps,
                levels=levels,
                bands=self._depth.snapshot(rows),
                predictions=predictions[predictions["timestamp"] >= first],
                trades=np.array(trades, dtype=np.float64).reshape(-1, 4),
                breaks=np.array([one for one in self._breaks if one[1] >= first], dtype=np.float64).reshape(-1, 2),
            )

    def _state_with(self, **content: Any) -> View:
        """The session and its scores as they stand, and this content, fields of a view."""
        return View(
            step=self.step,
            warm=min(self.follower.since_gap, self.predictor.window),
            provisional=len(self.follower.provisional),
            received_ms=self._row_received_ns / 1e6,
            heard_ms=self._heard_ns / 1e6,
            tick=self._price_tick,
            ladder=self._depth.ladder,
            scores=score_rows(self.follower.board),
            **content,
        )

    def status_now(self) -> tuple[Status, str]:
        """The status, and the feed's message, else what its lag means; "" where neither is worth one."""
        with self._lock:
            lag = self.lag.sentence() if self._state is Status.LIVE else ""
            return self._status(), self._message or lag

    def situations(self) -> tuple[Since, ...]:
        """States of the market and its stream that pass, with their beginnings."""
        with self._lock:
            lag = self.lag.state if self._state is Status.LIVE else None
            return self._situations if lag is None else (*self._situations, lag)

    @property
    def _price_tick(self) -> float:
        """The feed's, else that of the first window of rows; of as many as there are until then."""
        if self.feed.tick or self._known_tick:
            return self.feed.tick or self._known_tick
        first = self._rows.tail(self.predictor.window)["levels"]
        tick = price_tick(first[:, PRICES])
        self._known_tick = tick if len(first) == self.predictor.window else 0.0
        return tick

    def snapshot(self, rows: int) -> tuple[bytes, int]:
        """The last `rows` rows as one frame that replaces everything a viewer has, and its version; made once for all viewers."""
        with self._lock:
            version = self.frames.stream.version
            key = version, rows
            if self._snapshot is None or self._snapshot[0] != key:
                self._snapshot = key, encode(self.view(rows), FrameKind.SNAPSHOT)
            return self._snapshot[1], version

    def newest_window(self, head: int) -> NewestWindow | None:
        """The rows kept, and one head's recalibration as it stands; None where no whole window without a gap ends now."""
        with self._lock:
            if self.follower.since_gap < self.predictor.window:
                return None
            newest = self._rows.tail(KEPT_ROWS)
            return NewestWindow(
                predictor=self.predictor,
                entry=self.entry,
                head=head,
                timestamps=newest["timestamp"],
                levels=newest["levels"],
                recalibrate=self.follower.board.adaptive(head).adapted,
            )

    def _status(self) -> Status:
        state = self._state
        if state is Status.LIVE and without_rows(self._situations):
            return Status.INTERRUPTED
        if state is Status.LIVE and self._received_ns and CLOCK.now_ns() - self._received_ns > STALE_MS * 1e6:
            return Status.STALE
        if state in (Status.LIVE, Status.REPLAYING, Status.SIMULATING):
            if self.follower.since_gap < self.predictor.window:
                return Status.WARMING
            return Status.STALLED if self._stalled else state
        return state

    @property
    def is_running(self) -> bool:
        """Tells whether the feed is followed, and not all is processed yet."""
        return self._run_lock.locked()

    @property
    def waiting(self) -> int:
        """Items in the queue."""
        return self._queue.qsize()

    def answer_score(self, head: int) -> Comparison:
        """Scores of one head's answers so far, and of the naive rules beside it."""
        with self._lock:
            return self.follower.board.answers.score(head)

    def traded_calls(self, head: int) -> pd.DataFrame:
        """The calls of a day at most that a taker would have traded on; see `core.market.answers.scoreboard.traded_calls`."""
        with self._lock:
            rows = self.follower.board.log.tail()
        return traded_calls(rows, head, self.predictor.heads[head][1])

    def adaptive(self, head: int) -> AdaptiveHead:
        """One head's recalibration as it stands."""
        with self._lock:
            return self.follower.board.adaptive(head)

    def freeze(self) -> FrozenWindow | None:
        """A copy of the newest whole window of confirmed rows; None where there is none since the last gap."""
        with self._lock:
            window, provisional = self.predictor.window, len(self.follower.provisional)
            if self.follower.since_gap - provisional < window:
                return None
            newest = self._rows.tail(window + provisional)[:window]
            return FrozenWindow(
                timestamps=newest["timestamp"],
                levels=newest["levels"],
                market=f"{self.feed.key} {self.feed.market}",
                predictor=str(self.predictor.card["name"]),
            )
