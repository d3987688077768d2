import asyncio
import errno
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.market.background_recorder import BackgroundRecorder
from core.market.book import OrderBookSnapshot
from core.market.events import BookLost, Row, Trade
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.feeds.sampling import Grid
from core.market.feeds.simulated import SimulatedFeed
from core.market.follower import Follower
from core.market.grid import HOUR_MS
from core.market.hub import hub, shutdown
from core.market.made_again import known_predictors, make_again
from core.market.predictor import load_predictor
from core.market.recorder import EventRecorder, RecordingStatus
from core.market.session import MarketSession
from core.market.store.index import list_recordings
from core.market.store.rows import read_market
from core.market.store.segments import EVENTS, TRADES, market_folder, segment_path
from core.market.store.writer import SegmentWriter, restore_recordings
from tests.core.market.helpers import START_MS, Silent, simulated_books
from tests.core.market.journals import follow, leave

HOUR_END = (START_MS // HOUR_MS + 1) * HOUR_MS


def test_a_segment_ends_with_the_hour_and_a_hole_is_an_event(tmp_path: Path) -> None:
    first = HOUR_END - 1_000
    times = [first, first + 250, first + 750, HOUR_END, HOUR_END + 250]
    library, books = tmp_path / "new", simulated_books(5)
    with SegmentWriter(library, "BTC/USDT:USDT") as writer:
        for when, book in zip(times, books, strict=True):
            writer.add_trade(Trade(price=1.0, size=1.0, side="buy", exchange_ms=when))
            writer.add(Row(when, book))
        writer.save_journal()
        assert len(writer.files) == 1  # the hour that is over
    day = library / "BTC-USDT-USDT" / "2023-11-14"
    assert writer.files == [day / "22" / f"rows_{first}.parquet", day / "23" / f"rows_{HOUR_END}.parquet"]
    kinds = [segment_path(writer.files[0], EVENTS), *(segment_path(path, TRADES) for path in writer.files)]
    assert {path for path in library.rglob("*") if path.is_file()} == {*writer.files, *kinds}  # nothing half done
    whole = read_market(writer.files)
    np.testing.assert_array_equal(whole.levels, np.array(books))
    assert whole.timestamps.tolist() == times
    assert (writer.rows, writer.gaps, writer.seconds) == (5, 1, 1.5)
    events = pq.read_table(segment_path(writer.files[0], EVENTS)).to_pylist()
    assert events == [{"timestamp": first + 500, "kind": "gap", "until": first + 750, "message": ""}]
    assert pq.read_metadata(segment_path(writer.files[0], TRADES)).num_rows == 4  # the fourth came before the hour's first row
    (entry,) = list_recordings(library)
    assert (entry.market, entry.rows, entry.gaps, entry.name) == ("BTC/USDT:USDT", 5, 1, "BTC-USDT-USDT/2023-11-14")
    assert writer.size == entry.size


def snapshot(levels: np.ndarray, received_ns: int, number: int) -> OrderBookSnapshot:
    return OrderBookSnapshot(
        levels=levels[:40], deep=levels[40:], exchange_ms=received_ns // 1_000_000 - 7, received_ns=received_ns, sequence=number
    )


def test_interruptions_are_rows_of_their_own(tmp_path: Path) -> None:
    market = simulated_books(60, seed=5)
    now = CLOCK.now_ns()
    writer = SegmentWriter(tmp_path, "BTC/USDT")
    recorder, grid, follower = EventRecorder(writer, wall=True), Grid("wall"), Follower(silent := Silent(), silent.market(""))
    before: dict[int, FeedEvent] = {
        20: StatusChange(state=Status.RECONNECTING, message="Gone.", gap=True),
        30: StatusChange(state=Status.RECONNECTING, message="Missed.", gap=True, resync=True),
        40: BookLost(from_ns=now + 40),
    }
    for number, levels in enumerate(market):
        for event in (*([before[number]] if number in before else []), snapshot(levels, now + number * 1_000_000, number)):
            follow(follower, recorder, grid.on_event(event))
        if number % 7 == 0:
            recorder.write_down()
    recorder.stop()
    writer.close()
    (path,) = tmp_path.rglob("events_*.parquet")
    events = pq.read_table(path).to_pylist()
    told = [("start", ""), ("reconnect", "Gone."), ("resync", "Missed."), ("lost", ""), ("stop", "")]
    assert [(event["kind"], event["message"]) for event in events] == told


def test_a_full_disk_ends_a_recording_with_a_sentence_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Usage = namedtuple("Usage", "free")
    writer = SegmentWriter(tmp_path, "x")
    for row, book in enumerate(simulated_books(8)):
        writer.add(Row(START_MS + 250 * row, book))
    writer.save_journal()
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(1_000))
    writer.add(Row(START_MS + 2_000, simulated_books(9)[8]))
    with pytest.raises(OSError, match="the disk has less than 256 MiB left: make room for the recording") as raised:
        writer.save_journal()
    assert raised.value.errno == errno.ENOSPC
    writer.close()
    assert len(read_market(writer.files)) == 9


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[BackgroundRecorder]:
    """The app's, into a folder of the test."""
    yield BackgroundRecorder(folder=lambda: tmp_path)
    shutdown()
    asyncio.set_event_loop(None)


