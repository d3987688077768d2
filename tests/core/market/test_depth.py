"""Price bands against a sum in a loop, as changes, in files and in frames; the bundled ones against the ten levels."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from core.market.bands import BandChange, Bands, Ladder, bands_of, change_of
from core.market.book import NO_LEVELS, BookError, OrderBookSnapshot
from core.market.depth import DEEP_ROWS, DepthHistory
from core.market.events import Trade
from core.market.feeds.protocol import FeedEvent
from core.market.grid import STEP_MS
from core.market.predictor import Predictor
from core.market.recorder import record
from core.market.session import KEPT_ROWS
from core.market.store.depth_files import SCHEMA, RecordedDepth, depth_row
from core.market.store.index import recordings
from core.market.store.rows import RecordedRows
from core.market.store.segments import DEPTH, segment_path
from core.market.stream import HEADER, ROW
from tests.core.market.feeds_for_tests import PlayedOnce, ScriptedFeed, finished, replaying
from tests.core.market.helpers import Silent, confirmed, real_rows, tiny_predictor

LADDER = Ladder(1.0, 20.0)
KEYFRAME_ROWS = 240
"""Rows of a bundled file after which one is whole."""


def book(seed: int, mid: float = 60_000.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A book that reaches seven per cent to either side, in cents."""
    rng = np.random.default_rng(seed)
    away = np.cumsum(rng.integers(1, 1_500, 600)) / 100
    size = rng.lognormal(size=(2, 600))
    return np.stack([mid + away, size[0]], axis=1), np.stack([mid - away, size[1]], axis=1)


def state(changes: list[BandChange | None]) -> dict[int, float]:
    """Bands after these changes."""
    held: dict[int, float] = {}
    for change in changes:
        if change is not None:
            held = {} if change.whole else held
            held |= dict(zip(change.keys.tolist(), change.sizes.tolist(), strict=True))
    return {key: size for key, size in held.items() if size}


def held(bands: Bands) -> dict[int, float]:
    return dict(zip(bands.keys.tolist(), bands.sizes.tolist(), strict=True))


@pytest.mark.parametrize(("mid", "tick", "ladder"), [(61_000, 0.01, (1, 20)), (2700, 0.01, (0.05, 1)), (1.2, 1e-4, (1e-4, 5e-4))])
def test_the_ladders_are_as_fine_as_their_number_of_bands_allows(mid: float, tick: float, ladder: tuple[float, float]) -> None:
    assert Ladder.of(mid, tick) == pytest.approx(ladder)


def test_every_level_is_in_the_band_of_its_price_and_side() -> None:
    asks, bids = book(1)
    bands = bands_of(asks, bids, LADDER)
    sums: dict[int, float] = {}
    mid = (asks[0, 0] + bids[0, 0]) / 2
    inner = [math.floor(mid * 0.995 / 20) * 20, math.ceil(mid * 1.005 / 20) * 20]
    for side, levels in enumerate((asks, bids)):
        for price, size in levels:
            coarse = not inner[0] <= price < inner[1]
            if not coarse or abs(price / mid - 1) <= 0.05:
                key = 4 * math.floor(price / (20 if coarse else 1)) + 2 * coarse + side
                sums[key] = sums.get(key, 0) + size
    assert held(bands) == pytest.approx(sums, rel=1e-6) and (np.diff(bands.keys) > 0).all()
    assert (bands.low, bands.high) == (bids[-1, 0], asks[-1, 0])


def test_changes_add_up_to_the_book() -> None:
    rows = [bands_of(*book(seed, 60_000 + 7 * seed), LADDER) for seed in range(6)]
    changes: list[BandChange | None] = [change_of(before, after) for before, after in zip([None, *rows], rows, strict=False)]
    for count, bands in enumerate(rows, 1):
        assert state(changes[:count]) == held(bands)
    assert not len(change_of(rows[0], rows[0]).keys)


def write_depth(path: Path, rows: Iterable[tuple[int, Bands | None]]) -> None:
    """Rows, (time, bands), as the bundled files have them: changes, and now and then a whole one."""
    history, lines = DepthHistory(2), []
    for count, (timestamp, bands) in enumerate(rows):
        if count % KEYFRAME_ROWS == 0:
            history.clear()
        change = history.append(NO_LEVELS, bands, 0.0)
        if change is not None and history.ladder is not None:
            lines.append(depth_row(timestamp, history.ladder, change))
    columns = [pa.array(list(column), field.type) for column, field in zip(zip(*lines, strict=True), SCHEMA, strict=True)]
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns, schema=SCHEMA), path)


