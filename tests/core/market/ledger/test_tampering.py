"""Files of a ledger deleted, moved, cut or altered, and nothing hashed again: what checking it says then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core import checkpoints
from core.cli import main
from core.market.book import BookRows
from core.market.ledger.chain import HEADER, JOURNAL, PREDICTION, Entries, journal_entry, read_header
from core.market.ledger.scorecard import score_card
from core.market.ledger.verification import known_predictors
from core.market.predictor import Predictor
from tests.core.market.helpers import random_book
from tests.core.market.ledger.ledgers import (
    DAYS,
    NAME,
    checked,
    entries_of,
    files,
    forged,
    predictions,
    reasons,
    three_days,
    why,
    write_all,
)


@pytest.mark.parametrize("which", [[0], [1], [2], [0, 1, 2]], ids=["first", "middle", "last", "all"])
@pytest.mark.parametrize("with_head", [True, False])
def test_files_of_rows_deleted(ledger: Path, shelf: Path, head: str, which: list[int], with_head: bool) -> None:
    told = len(predictions(entries_of(ledger / NAME)))
    every = files(ledger)
    gone = sum(pq.read_table(every[i])["kind"].to_pylist().count(PREDICTION) for i in which)
    for i in which:
        every[i].unlink()
    result = checked(ledger, shelf, *[head] * with_head)
    assert result.state == "incomplete" and result.total("recomputed") == result.total("rows") == told - gone
    assert result.to_dict()["left_out"] == {"missing": gone}


def test_days_swapped(ledger: Path, shelf: Path, head: str) -> None:
    market = ledger / NAME
    (market / DAYS[0]).rename(market / "aside")
    (market / DAYS[1]).rename(market / DAYS[0])
    (market / "aside").rename(market / DAYS[1])
    assert "moved, renamed or copied" in why(checked(ledger, shelf, head))


def test_a_segment_of_another_markets_ledger(ledger: Path, shelf: Path, head: str, predictor: Predictor, tmp_path: Path) -> None:
    write_all(tmp_path / "other", three_days(predictor, random_book(180, seed=9)), predictor)
    shutil.copy(files(tmp_path / "other")[1], files(ledger)[1])
    result = checked(ledger, shelf, head)
    assert "not follow the entry before it" in why(result)
    assert result.difference is not None and result.difference.file == files(ledger)[1].relative_to(ledger / NAME).as_posix()


def test_files_that_are_no_part_of_it(ledger: Path, shelf: Path, head: str) -> None:
    (ledger / NAME / "notes.txt").write_text("the market was calm")
    assert checked(ledger, shelf, head).state == "verified"
    os.mkfifo(ledger / NAME / DAYS[0] / "rows_2.parquet")
    assert "is no file" in why(checked(ledger, shelf, head))
    (ledger / NAME / DAYS[0] / "rows_2.parquet").unlink()
    pq.write_table(pa.table({"timestamp": [1, 2]}), ledger / NAME / DAYS[0] / "rows_1.parquet")
    assert "no readable segment" in why(checked(ledger, shelf, head))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_truncated_segment(ledger: Path, shelf: Path, head: str, which: int) -> None:
    file = files(ledger)[which]
    file.write_bytes(file.read_bytes()[:-200])
    result = checked(ledger, shelf, head)
    assert "no readable segment" in why(result) and result.difference is not None
    assert result.difference.file.endswith(file.name)
    assert (
        result.difference.row
        == result.total("recomputed")
        == sum(pq.read_table(other)["kind"].to_pylist().count(PREDICTION) for other in files(ledger)[:which])
    )


def rewrite(path: Path, column: str, at: int, value: object) -> None:
    """One value of a segment changed, and nothing hashed again."""
    table = pq.read_table(path)
    values = table.column(column).to_pylist()
    values[at] = value
    field = table.schema.field(column)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, pa.array(values, field.type)), path)


@pytest.mark.parametrize(
    ("column", "at", "value", "reason"),
    [
        ("forward_10_p_up", 47, 0.999, "altered"),
        ("forward_10_call", 35, 3, "altered"),
        ("written_ms", 40, None, "before the time of its row"),
        ("ask_size_3", 40, 123.0, "altered"),
        ("hash", 40, bytes(32), "altered"),
        ("weights", 40, None, "altered"),
        ("predictions", 40, 3, "number of predictions"),
        ("confirmed_ms", 40, 0, "altered"),
        ("kind", 40, 1, "number of predictions"),
    ],
)
def test_one_value_altered(ledger: Path, shelf: Path, head: str, column: str, at: int, value: object, reason: str) -> None:
    rewrite(files(ledger)[0], column, at, value)
    result = checked(ledger, shelf, head)
    assert reason in why(result) and result.difference is not None
    assert (result.difference.entry, result.difference.row) == (at, at - 23)  # 23 rows have no whole window
    assert result.total("recomputed") == at - 23


def test_entries_reordered_in_a_file_are_read_in_the_order_of_the_chain(ledger: Path, shelf: Path, head: str) -> None:
    table = pq.read_table(files(ledger)[0])
    pq.write_table(table.take(pa.array([0, *range(len(table) - 1, 0, -1)])), files(ledger)[0])
    assert checked(ledger, shelf, head).state == "verified"
    pq.write_table(table.slice(0, 40), files(ledger)[0])
    assert checked(ledger, shelf, head).state == "incomplete"  # 23 rows and 37 predictions fewer


def test_a_journal_cut_altered_or_removed(
    ledger: Path, shelf: Path, rows: BookRows, predictor: Predictor, tmp_path: Path
) -> None:
    market = tmp_path / "open" / NAME
    header = read_header(ledger / NAME)
    entries = entries_of(ledger / NAME)
    market.mkdir(parents=True)
    (market / HEADER).write_text(header.to_json())
    data = header.genesis + b"".join(journal_entry(entries[i : i + 1]) for i in range(61))
    end = entries["hash"][60].tobytes().hex()
    (market / JOURNAL).write_bytes(data)
    assert checked(market, shelf, end).state == "verified"
    (market / JOURNAL).write_bytes(data[:-5])
    result = checked(market, shelf, end)
    assert result.state == "incomplete" and "bytes at the end of the journal" in reasons(result)
    middle = bytearray(data)
    middle[len(data) // 2] ^= 1
    (market / JOURNAL).write_bytes(bytes(middle))
    assert checked(market, shelf, end).state == "broken"
    (market / JOURNAL).unlink()
    result = checked(market, shelf, end)
    assert result.state == "incomplete" and "its journal is missing" in reasons(result)


def test_the_worst_market_counts_and_each_needs_a_head(ledger: Path, shelf: Path, head: str) -> None:
    shutil.copytree(ledger / NAME, ledger / f"{NAME}_2")

    def change(entries: Entries) -> None:
        entries["written_ms"] += 1

    forged(ledger, change)
    result = checked(ledger, shelf, head)
    assert [market.state for market in result.markets] == ["incomplete", "verified"] and result.state == "incomplete"
    theirs = checked(ledger, shelf).to_dict()["heads"]
    assert checked(ledger, shelf, *theirs.values()).state == "verified"
    files(ledger)[0].write_bytes(b"nothing")
    assert checked(ledger, shelf, *theirs.values()).state == "broken"


def test_a_folder_copied_renamed_or_without_a_header(ledger: Path, shelf: Path, head: str) -> None:
    """No market is counted twice, called by another's name, or passed over."""
    shutil.copytree(ledger / NAME, ledger / f"{NAME}_2")
    result = checked(ledger, shelf, head)
    assert "the folder was copied" in why(result) and set(score_card(result)["market"]) == {NAME}
    (ledger / f"{NAME}_2").rename(ledger / "elsewhere-XYZ-USDT")
    assert "the folder was renamed" in why(checked(ledger, shelf, head))
    assert checked(ledger / "elsewhere-XYZ-USDT", shelf, head).state == "verified"  # alone it may lie anywhere
    (ledger / "elsewhere-XYZ-USDT" / HEADER).unlink()
    assert "no readable ledger.json" in why(checked(ledger, shelf, head))