FEED = "simulated/3"


def begin() -> MarketSession:
    feed = SimulatedFeed(3, start_ms=START_MS)
    feed.set_speed(50.0)
    return MarketSession(feed, load_predictor())


def until(recorder: BackgroundRecorder, wanted: Callable[[RecordingStatus], bool]) -> RecordingStatus:
    """The recording as it stands once that holds."""
    end = time.monotonic() + 60
    while (now := recorder.status(FEED)) is None or not wanted(now):
        assert time.monotonic() < end, now
        time.sleep(0.02)
    return now


def test_the_apps_recorder_writes_what_it_shows_and_ends_with_a_played_feed(tmp_path: Path, recorder: BackgroundRecorder) -> None:
    recorder.start(FEED, begin)
    now = until(recorder, lambda now: now.rows >= 160)
    assert now.running and recorder.running() == [FEED] and now.size + now.free > 0
    assert list(hub().watched().values()) == [1]
    hub().restart(FEED)  # the last viewer has left
    ended = until(recorder, lambda now: not now.running)
    assert recorder.running() == [] and ended.problem == ""
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert len(rows) == ended.rows and ended.seconds == len(rows) / 4
    missed = int(rows.timestamps[0] - START_MS) // 250  # before the recorder listened
    np.testing.assert_array_equal(rows.levels, np.array(simulated_books(missed + len(rows), seed=3))[missed:])
    again = make_again("it", sorted(tmp_path.rglob("rows_*.parquet")), known_predictors())
    assert again.equal == again.predictions == 8 * (len(rows) - 127)


def test_a_recording_waits_for_a_full_disk_and_goes_on_after_a_gap(
    tmp_path: Path, recorder: BackgroundRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.market.recorder.AGAIN_S", 0.05)
    recorder.start(FEED, begin)
    until(recorder, lambda now: now.rows >= 60)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _path: namedtuple("Usage", "free")(1_000))
        full = until(recorder, lambda now: bool(now.problem))
        assert full.running and full.problem.startswith("The disk refuses: ")
    on = until(recorder, lambda now: now.rows >= full.rows + 60)
    assert on.running and not on.problem and on.gaps == full.gaps + 1
    recorder.stop(FEED)
    ended = until(recorder, lambda now: not now.running)
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert len(rows) == ended.rows and not ended.problem
    assert (np.diff(rows.timestamps) != 250).sum() == 1
    at = (rows.timestamps - START_MS) // 250
    np.testing.assert_array_equal(rows.levels, np.array(simulated_books(int(at[-1]) + 1, seed=3))[at])


def test_nobody_waits_for_the_start_of_anothers_recording(recorder: BackgroundRecorder) -> None:
    """It may restore an hour that a killed process left, while every live page asks for its own recording's status."""
    starting, go_on = threading.Event(), threading.Event()

    def slow() -> Any:
        starting.set()
        assert go_on.wait(20)
        raise OSError("the disk is gone")

    with ThreadPoolExecutor() as pool:
        try:
            start = pool.submit(recorder.start, "live/one", slow)
            assert starting.wait(20)
            assert pool.submit(recorder.status, "live/two").result(5) is None
            assert pool.submit(recorder.running).result(5) == []
        finally:
            go_on.set()
        with pytest.raises(OSError, match="the disk is gone"):
            start.result(20)


def test_venues_have_a_folder_each_and_a_killed_recording_is_restored_where_it_belongs(tmp_path: Path) -> None:
    writers = [SegmentWriter(tmp_path, "BTC/USDT", key=f"live/{venue}/BTC/USDT") for venue in ("binance", "kraken")]
    for writer in writers:
        for row, book in enumerate(simulated_books(4)):
            writer.add(Row(START_MS + 250 * row, book))
        writer.save_journal()
        leave(writer)
    assert len(restore_recordings(tmp_path)) == 2 and restore_recordings(tmp_path) == []
    assert [(entry.name, entry.market, entry.rows) for entry in list_recordings(tmp_path)] == [
        ("binance-BTC-USDT/2023-11-14", "BTC/USDT", 4),
        ("kraken-BTC-USDT/2023-11-14", "BTC/USDT", 4),
    ]
    assert market_folder("recording/x/2024-08-08~ab12") == "recording-x-2024-08-08"
