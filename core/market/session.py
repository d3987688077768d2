"""One feed being watched: its books become rows, its rows predictions, its predictions scores.

The feed and the clock run in the background loop; what they bring goes through one queue, in order, to one worker thread, which
predicts and writes down. Pages only read, through `view`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.market.book import STEP_MS, FloatArray, OrderBookSnapshot
from core.market.feeds.protocol import Feed, FeedFailed, FeedState, StatusChange, Trade
from core.market.predictor import Predictions, Predictor
from core.market.recent_rows import RecentRows
from core.market.sampler import GridSampler
from core.market.scoreboard import HeadScores, Scoreboard
from core.market.session_view import Status, View, latency_of
from core.market.windows import FrozenWindow

STALE_MS = 8_000
"""A live book of which nothing was heard for this long is called stale; a feed asks after a quiet one before that."""
KEPT_ROWS = 4_800
"""Rows kept for looking at: twenty minutes."""
KEPT_TRADES = 2_000
BATCH = 64
"""Rows predicted in one go when they come faster than the clock (a replay at speed, or the rows before its start)."""


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Row:
    """A row of the grid on its way to the worker, and when its book came and when the row was complete (`time.time_ns`)."""

    timestamp: int
    levels: FloatArray
    received_ns: int
    formed_ns: int


_Item = _Row | Trade | None
"""What goes to the worker; None is a gap."""


class MarketSession:
    """Runs one feed through one predictor.

    Args:
        feed: where books come from; its `market` picks the entry of the predictor's card.
    """

    def __init__(self, feed: Feed, predictor: Predictor) -> None:
        self.feed, self.predictor = feed, predictor
        self.entry = predictor.market(f"{feed.key} {feed.market}")
        self.started = time.time()
        self._lock = threading.Lock()  # for what follows, down to the step
        self._stepped = threading.Condition(self._lock)
        self._rows = RecentRows(KEPT_ROWS)
        self._trades: deque[tuple[float, float, float, float]] = deque(maxlen=KEPT_TRADES)
        self._board = Scoreboard(predictor.heads, self.entry.alphas)
        self._latencies: deque[tuple[float, float, float, float]] = deque(maxlen=500)
        self._state, self._message = FeedState.CONNECTING, ""
        self._warm = 0
        self._row_received_ns = 0  # when the newest row's book came
        self._step = 0
        self._received_ns = 0  # when the newest book came
        self._sampler = GridSampler()
        self._alone = asyncio.Lock()  # one run at a time
        self._queue: asyncio.Queue[_Item] = asyncio.Queue(maxsize=4 * BATCH)
        self._window: deque[FloatArray] = deque(maxlen=predictor.window)  # the worker's: rows since the last gap
        self._last_ms = 0  # the worker's: time of the last row

    # -- in the background loop -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the feed until it ends, fails or is cancelled; the status says which. May be run again afterwards."""
        async with self._alone:
            self._queue = asyncio.Queue(maxsize=4 * BATCH)
            self._set(FeedState.CONNECTING, "")
            if self.feed.clock == "wall":
                await self._gap()  # whatever happened since an earlier run was not seen
            try:
                async with asyncio.TaskGroup() as group:
                    helpers = [group.create_task(self._work())]
                    if self.feed.clock == "wall":
                        helpers.append(group.create_task(self._tick()))
                    await self._follow()
                    for helper in helpers:
                        helper.cancel()
            except* Exception as faults:
                log.exception("the session of %s failed", self.feed.key)
                self._set(FeedState.FAILED, f"The session stopped by a fault of the program: {faults.exceptions[0]!r}.")

    async def _follow(self) -> None:
        """Take every event, and say how it ended once all that came has been written down."""
        end, message = FeedState.ENDED, ""
        events = self.feed.events()
        try:
            async for event in events:
                await self._take(event)
        except FeedFailed as failure:
            end, message = FeedState.FAILED, str(failure)
        finally:
            close = getattr(events, "aclose", None)  # an async generator's own
            if close is not None:
                await close()
        await self._queue.join()
        if self._state is not end:
            self._set(end, message)

    async def _take(self, event: OrderBookSnapshot | Trade | StatusChange) -> None:
        if isinstance(event, OrderBookSnapshot):
            before, self._received_ns = self._received_ns, event.received_ns
            at_ms = event.received_ns // 1_000_000 if self.feed.clock == "wall" else None
            for timestamp, levels in self._sampler.push(event, at_ms=at_ms):
                await self._put(timestamp, levels, event.received_ns if levels is event.levels else before)
        elif isinstance(event, Trade):
            await self._queue.put(event)
        else:
            if event.gap:
                await self._gap()
            self._set(event.state, event.message)

    async def _gap(self) -> None:
        self._sampler.gap()
        await self._queue.put(None)

    async def _tick(self) -> None:
        """The grid by this machine's clock, for feeds whose book holds until the next one."""
        while True:
            now_ms = time.time_ns() // 1_000_000
            await asyncio.sleep((STEP_MS - now_ms % STEP_MS) / 1e3)
            if self._state is FeedState.LIVE:
                for timestamp, levels in self._sampler.advance(time.time_ns() // 1_000_000):
                    await self._put(timestamp, levels, self._received_ns)

    async def _put(self, timestamp: int, levels: FloatArray, received_ns: int) -> None:
        await self._queue.put(_Row(timestamp, levels, received_ns, time.time_ns()))

    async def _work(self) -> None:
        """Take what is waiting, predict on it in one batch, write it down."""
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            work = asyncio.create_task(asyncio.to_thread(self._process, batch))
            try:
                await asyncio.shield(work)
            finally:
                await asyncio.wait([work])  # a thread cannot be cancelled: it must not go on writing behind our back
            for _ in batch:
                self._queue.task_done()

    # -- in the worker thread ---------------------------------------------------------------------------------------

    def _process(self, batch: list[_Item]) -> None:
        warm: list[int] = []  # after each item: rows since the last gap, up to the window
        windows: list[FloatArray] = []
        for item in batch:
            if item is None:
                self._window.clear()
            elif isinstance(item, _Row):
                if item.timestamp != self._last_ms + STEP_MS:
                    self._window.clear()
                self._last_ms = item.timestamp
                self._window.append(item.levels)
                if len(self._window) == self.predictor.window:
                    windows.append(np.stack(self._window))
            warm.append(len(self._window))
        predictions = self.predictor.predict(np.stack(windows), self.entry) if windows else None
        done_ns = time.time_ns()
        with self._lock:
            used, fresh = 0, None
            for item, self._warm in zip(batch, warm, strict=True):
                if item is None:
                    self._board.gap()
                elif isinstance(item, Trade):
                    side = {"buy": 1.0, "sell": -1.0, None: 0.0}[item.side]
                    self._trades.append((float(item.exchange_ms), item.price, item.size, side))
                else:
                    whole = self._warm == self.predictor.window
                    fresh = item if item.received_ns != self._row_received_ns else None
                    self._row_received_ns = item.received_ns
                    self._write(item, predictions if whole else None, used)
                    used += whole
            if predictions is not None and fresh is not None:
                self._time(fresh, predictions, done_ns)
            self._stepped.notify_all()

    def _write(self, row: _Row, predictions: Predictions | None, which: int) -> None:
        before = self._rows.newest
        if before is not None and row.timestamp <= before:  # a recording wound back: what follows was seen already
            self._rows.clear()
            self._trades.clear()
            self._board = Scoreboard(self.predictor.heads, self.entry.alphas)
        elif before is not None and row.timestamp != before + STEP_MS:
            self._board.gap()
        self._rows.append(row.timestamp, row.levels)
        self._board.step(row.timestamp, float(row.levels[0] + row.levels[2]) / 2, predictions, which)
        self._step += 1

    def _time(self, row: _Row, predictions: Predictions, done_ns: int) -> None:
        count = len(predictions.calls)
        feed_ms, total_ms = (row.formed_ns - row.received_ns) / 1e6, (done_ns - row.received_ns) / 1e6
        self._latencies.append((feed_ms, predictions.features_ms / count, predictions.model_ms / count, total_ms))

    # -- from any thread --------------------------------------------------------------------------------------------

    def _set(self, state: FeedState, message: str) -> None:
        with self._lock:
            self._state, self._message = state, message

    def wait_beyond(self, step: int, timeout_s: float) -> bool:
        """Wait for a later step than this one, not longer than the timeout; whether there is one."""
        with self._stepped:
            return self._stepped.wait_for(lambda: self._step > step, timeout_s)

    def view(self, rows: int = 1_200) -> View:
        """The last `rows` rows and the predictions on them."""
        with self._lock:
            tail = self._rows.tail(rows)
            timestamps, levels = self._rows.timestamps[tail].copy(), self._rows.levels[tail].copy()
            predictions = self._board.log.tail(rows)
            trades = np.array(self._trades, dtype=np.float64).reshape(-1, 4)
            latencies = np.array(self._latencies, dtype=np.float64).reshape(-1, 4)
            state, message, step, warm = self._state, self._message, self._step, self._warm
            received_ns, row_received_ns = self._received_ns, self._row_received_ns
        first = timestamps[0] if len(timestamps) else 0
        age_ms = (time.time_ns() - received_ns) / 1e6 if received_ns else math.inf
        return View(
            status=self._status(state, age_ms, warm),
            message=message,
            step=step,
            warm=warm,
            timestamps=timestamps,
            levels=levels,
            trades=trades[trades[:, 0] >= first],
            predictions=predictions[predictions["timestamp"] >= first],
            age_ms=age_ms,
            received_ms=row_received_ns / 1e6,
            latency=latency_of(latencies),
        )

    def _status(self, state: FeedState, age_ms: float, warm: int) -> Status:
        if state is FeedState.LIVE and STALE_MS < age_ms < math.inf:
            return Status.STALE
        if state in (FeedState.LIVE, FeedState.REPLAYING, FeedState.SIMULATING) and warm < self.predictor.window:
            return Status.WARMING
        return Status(state.value)

    @property
    def step(self) -> int:
        """Rows seen since the session began."""
        return self._step

    def scores(self, head: int) -> HeadScores:
        """One head's scores so far."""
        with self._lock:
            return self._board.scores(head)

    def export(self) -> pd.DataFrame:
        """All predictions kept; see `Scoreboard.export` for the columns."""
        with self._lock:
            return self._board.export()

    def freeze(self) -> FrozenWindow | None:
        """The newest whole window, taken out of time; None where the warm-up is not over."""
        with self._lock:
            tail = self._rows.tail(self.predictor.window)
            if self._warm < self.predictor.window:
                return None
            return FrozenWindow(
                timestamps=self._rows.timestamps[tail],
                levels=self._rows.levels[tail],
                market=f"{self.feed.key} {self.feed.market}",
                predictor=str(self.predictor.card["name"]),
            )
