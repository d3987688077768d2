"""Books and their files: what is read, what is refused and in which words, and the grid against pandas."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.market.book import (
    FEATURES,
    FILE_COLUMNS,
    BookError,
    BookRows,
    best_ask,
    best_bid,
    interleave,
    level,
    mid_price,
    price_tick,
    resample,
)
from core.market.grid import on_grid, segments
from core.market.store.rows import RecordedRows, read_market
from tests.core.market.helpers import START_MS, frame_from_rows, random_book, read_rows, written


@pytest.fixture
def rows() -> BookRows:
    return random_book(30, 7)


def test_columns_interleave_the_sides_in_the_documents_order() -> None:
    assert FILE_COLUMNS[:6] == ("ask_price_1", "ask_size_1", "bid_price_1", "bid_size_1", "ask_price_2", "ask_size_2")
    assert FEATURES[:5] == ("ASK_P1", "ASK_V1", "BID_P1", "BID_V1", "ASK_P2")
    assert (FILE_COLUMNS[-1], FEATURES[-1], len(FILE_COLUMNS)) == ("bid_size_10", "BID_V10", 40)


def test_interleave_puts_each_level_where_its_name_says() -> None:
    asks = np.array([[101 + i, 0.1 * (i + 1)] for i in range(12)])
    bids = np.array([[100 - i, 2.0 + i] for i in range(11)])
    levels = interleave(asks, bids)
    by_name = dict(zip(FEATURES, levels, strict=True))
    assert levels.shape == (40,)
    for i in range(10):
        assert by_name[f"ASK_P{i + 1}"] == 101 + i
        assert by_name[f"ASK_V{i + 1}"] == 0.1 * (i + 1)
        assert by_name[f"BID_P{i + 1}"] == 100 - i
        assert by_name[f"BID_V{i + 1}"] == 2 + i


def test_interleave_refuses_a_thin_or_a_crossed_book() -> None:
    asks = np.array([[101.0 + i, 1] for i in range(10)])
    with pytest.raises(BookError, match="the book has 10 asks and 9 bids: 10 a side are needed"):
        interleave(asks, asks[:9] - [20, 0])
    for best, word in ((101.0, "locked"), (101.5, "crossed")):
        with pytest.raises(BookError, match=f"the book is {word}: the best ask"):
            interleave(asks, np.array([[best - i, 1] for i in range(10)]))


def test_accessors_read_the_columns_that_are_named_so(rows: BookRows) -> None:
    """Of one book, of rows, and of windows; deeper books too."""
    frame = frame_from_rows(rows)
    np.testing.assert_array_equal(best_ask(rows.levels), frame.ask_price_1)
    np.testing.assert_array_equal(best_bid(rows.levels), frame.bid_price_1)
    np.testing.assert_array_equal(rows.mid, (frame.ask_price_1 + frame.bid_price_1) / 2)
    np.testing.assert_array_equal(rows.spread, frame.ask_price_1 - frame.bid_price_1)
    for side in ("ask", "bid"):
        for k, place in ((1, 1), (4, 4), (-1, 10)):
            named = frame[[f"{side}_price_{place}", f"{side}_size_{place}"]]
            np.testing.assert_array_equal(level(rows.levels, side, k), named)  # type: ignore[arg-type]
    assert mid_price(rows.levels[None, :3])[0].tolist() == rows.mid[:3].tolist()
    assert mid_price(rows.levels[3]) == rows.mid[3]


# -- files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_is_written_is_read(rows: BookRows, tmp_path: Path, kind: str) -> None:
    frame = frame_from_rows(rows).assign(note="not a column of ours")
    frame = frame[list(reversed(frame.columns))]  # the order of columns is no part of the contract
    found = read_rows(written(tmp_path, f"book.{kind}", frame))
    assert np.array_equal(found.timestamps, rows.timestamps)
    np.testing.assert_allclose(found.levels, rows.levels, rtol=1e-14)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_deeper_levels_are_read_where_they_are_asked_for(rows: BookRows, tmp_path: Path, kind: str) -> None:
    deep = 1.0 + np.arange(len(rows) * 8.0).reshape(-1, 8)  # the eleventh and the twelfth level
    deep[2, 4:] = np.nan  # a book of eleven levels
    frame = frame_from_rows(BookRows(timestamps=rows.timestamps, levels=rows.levels, deep=deep))
    assert list(frame.columns[-2:]) == ["bid_price_12", "bid_size_12"]
    path = written(tmp_path, f"book.{kind}", frame)
    found = read_rows(path, deep=True)
    np.testing.assert_array_equal(found.deep, deep)
    np.testing.assert_allclose(found.levels, rows.levels, rtol=1e-14)
    assert read_rows(path).deep is None
    frame_from_rows(rows).to_parquet(tmp_path / "ten.parquet")
    assert read_rows(tmp_path / "ten.parquet", deep=True).deep is None


def test_deeper_levels_end_at_the_first_that_is_not_sensible(rows: BookRows, tmp_path: Path) -> None:
    deep = np.full((len(rows), 12), 5.0)
    deep[1, 5] = -1.0
    frame_from_rows(BookRows(timestamps=rows.timestamps, levels=rows.levels, deep=deep)).to_parquet(tmp_path / "book.parquet")
    found = read_rows(tmp_path / "book.parquet", deep=True).deep
    assert found is not None
    assert np.isfinite(found).sum(axis=1).tolist() == [12, 4] + [12] * (len(rows) - 2)


def test_files_of_different_depth_are_joined(rows: BookRows, tmp_path: Path) -> None:
    half = len(rows) // 2
    deep = np.full((half, 8), 7.0)
    frame_from_rows(rows[:half]).to_parquet(tmp_path / "a.parquet")
    second = rows[half : 2 * half]
    frame_from_rows(BookRows(timestamps=second.timestamps, levels=second.levels, deep=deep)).to_parquet(tmp_path / "b.parquet")
    found = RecordedRows([tmp_path / "a.parquet", tmp_path / "b.parquet"]).block(0, 2 * half, deep=True)
    assert found.deep is not None and np.isnan(found.deep[:half]).all()
    np.testing.assert_array_equal(found.deep[half:], deep)


def change(column: str, row: int, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def apply(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype({column: object})
        frame.loc[row, column] = value
        return frame if isinstance(value, str) else frame.astype({column: float})

    return apply


FAULTS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "missing column": (lambda f: f.drop(columns="bid_size_7"), "lacks the column 'bid_size_7'"),
    "missing timestamp": (lambda f: f.drop(columns="timestamp"), "lacks the column 'timestamp'"),
    "empty": (lambda f: f.iloc[:0], "has no rows"),
    "crossed": (change("bid_price_1", 4, 1e6), "is crossed: the best ask is not above the best bid (row 4)"),
    "unsorted asks": (change("ask_price_6", 3, 1.0), "is unsorted: asks must rise and bids must fall from the best (row 3)"),
    "unsorted bids": (
        change("bid_price_6", 9, 999_999.0),
        "is unsorted: asks must rise and bids must fall from the best (row 9)",
    ),
    "nan": (change("ask_size_2", 5, float("nan")), "has a missing or infinite value (row 5)"),
    "infinite": (change("ask_size_2", 6, float("inf")), "has a missing or infinite value (row 6)"),
    "zero size": (change("bid_size_3", 7, 0.0), "has a price or size of zero or less (row 7)"),
    "negative price": (change("bid_price_10", 8, -1.0), "has a price or size of zero or less (row 8)"),
    "words": (change("ask_size_1", 2, "plenty"), "holds something other than numbers"),
    "a time past all dates": (change("timestamp", -1, 1e19), "in column timestamp, which is no time between 1990 and tomorrow"),
    "missing time": (change("timestamp", 2, float("nan")), "has 'nan' in column timestamp, which is no time"),
    "backwards": (lambda f: f.iloc[::-1], "is not in time order: sort it by timestamp"),
}


@pytest.mark.parametrize("fault", list(FAULTS))
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_broken_file_is_refused_in_one_sentence(rows: BookRows, tmp_path: Path, kind: str, fault: str) -> None:
    breaking, sentence = FAULTS[fault]
    frame = breaking(frame_from_rows(rows)).reset_index(drop=True)
    texts = {c: str for c in frame.columns if frame[c].dtype == object}
    path = written(tmp_path, f"book.{kind}", frame.astype(texts))
    with pytest.raises(BookError) as caught:
        read_rows(path)
    message = str(caught.value)
    assert message.startswith(f"book.{kind} ")
    assert sentence in message
    assert "\n" not in message


@pytest.mark.parametrize("content", [b"Dear reader,\nthis is a letter.\n", bytes(range(256)) * 20, b"", None])
@pytest.mark.parametrize("name", ["book.parquet", "book.csv", "book"])
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path: Path, name: str, content: bytes | None) -> None:
    (tmp_path / name).mkdir() if content is None else (tmp_path / name).write_bytes(content)
    with pytest.raises(BookError, match=r"^book(\.\w+)? (is not a readable Parquet or CSV file: \S|lacks the column)") as caught:
        read_rows(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("none.parquet", "none.csv"):
        with pytest.raises(BookError, match=f"there is no file .*{name}: give a Parquet or CSV file"):
            read_rows(tmp_path / name)


@pytest.mark.parametrize(
    ("prices", "tick"),
    [
        ([61_756.01, 61_756.0, 61_763.5], 0.01),
        ([0.95, 0.951, 1.2], 0.001),
        ([585.5, 585.75, 586.0], 0.25),
        ([61_756.1, 61_763.5, np.nan], 0.1),
        ([3_000.0, 3_005.0], 5.0),
        ([0.1 + 0.2, 0.7], 0.1),
        ([1e-9 * 7, 1e-9 * 21], 7e-9),
        ([12.0], 12.0),
        ([], 0.0),
    ],
)
def test_the_step_of_price_divides_every_price(prices: list[float], tick: float) -> None:
    assert price_tick(np.array(prices)) == pytest.approx(tick, rel=1e-9)


# -- the grid -------------------------------------------------------------------------------------------------------------


def irregular(steps: list[int]) -> BookRows:
    """Books so many milliseconds apart, numbered by the size of their best ask."""
    levels = np.repeat(random_book(1, 0).levels, len(steps), axis=0)
    levels[:, 1] = 1 + np.arange(len(steps))
    return BookRows(timestamps=START_MS + np.cumsum(steps), levels=levels)


def test_books_too_far_apart_for_a_row_are_refused() -> None:
    with pytest.raises(BookError, match="too far apart for rows of 250 ms: two within 10 s are needed"):
        resample(irregular([10, 60_000]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([250, 250, 250, 500, 0, 60_000]), max_size=40))
def test_segments_equal_pandas_groups(steps: list[int]) -> None:
    timestamps = pd.Series(START_MS + np.cumsum([0, *steps]))
    stretch = (timestamps.diff().fillna(250) != 250).cumsum()
    groups = [(int(g.index[0]), int(g.index[-1]) + 1) for _, g in timestamps.groupby(stretch)]
    assert [(piece.start, piece.stop) for piece in segments(timestamps.to_numpy())] == groups


def test_a_grid_has_one_row_a_moment() -> None:
    assert on_grid(irregular([0, 250, 250, 500]).timestamps)
    assert not on_grid(irregular([0, 250, 130]).timestamps)
    assert not on_grid(irregular([0, 250, 0]).timestamps)  # two books at one moment
    assert not on_grid(irregular([0, 1_000, 1_000]).timestamps)  # a second apart: rows lie between


def test_files_of_one_market_are_joined_in_time_order(tmp_path: Path) -> None:
    whole = random_book(90, 8)
    parts = [tmp_path / name for name in ("b.parquet", "a.parquet", "c.csv")]
    for path, piece in zip(parts, (slice(0, 30), slice(30, 60), slice(60, 90)), strict=True):
        written(tmp_path, path.name, frame_from_rows(whole[piece]))
    found = read_market([parts[2], parts[0], parts[1]])
    assert np.array_equal(found.timestamps, whole.timestamps)
    np.testing.assert_allclose(found.levels, whole.levels, rtol=1e-14)


def test_overlapping_files_give_each_moment_once(tmp_path: Path) -> None:
    whole = random_book(60, 9)
    for name, piece in (("a", slice(0, 40)), ("b", slice(20, 60))):
        frame_from_rows(whole[piece]).to_parquet(tmp_path / f"{name}.parquet")
    found = read_market([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert np.array_equal(found.timestamps, whole.timestamps)
    assert np.array_equal(found.levels, whole.levels)


def test_a_file_off_the_grid_is_put_on_it(tmp_path: Path) -> None:
    books = irregular([3, 240, 11, 600, 130])
    frame_from_rows(books).to_parquet(tmp_path / "events.parquet")
    found = read_market([tmp_path / "events.parquet"])
    assert on_grid(found.timestamps)
    assert (found.timestamps % 250 == 0).all()
    assert np.array_equal(found.levels, resample(books).levels)


def test_a_time_years_away_costs_no_grid_of_years() -> None:
    times = np.array([0, 100, 300, 4 * 10**15, 4 * 10**15 + 250], dtype=np.int64)
    levels = np.repeat(np.arange(5.0)[:, None], 40, axis=1)
    found = resample(BookRows(timestamps=times, levels=levels))
    assert found.timestamps.tolist() == [0, 250, 4 * 10**15, 4 * 10**15 + 250]
    assert found.levels[:, 0].tolist() == [0, 1, 3, 4]