def test_names_and_texts_of_a_ledger_do_not_draw_on_the_terminal(
    ledger: Path, shelf: Path, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (ledger / NAME).rename(ledger / "x\nverified. 9 of 9 predictions\x1b[2J")
    with pytest.raises(SystemExit) as end:
        main(["verify", "ledger", str(ledger), "--checkpoints", str(shelf), "--head", head])
    said = capsys.readouterr().out
    assert end.value.code == 1 and "\x1b" not in said and not any(line.startswith("verified") for line in said.splitlines())


def test_more_weights_than_anybody_has_are_looked_up_in_one_pass(
    ledger: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = checkpoints.read_card, list[str]()
    monkeypatch.setattr(checkpoints, "read_card", lambda name, **options: reads.append(name) or read(name, **options))
    find = known_predictors(shelf)
    assert all(find(f"{number:064x}", "") is None for number in range(50))
    assert len(reads) <= 2  # of the one card there: `names` reads it, and its identity is taken


def test_a_column_that_unpacks_to_more_than_the_machine_has(
    ledger: Path, shelf: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of a megabyte on every row takes a few bits a row in the file: what has such a column is not read at all."""
    table = pq.read_table(files(ledger)[0])
    text = pa.array(["x" * 2**20] * len(table)).dictionary_encode()
    pq.write_table(table.append_column("note", text), files(ledger)[0], store_schema=False)
    assert files(ledger)[0].stat().st_size < 2**21
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    assert "other columns than a ledger's" in why(checked(ledger, shelf, head))


def test_a_folder_of_hostile_size(ledger: Path, shelf: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, header = entries_of(ledger / NAME), read_header(ledger / NAME)
    monkeypatch.setattr("core.market.ledger.chain.MAX_ENTRIES", 50)
    assert "too large" in why(checked(ledger, shelf, head))
    shutil.rmtree(ledger / NAME / DAYS[0])
    gaps = np.zeros(51, entries.dtype)  # each a tenth of a prediction, whose place it takes in memory
    (ledger / NAME / JOURNAL).write_bytes(header.genesis + b"".join(journal_entry(gaps[i : i + 1]) for i in range(len(gaps))))
    assert "too large to be a journal" in why(checked(ledger, shelf, head))


def test_only_the_newest_hours_are_recomputed_where_asked(ledger: Path, shelf: Path, head: str) -> None:
    result = checked(ledger, shelf, head, hours=1)
    told = [pq.read_table(file)["kind"].to_pylist().count(PREDICTION) for file in files(ledger)]
    assert result.state == "incomplete" and result.total("recomputed") == told[2]
    assert result.to_dict()["left_out"] == {"not_asked": told[0] + told[1]}
    assert (score_card(result)["samples"] <= told[2]).all()
