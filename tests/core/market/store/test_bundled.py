import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.checkpoints import sha256
from core.market.book import STEP_MS, BookError
from core.market.grid import on_grid, segments
from core.market.store.index import FOLDER, Recording, find_recording, recordings
from core.market.store.rows import read_market
from tests.core.market.helpers import read_rows, read_trades

INDEX: list[dict[str, Any]] = json.loads((FOLDER / "recordings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("one", "entry"), list(zip(recordings(), INDEX, strict=True)), ids=[one.name for one in recordings()])
def test_a_recording_is_what_the_index_says(one: Recording, entry: dict[str, Any]) -> None:
    rows = read_rows(one.path)
    assert len(rows) == one.rows
    assert int(rows.timestamps[0]) == one.start_ms
    assert one.seconds == one.rows * STEP_MS / 1e3
    assert on_grid(rows.timestamps)
    assert len(segments(rows.timestamps)) == 1
    assert sha256(one.path) == entry["sha256"]
    assert entry["licence"] == "MIT"
    assert datetime.fromtimestamp(one.start_ms / 1e3, UTC).date().isoformat() in one.name
    trades = read_trades(one.path)
    assert len(trades) == entry["trades"]
    assert all(rows.timestamps[0] - STEP_MS < trade.exchange_ms <= rows.timestamps[-1] for trade in trades)


def test_trades_lie_about_the_book_of_their_moment() -> None:
    one = find_recording("binance_spot_btcusdt_2024-08-08")
    rows = read_rows(one.path)
    trades = read_trades(one.path)
    assert {trade.side for trade in trades} == {"buy", "sell"}
    # a trade moves along with the mid: the best of its quarter second, and not of a minute later
    mids = dict(zip(rows.timestamps.tolist(), rows.mid.tolist(), strict=True))

    def distance(shift_ms: int) -> float:
        found = [(trade.price, mids.get(-(-trade.exchange_ms // STEP_MS) * STEP_MS + shift_ms)) for trade in trades]
        known = [abs(price - mid) for price, mid in found if mid is not None]
        return sum(known) / len(known)

    assert distance(0) < min(distance(-60_000), distance(60_000)) / 2


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    with pytest.raises(BookError, match="there is no recording 'x': choose one of binance_spot_nexousdt_2024-07-24, "):
        find_recording("x")


def test_the_licence_is_there_and_the_rest_of_the_folder_is_listed() -> None:
    assert "Copyright (c) 2022 nkaz001" in (FOLDER / "NOTICE.md").read_text(encoding="utf-8")
    assert {path.name for path in FOLDER.glob("*.parquet")} == {one.path.name for one in recordings()}
    assert read_market([recordings()[0].path]).levels.shape[1] == 40


ENTRY = INDEX[0]


@pytest.mark.parametrize(
    "index", ["{", "[" * 100_000, {"file": "a"}, ["a.parquet"], [None], [{}], [{**ENTRY, "file": 7}], [ENTRY, {"file": "b"}]]
)
def test_a_malformed_index_is_one_sentence(tmp_path: Path, index: Any) -> None:
    (tmp_path / "recordings.json").write_text(index if isinstance(index, str) else json.dumps(index), encoding="utf-8")
    with pytest.raises(BookError, match="does not list the bundled recordings: ") as raised:
        recordings(tmp_path)
    assert "\n" not in str(raised.value)


def test_an_entry_may_hold_more_than_is_needed(tmp_path: Path) -> None:
    (tmp_path / "recordings.json").write_text(json.dumps([{**ENTRY, "remark": "new"}]), encoding="utf-8")
    assert [entry.name for entry in recordings(tmp_path)] == [Path(ENTRY["file"]).stem]
