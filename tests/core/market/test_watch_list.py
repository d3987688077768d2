"""What is recorded again after a restart, and the oldest hours that go at a limit."""

import asyncio
from pathlib import Path

import pytest

from core.market import watch_list
from core.market.background_recorder import BackgroundRecorder
from core.market.events import Row, Trade
from core.market.follower import Follower
from core.market.hub import shutdown
from core.market.predictor import load_predictor
from core.market.recorder import EventRecorder
from core.market.session import MarketSession
from core.market.store import index
from core.market.store.writer import SegmentWriter
from core.messages import Refusal
from tests.core.market.feeds_for_tests import ScriptedFeed
from tests.core.market.helpers import Silent, read_rows
from tests.core.market.journals import follow

HOUR_MS = 3_600_000
ROWS = read_rows(index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet")[:200]


def test_a_market_whose_recording_was_switched_on_is_recorded_again_by_the_next_process(tmp_path: Path) -> None:
    asked: list[str] = []

    def begin(key: str) -> MarketSession:
        asked.append(key)
        if key == "live/b/ETH/EUR":
            raise Refusal("that venue is gone")
        return MarketSession(ScriptedFeed([], key=key), load_predictor())

    one, two = "live/a/BTC/USDT:USDT", "live/c/X/Y"
    recorder = BackgroundRecorder(folder=lambda: tmp_path)
    try:
        recorder.start(one, lambda: begin(one))
        recorder.start(two, lambda: begin(two))
        recorder.start("simulated/3~me", lambda: begin("simulated/3~me"))  # a playback of one's own
        assert watch_list.read(tmp_path).markets == (one, two)
        recorder.stop(two)
        watch_list.watch(tmp_path, "live/b/ETH/EUR", on=True)
        assert watch_list.read(tmp_path).markets == (one, "live/b/ETH/EUR")
        shutdown()  # the process ends without a press of the switch
        asked.clear()
        again = BackgroundRecorder(folder=lambda: tmp_path)
        again.resume(begin)
        assert asked == [one, "live/b/ETH/EUR"] and again.running() == [one]
        again.stop(one)
        assert watch_list.read(tmp_path).markets == ("live/b/ETH/EUR",)
    finally:
        shutdown()
        asyncio.set_event_loop(None)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"markets": 3, "most_bytes": 0}', '{"markets": ["live/x"], "most_bytes": "x"}'])
def test_a_damaged_list_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / watch_list.FILE).write_text(text, encoding="utf-8")
    assert watch_list.read(tmp_path) == watch_list.WatchList()


def record_hours(folder: Path, market: str, *hours: int) -> None:
    with SegmentWriter(folder, market) as writer:
        for hour in hours:
            for when, levels in zip(ROWS.timestamps.tolist(), ROWS.levels, strict=True):
                writer.add_trade(Trade(price=1.0, size=2.0, side="sell", exchange_ms=when + hour * HOUR_MS))
                writer.add(Row(when + hour * HOUR_MS, levels))


def test_the_oldest_hours_of_all_markets_go_until_the_rest_is_within_the_limit(tmp_path: Path) -> None:
    record_hours(tmp_path, "A", 0, 2)
    record_hours(tmp_path, "B", 1, 3)
    hours_by_age = sorted(tmp_path.rglob("rows_*.parquet"), key=lambda path: int(path.stem.split("_")[1]))
    assert [path.parts[len(tmp_path.parts)] for path in hours_by_age] == ["A", "B", "A", "B"]
    persons = [
        tmp_path / "own.parquet",
        hours_by_age[0].with_name(hours_by_age[0].name.replace("rows", "notes")),
        tmp_path / "archive" / "2020-01-01" / "00" / "rows_1577836800000.parquet",
        tmp_path / "data" / "rows_1.parquet",
    ]
    for path in persons:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(hours_by_age[0].read_bytes())
    assert watch_list.make_room(tmp_path) == []  # no limit
    kept = [path for hour in hours_by_age[2:] for path in hour.parent.glob("*.parquet")]
    watch_list.limit(tmp_path, sum(path.stat().st_size for path in kept))
    assert watch_list.make_room(tmp_path) == hours_by_age[:2]
    assert sorted(tmp_path.rglob("*.parquet")) == sorted([*persons, *kept])
    assert watch_list.make_room(tmp_path) == []
    hours_by_age[2].write_bytes(hours_by_age[3].read_bytes())  # a person's now
    watch_list.limit(tmp_path, 1)
    assert watch_list.make_room(tmp_path) == hours_by_age[3:]
    assert hours_by_age[2].exists()


def test_of_two_recorders_the_older_hours_go_first(tmp_path: Path) -> None:
    for _ in range(2):
        record_hours(tmp_path, "A", 0, 1, 2)
    assert len(list(tmp_path.rglob("rows_*.parquet"))) == 6
    sizes = [path.stat().st_size for path in tmp_path.rglob("*.parquet")]
    watch_list.limit(tmp_path, int(3.5 * sum(sizes) / 6))
    watch_list.make_room(tmp_path)
    begins = sorted((int(path.stem.split("_")[1]) - int(ROWS.timestamps[0])) // HOUR_MS for path in tmp_path.rglob("rows_*"))
    assert begins == [1, 2, 2]


def test_a_recording_heeds_the_limit_as_soon_as_an_hour_more_is_there(tmp_path: Path) -> None:
    watch_list.limit(tmp_path, 1)
    turn = int(ROWS.timestamps[0]) // HOUR_MS * HOUR_MS + HOUR_MS
    with SegmentWriter(tmp_path, "A") as writer:
        recorder, follower = EventRecorder(writer, wall=False), Follower(silent := Silent(), silent.market(""))
        follow(follower, recorder, [Row(turn + 250 * (number - 4), ROWS.levels[number]) for number in range(8)])
        recorder._save_due_s = 0.0
        recorder.write_down()
        assert len(writer.files) == 1 and not writer.files[0].exists()
    assert [path.exists() for path in writer.files] == [False, True]


def test_hours_go_by_their_age_and_not_by_their_spelling(tmp_path: Path) -> None:
    """In September 2001 milliseconds since 1970 had a digit more from one hour to the next."""
    with SegmentWriter(tmp_path, "A") as writer:
        for when in (1_000_000_000_000 - 2 * HOUR_MS, 1_000_000_000_000 + 2 * HOUR_MS):
            writer.add(Row(when, ROWS.levels[0]))
    older, newer = sorted(tmp_path.rglob("rows_*.parquet"), key=lambda path: int(path.stem.split("_")[1]))
    watch_list.limit(tmp_path, sum(path.stat().st_size for path in newer.parent.glob("*.parquet")))
    assert watch_list.make_room(tmp_path) == [older] and newer.exists()
