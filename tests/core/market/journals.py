"""Recordings with a journal of calls, made event by event."""

import multiprocessing
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from core.market.book import BookRows
from core.market.events import GRID_ITEMS, Confirmed, Row
from core.market.feeds.protocol import FeedEvent
from core.market.follower import Follower
from core.market.leads import leads_here
from core.market.predictor import Predictor
from core.market.recorder import EventRecorder
from core.market.store.segments import market_folder
from core.market.store.writer import SegmentWriter

FORK = multiprocessing.get_context("fork")
"""Processes that import nothing anew."""
MARKET, SPELLING = "ABC/USD", "live/testville/ABC/USD ABC/USD"


class Clock:
    """Stands at the newest row that was taken, and this many milliseconds more."""

    def __init__(self) -> None:
        self.at_ms, self.behind_ms = 0, 20

    def __call__(self) -> int:
        return self.at_ms + self.behind_ms


def follow(follower: Follower, recorder: EventRecorder, events: Iterable[FeedEvent]) -> None:
    """Let a recorder take events one by one, as a session would."""
    for event in events:
        recorder.on_event(event)
        if isinstance(event, GRID_ITEMS):
            recorder.on_steps(follower.take([event], follower.predict([event])))


def leave(writer: SegmentWriter) -> None:
    """Let go of what a recording writes, as the system does when its process is killed."""
    assert writer._journal is not None
    writer._journal.close()


class Journalled:
    """A live market's recording, whose rows come provisional, each written down at once.

    Args:
        begins_ms: when it begins, so that leads go on; 0 where nothing goes on.
    """

    def __init__(
        self, folder: Path, predictor: Predictor, *, spelling: str = SPELLING, wall: bool = True, begins_ms: int = 0
    ) -> None:
        self.clock = Clock()
        self.follower = Follower(predictor, predictor.market(spelling))
        self.writer = SegmentWriter(folder, MARKET, by=self.follower.by)
        before = leads_here(folder / market_folder(MARKET), self.follower.by, begins_ms) if begins_ms else []
        self.recorder = EventRecorder(self.writer, wall=wall, clock_ms=self.clock)
        self.follower.begin_anew(before)

    def take(self, *events: FeedEvent) -> None:
        for event in events:
            self.clock.at_ms = event.timestamp if isinstance(event, Row) else self.clock.at_ms
            follow(self.follower, self.recorder, [event])
            self.recorder.write_down()

    def close(self) -> None:
        self.recorder.stop()
        self.writer.close()


def live(rows: BookRows, *, lag: int = 1) -> Iterable[FeedEvent]:
    """Each row as a live market's: provisional, confirmed after `lag` more rows."""
    for time, levels in zip(rows.timestamps.tolist(), rows.levels, strict=True):
        yield Confirmed(time - 250 * lag)
        yield Row(time, levels, provisional=True)
    yield Confirmed(int(rows.timestamps[-1]))


def recorded(folder: Path, rows: BookRows, predictor: Predictor, *, lag: int = 1, spelling: str = SPELLING) -> list[Path]:
    """A recording of a live market; returns its files of rows."""
    one = Journalled(folder, predictor, spelling=spelling, begins_ms=int(rows.timestamps[0]))
    one.take(*live(rows, lag=lag))
    one.close()
    return one.writer.files


def calls_of(files: Sequence[Path]) -> pd.DataFrame:
    """All calls beside files of rows, as pandas reads them."""
    return pd.concat([pd.read_parquet(path.with_name(path.name.replace("rows_", "calls_"))) for path in files], ignore_index=True)
