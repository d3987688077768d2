"""The page of recordings by Streamlit's own test runner, over a library of two days."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from core.cli import main
from core.market.answers.ahead import Lead
from core.market.answers.one_answer import RIVALS
from core.market.events import Row
from core.market.hub import shutdown
from core.market.store import index
from core.market.store.call_columns import CALLS, LEADS_KEY, CalledBy
from core.market.store.index import list_recordings
from core.market.store.segments import segment_path
from core.market.store.writer import SegmentWriter
from core.service import recordings
from core.service.access import Role
from pages.shared.navigation import ROOT
from tests.core.market.feeds_for_tests import wait_until
from tests.core.market.formats.test_conversion import tardis
from tests.core.market.helpers import read_rows
from tests.pages.open_page import open_page, press, ran, words

PAGE = ROOT / "pages" / "markets" / "library.py"
SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", str(tmp_path / "library"))
    monkeypatch.setattr("streamlit.page_link", lambda *arguments, **options: None)  # the runner knows one page
    return tmp_path / "library"


def record_two_days(folder: Path) -> None:
    rows = read_rows(SAMPLE)[:200]
    with SegmentWriter(folder, "BTC/USDT") as writer:
        for day in (0, 86_400_000):
            for when, levels in zip(rows.timestamps.tolist(), rows.levels, strict=True):
                writer.add(Row(when + day, levels))


def names(folder: Path) -> list[str]:
    return [entry.name for entry in list_recordings(folder)]


def test_an_empty_library_shows_the_bundled_ones_and_says_how_to_fill_it(folder: Path) -> None:
    app = open_page(PAGE)
    assert "Nothing has been recorded yet" in words(app)
    table = app.dataframe[0].value
    assert table["name"].tolist() == [one.name for one in index.recordings()]
    assert table["rows"].tolist() == [one.rows for one in index.recordings()]


def test_recordings_stand_before_the_bundled_ones_with_their_numbers(folder: Path) -> None:
    record_two_days(folder)
    with SegmentWriter(folder, "ETH/USD", key="live/kraken/ETH/USD") as writer:
        writer.add(Row(1_723_075_200_000, read_rows(SAMPLE).levels[0]))
    table = open_page(PAGE).dataframe[0].value
    assert table["name"].tolist()[:2] == ["BTC-USDT/2024-08-08", "BTC-USDT/2024-08-09"]
    first = table.iloc[0]
    assert (first["market"], first["rows"], first["gaps"], first["levels"]) == ("BTC/USDT", 200, 0, 10)
    assert first["span"] == "50 sec" and len(first["mids"]) == 48
    assert table["market"].tolist()[2:4] == ["ETH/USD · Kraken", "NEXO/USDT · Binance spot"]


def test_the_lead_at_the_end_of_a_recording_is_listed_where_its_journal_tells_it(folder: Path) -> None:
    record_two_days(folder)
    (rows,) = (folder / "BTC-USDT" / "2024-08-09").rglob("rows_*.parquet")
    by = CalledBy(weights="", card="", entry="pooled", heads=(("forward", 10), ("forward", 50)))
    half = Lead(outcomes=200, totals=np.full(len(RIVALS), 60.0), squares=np.full(len(RIVALS), 20.0), since_ms=1).to_dict()
    told = {"by": by.to_dict(), "before": [None, half], "own": [None, half]}
    pq.write_table(CALLS.empty_table().replace_schema_metadata({LEADS_KEY: json.dumps(told)}), segment_path(rows, "calls"))
    table = open_page(PAGE).dataframe[0].value
    assert table["lead"].tolist()[:2] == ["", "Ahead: +0.300 (400)"] and not any(table["lead"][2:])


def chosen_page() -> None:
    """The actions of every recording of the library, as where all of them are chosen."""
    from core.market.store.index import list_recordings
    from core.market.store.places import library_folder
    from pages.markets import library_actions

    library_actions.announce()
    if entries := list_recordings(library_folder()):
        library_actions.draw_actions(entries)


def test_recordings_are_deleted_once_it_was_asked_twice(folder: Path) -> None:
    record_two_days(folder)
    app = ran(AppTest.from_function(chosen_page, default_timeout=60))
    assert "2 recordings" in words(app)
    press(app, "library:delete_first")
    assert "Delete 2 recordings" in words(app) and len(names(folder)) == 2
    press(app, "library:keep")
    assert "cannot be undone" not in words(app) and len(names(folder)) == 2
    press(app, "library:delete_first")
    press(app, "library:delete_second")
    assert names(folder) == []


def test_the_oldest_go_at_a_limit_that_is_set(folder: Path) -> None:
    record_two_days(folder)
    app = open_page(PAGE)
    assert "left on the disk." in words(app)
    app.session_state["library:limit"] = True  # its box is open
    ran(app)
    newest = sum(path.stat().st_size for path in (folder / "BTC-USDT" / "2024-08-09").rglob("*.parquet"))
    app.number_input(key="library:most").set_value(newest / 1e9)
    press(app, "library:set_limit")
    assert names(folder) == ["BTC-USDT/2024-08-09"]
    assert app.number_input(key="library:most").value == pytest.approx(newest / 1e9)


@pytest.mark.parametrize("role", [Role.STRANGER])
def test_where_strangers_may_come_nothing_can_be_changed(folder: Path) -> None:
    record_two_days(folder)
    app = ran(AppTest.from_function(chosen_page, default_timeout=60))
    assert not app.button
    page = open_page(PAGE)
    assert "Closed here: recording, and ending a recording; inspecting and converting files of recordings; " in words(page)
    assert not page.get("file_uploader") and not page.button
    assert "OBSERVATORY_OPEN=yes" in words(page) and "BTC-USDT/2024-08-08" in names(folder)
    assert [table.value["name"].tolist() for table in page.dataframe] != []


def test_a_file_is_shown_then_converted(folder: Path, tmp_path: Path) -> None:
    app = open_page(PAGE)
    ((name, path),) = tardis(tmp_path, read_rows(SAMPLE)[:60], "binance_book_snapshot_25_2024-08-08_BTCUSDT.csv.gz").items()
    app.file_uploader(key="upload:files").set_value([(name, path.read_bytes(), "application/gzip")])
    ran(app)
    assert "tardis.dev" in words(app) and not folder.exists()
    app.text_input(key="upload:market").set_value("BTC/USDT")
    ran(app)
    press(app, "upload:convert")
    assert "are in the library as BTC-USDT_2024-08-08; gaps between them: 0." in words(app)
    (entry,) = list_recordings(folder)
    assert (entry.market, entry.levels, entry.gaps) == ("BTC/USDT", 10, 0)
    press(app, "upload:convert")
    assert "There is a recording BTC-USDT_2024-08-08 already" in words(app)
    app.text_input(key="upload:name:BTC-USDT_2024-08-08").set_value("ñ" * 101)
    press(app, "upload:convert")
    assert [error.value for error in app.error] == ["The name has more than 200 bytes: choose a shorter one."]
    app.file_uploader(key="upload:files").set_value([("notes.txt", b"hello", "text/plain")])
    ran(app)
    assert "Notes.txt is of no known format" in words(app) or "notes.txt is of no known format" in words(app)


def test_the_days_of_a_market_are_one_recording(folder: Path) -> None:
    frame = pd.read_parquet(SAMPLE).head(300)
    files = [("notes.txt", b"hello", "text/plain")]
    for day in range(2):
        later = frame.assign(timestamp=frame["timestamp"] + day * 86_400_000)
        files.append((f"btc_2024-08-{8 + day:02}.csv", later.to_csv(index=False).encode(), "text/csv"))
    app = open_page(PAGE)
    app.file_uploader(key="upload:files").set_value(files)
    assert "otes.txt is of no known format" in words(ran(app))
    app.file_uploader(key="upload:files").set_value(files[1:])
    ran(app)
    press(app, "upload:convert")
    (entry,) = list_recordings(folder)
    assert (entry.name, entry.rows, entry.gaps) == ("btc_2024-08-08", 600, 1)
    copy = Path(app.session_state["upload:inspected"].folder.name)
    assert len(list(copy.iterdir())) == 2
    app.file_uploader(key="upload:files").set_value(files[:1])
    ran(app)
    assert not copy.exists()


def rows_recorded(key: str) -> int:
    now = recordings.status(key)
    return 0 if now is None else now.rows


def test_a_market_is_recorded_found_and_made_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A window and two hundred predictions more, of a recording that is played fast; by the switch of the live page."""
    app = open_page(ROOT / "pages" / "markets" / "live.py", rec="binance_spot_nexousdt_2024-07-24", speed="25.0")
    for running, said in ((False, "Recording: "), (True, "Recorded: ")):
        (switch,) = [one for one in app.toggle if one.label == "Record this market"]
        assert switch.value is running and switch.key is not None
        key = switch.key.split(":")[1]
        switch.set_value(not running)
        assert said in words(ran(app))
        wait_until(lambda key=key: rows_recorded(key) >= 400)
    shutdown()
    (day,) = folder.glob("*/2024-07-24")
    found = open_page(PAGE).dataframe[0].value.set_index("name")
    assert found.loc[day.relative_to(folder).as_posix(), "rows"] == rows_recorded(key)
    assert main(["verify", str(day), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["predictions"] == again["equal"] > 0


def test_a_damaged_journal_is_said(folder: Path) -> None:
    folder.mkdir()
    (folder / ".binance-BTC-USDT_1.journal.part").write_bytes(b"no journal" * 100)
    said = words(open_page(PAGE))
    assert "left a damaged journal" in said and ".binance-BTC-USDT_1.journal.part.damaged" in said