def test_a_file_gives_back_what_was_written_in_any_order(tmp_path: Path) -> None:
    rows = [(STEP_MS * i, None if i == 5 else bands_of(*book(i % 9), LADDER)) for i in range(KEYFRAME_ROWS + 30)]
    write_depth(segment_path(tmp_path / "a.parquet", DEPTH), rows)
    read = RecordedDepth([tmp_path / "a.parquet"])
    for place in [0, 1, 2, 5, 6, 200, 3, KEYFRAME_ROWS + 29, KEYFRAME_ROWS - 1, KEYFRAME_ROWS]:
        at, bands = rows[place]
        got = read.at(at)
        if bands is None:
            assert got is None
            continue
        assert got is not None and held(got) == held(bands) and got[3:] == bands[3:] and got.ladder == LADDER
    assert read.at(1) is None and RecordedDepth([tmp_path / "b.parquet"]).at(0) is None


def test_what_is_no_file_of_bands_is_refused(tmp_path: Path) -> None:
    path = segment_path(tmp_path / "a.parquet", DEPTH)
    path.parent.mkdir()
    path.write_bytes(b"PAR1")
    with pytest.raises(BookError, match=r"a\.parquet is no file of price bands"):
        RecordedDepth([tmp_path / "a.parquet"])


def test_a_history_holds_the_newest_rows_and_forgets_the_provisional_ones() -> None:
    history = DepthHistory(4)
    rows = [bands_of(*book(seed), LADDER) for seed in range(8)]
    for bands in rows[:6]:
        history.append(np.zeros(40), bands, 0.01)
    changes = history.snapshot(DEEP_ROWS)
    assert len(changes) == 4 and changes[0] is not None and changes[0].whole and state(changes) == held(rows[5])
    history.drop_last(2)
    assert state(history.snapshot(9)) == held(rows[3])
    assert state([*history.snapshot(9), history.append(np.zeros(40), rows[7], 0.01)]) == held(rows[7])
    assert history.append(np.zeros(40), None, 0.01) is None  # ten levels alone have no bands
    history.clear()
    assert history.snapshot(9) == [] and history.ladder == LADDER


def test_a_frame_carries_the_bands_of_its_rows(tmp_path: Path) -> None:
    """Those that the feed brings, and of levels past the tenth; none of ten levels alone."""
    rows = real_rows(4)[:120]
    events = [event for event in replaying(rows) if isinstance(event, OrderBookSnapshot)]
    brought = [bands_of(*book(i), LADDER) for i in range(120)]
    predictor = tiny_predictor(tmp_path, rows)

    def frame(script: list[OrderBookSnapshot]) -> tuple[dict[str, float], NDArray[np.float64], bytes]:
        data, _version = finished(predictor, [*replaying(rows)[:1], *script]).snapshot(50)
        numbers = np.frombuffer(data, dtype="<f8")
        header = dict(zip(HEADER, numbers, strict=False))
        width = len(ROW) + 40 + 5 * int(header["heads"])
        return header, numbers[len(HEADER) :][: 50 * width].reshape(50, width), data

    header, table, data = frame([replace(event, bands=bands) for event, bands in zip(events, brought, strict=True)])
    assert (header["fine"], header["coarse"]) == LADDER
    counts = table[:, ROW.index("changes")].astype(int)
    assert counts.sum() == header["bands"] and table[:, ROW.index("whole")].tolist() == [1.0] + [0.0] * 49
    keys, sizes = np.frombuffer(data[-8 * int(header["bands"]) :], dtype="<f4").reshape(2, -1)
    held_now: dict[int, float] = {}
    for count, first, bands in zip(counts, np.cumsum(counts) - counts, brought[70:], strict=True):
        part = slice(first, first + count)
        held_now |= dict(zip(keys[part].astype(int).tolist(), sizes[part].tolist(), strict=True))
        assert {key: size for key, size in held_now.items() if size} == held(bands)
    more = np.concatenate([[60.0 + i, 1.0, 50.0 - i, 1.0] for i in range(3)])
    header, table, _data = frame([replace(event, deep=more) for event in events])
    assert header["fine"] > 0 and (table[:, ROW.index("changes")] >= 0).all()
    header, table, _data = frame(events)
    assert header["bands"] == 0 and (table[:, ROW.index("changes")] == -1).all()


@pytest.mark.parametrize(
    "recording", [one for one in recordings() if segment_path(one.path, DEPTH).exists()], ids=lambda one: one.name
)
def test_bundled_bands_hold_the_ten_levels_of_their_rows(recording: object) -> None:
    """Rebuilt from the venue's messages by another way than the rows were: a band between the best and the tenth level is whole.

    Towards the end the market leaves the prices that the venue's first book held; the ten levels too are then those seen since.
    """
    path = recording.path  # type: ignore[attr-defined]
    rows, depth = RecordedRows([path]), RecordedDepth([path])
    block = rows.block(0, len(rows))
    right = count = 0
    for timestamp, levels in list(zip(block.timestamps, block.levels, strict=True))[::7]:
        bands = depth.at(int(timestamp))
        assert bands is not None and bands.low < bands.high
        sums = held(bands)
        for side, prices in enumerate(levels.reshape(10, 2, 2).transpose(1, 0, 2)):
            keys = 4 * np.floor(prices[:, 0] / bands.ladder.fine + 1e-9).astype(int) + side
            for key in set(keys.tolist()) - {keys[-1]}:  # the tenth level's band reaches past it
                count += 1
                right += sums.get(key, 0.0) == pytest.approx(prices[keys == key, 1].sum(), rel=1e-5, abs=1e-6)
    assert count > 800 and right > 0.99 * count  # a message in the same millisecond as a row may belong to either


# -- a session of books with more than ten levels a side ----------------------------------------------------------------


ROWS = real_rows(4)[:120]


def test_predictions_and_scores_are_those_of_the_ten_levels(predictor: Predictor) -> None:
    """Whose deeper levels are as many as the row's number, ninety at most."""
    begun, *books = replaying(ROWS)
    deepened = [
        replace(book, deep=1_000.0 * number + np.arange(4.0 * min(number, 90)))  # type: ignore[type-var]
        for number, book in enumerate(books)
    ]
    deep, plain = finished(predictor, [begun, *deepened]), finished(predictor, replaying(ROWS))
    np.testing.assert_array_equal(deep.view().levels, ROWS.levels)
    np.testing.assert_allclose(deep.view().predictions["probabilities"], plain.view().predictions["probabilities"], atol=1e-6)
    np.testing.assert_array_equal(confirmed(deep)[["timestamp", "mid"]], confirmed(plain)[["timestamp", "mid"]])


async def test_their_bands_are_recorded_and_played(tmp_path: Path) -> None:
    """Of a book that reaches past the hundred levels that are recorded one by one; a hole and a minute begin whole."""
    events = [
        replace(event, bands=bands_at(i)) for i, event in enumerate(replaying(ROWS)[1:]) if isinstance(event, OrderBookSnapshot)
    ]
    (path,) = await record(ScriptedFeed([replaying(ROWS)[0], *events], ends=True), tmp_path, Silent())
    depth = RecordedDepth([path])
    for i, timestamp in enumerate(ROWS.timestamps):
        got = depth.at(int(timestamp))
        assert got is not None and got.keys.tolist() == bands_at(i).keys.tolist() and got.ladder == bands_at(i).ladder
    again = [event async for event in PlayedOnce(path, market="ABC/USDT").events()]
    played = [event.bands.sizes.tolist() for event in again if isinstance(event, OrderBookSnapshot) and event.bands]
    assert played == [bands_at(i).sizes.tolist() for i in range(len(ROWS))]


def bands_at(number: int) -> Bands:
    levels = np.array([[100.0 + 0.1 * k, 1.0 + (k + number) % 3] for k in range(1, 200)])
    return bands_of(levels, levels * [-1, 1] + [200.0, 0], Ladder(0.2, 1.0))


def test_no_trade_of_a_kept_row_is_dropped(predictor: Predictor) -> None:
    """Thirty a row: 3,600."""
    script: list[FeedEvent] = []
    for event in replaying(ROWS):
        when = event.exchange_ms if isinstance(event, OrderBookSnapshot) else 0
        script += [Trade(price=1.0, size=1.0, side="buy", exchange_ms=when - at) for at in range(240, 0, -8) if when]
        script.append(event)
    session = finished(predictor, script)
    assert len(session.view().trades) == 30 * len(ROWS)
    assert len(session.view(10).trades) == 30 * 10
    assert len(ROWS) < KEPT_ROWS
