"""Files of a chain by themselves: no model, a handful of entries."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.market.ledger import chain
from core.market.ledger.chain import (
    GAP,
    HASH_BYTES,
    JOURNAL,
    MAX_ENTRIES,
    MAX_HEADS,
    MAX_JOURNAL,
    MAX_WINDOW,
    NOTHING,
    PREDICTION,
    ROW,
    Entries,
    LedgerError,
    LedgerHeader,
    OtherFormat,
    entry_type,
    hashed_sizes,
    head_of,
    is_named_after,
    journal_entry,
    lost_rows,
    newest_entry,
    newest_head,
    pieces,
    read_journal,
    sealed_entries,
    segment,
    segment_files,
)
from core.market.store.segments import HOUR_MS, write_table
from tests.core.market.ledger.ledgers import NOON_MS, rehashed, written

HEADER = LedgerHeader(market="live/x/A/B", heads=(("forward", 5),), window=4, model=("ab" * 32, "cd" * 32))


def chain_of(*kinds: int, begin_ms: int = NOON_MS) -> Entries:
    """Chained entries of these kinds, 250 ms apart, each row confirmed as it is written."""
    rng = np.random.default_rng(1)
    entries = np.zeros(len(kinds), entry_type(1))
    entries["kind"], entries["timestamp"] = kinds, begin_ms + 250 * np.arange(len(kinds))
    entries["written_ms"] = entries["timestamp"] + 20
    entries["confirmed_ms"] = entries["timestamp"]
    rows, told = entries["kind"] != GAP, entries["kind"] == PREDICTION
    entries["levels"][rows] = rng.uniform(1, 2, (rows.sum(), 40))
    for name in ("weights", "card"):
        entries[name][told] = rng.integers(1, 255, (told.sum(), HASH_BYTES))
    entries["probabilities"][told], entries["calls"][told] = rng.dirichlet([1, 1, 1], (told.sum(), 1)), 2
    return rehashed(entries, HEADER)


def test_an_entrys_hash_is_that_of_the_hash_before_and_its_bytes() -> None:
    entries, before = chain_of(ROW, GAP, PREDICTION), HEADER.genesis
    gap, row, prediction = hashed_sizes(entries.dtype)
    times, levels = 1 + 5 * 8, 40 * 8
    assert (gap, row, prediction) == (times, times + levels, times + levels + 2 * HASH_BYTES + 3 * 4 + 1)
    for entry, size in zip(entries, (row, gap, prediction), strict=True):
        before = hashlib.sha256(before + entry.tobytes()[:size]).digest()
        assert entry["hash"].tobytes() == before
    assert head_of(entries).hash == before.hex() and (head_of(entries).index, head_of(entries).predictions) == (2, 1)


def test_a_header_is_one_line_and_its_hash_the_chains_beginning() -> None:
    text = (
        f'{{"card": "{"cd" * 32}", "format": 3, "heads": [["forward", 5]], "market": "live/x/A/B", '
        f'"weights": "{"ab" * 32}", "window": 4}}'
    )
    assert HEADER.to_json() == text and HEADER.genesis == hashlib.sha256(text.encode()).digest()
    for header in (HEADER, replace(HEADER, heads=(("forward", 1),), window=1)):
        assert LedgerHeader.from_json(header.to_json(), name="x") == header
    for wrong in (
        replace(HEADER, heads=(("forward", 0),)),
        replace(HEADER, heads=()),
        replace(HEADER, heads=HEADER.heads * (MAX_HEADS + 1)),
        replace(HEADER, window=0),
        replace(HEADER, window=MAX_WINDOW + 1),
        replace(HEADER, model=("ab" * 32, "cd" * 31)),
        replace(HEADER, market="a\nb"),
    ):
        with pytest.raises(LedgerError, match="x is not a ledger's header"):
            LedgerHeader.from_json(wrong.to_json(), name="x")
    told = (
        "of format 1, whose chain does not hold the rows",
        "of format 2, whose chain does not name",
        "of format 4: this version",
    )
    for number, why in zip((1, 2, 4), told, strict=True):
        with pytest.raises(OtherFormat, match=why):
            LedgerHeader.from_json(text.replace('"format": 3', f'"format": {number}'), name="x")


@pytest.mark.parametrize(
    ("folder", "is_its"),
    [("x-A-B", True), ("x-A-B_2", True), ("x-A-B_", False), ("x-A-B_b", False), ("y-A-B", False), ("2", False)],
)
def test_a_folder_has_its_markets_name_or_a_number_behind_it(folder: str, is_its: bool) -> None:
    assert is_named_after(folder, HEADER.market) == is_its


def test_a_journal_comes_back_whole_and_its_broken_tail_is_counted(tmp_path: Path) -> None:
    entries = chain_of(GAP, ROW, PREDICTION, ROW)
    assert read_journal(tmp_path, 1).follows == b""
    (tmp_path / JOURNAL).write_bytes(b"short")
    short = read_journal(tmp_path, 1)
    assert (short.follows, len(short.entries), short.broken) == (b"", 0, 5)
    lines = [journal_entry(entries[i : i + 1]) for i in range(4)]
    for cut in (0, 1, len(lines[3]) - 1):
        (tmp_path / JOURNAL).write_bytes(HEADER.genesis + b"".join(lines)[: sum(map(len, lines)) - cut])
        found = read_journal(tmp_path, 1)
        whole = 4 if cut == 0 else 3
        assert found.broken == (0 if cut == 0 else len(lines[3]) - cut) and len(found.entries) == whole
        wanted = entries[:whole].copy()
        wanted["previous"][0] = np.frombuffer(HEADER.genesis, np.uint8)
        assert found.entries.tobytes() == wanted.tobytes() and found.follows == HEADER.genesis
    (tmp_path / JOURNAL).write_bytes(HEADER.genesis + b"\x07" + bytes(500))  # no kind of entry
    assert read_journal(tmp_path, 1).broken == 501


def test_an_hour_fits_its_bounds_with_room() -> None:
    rows = HOUR_MS // 250
    assert 5 * rows < MAX_ENTRIES and 5 * rows * len(journal_entry(chain_of(PREDICTION))) < MAX_JOURNAL


def test_a_file_or_journal_of_more_entries_or_bytes_than_its_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = chain_of(ROW, ROW, ROW)
    written(tmp_path, HEADER, entries)
    (tmp_path / JOURNAL).write_bytes(HEADER.genesis + b"".join(journal_entry(entries[i : i + 1]) for i in range(3)))
    size = (tmp_path / JOURNAL).stat().st_size
    for name, bound, is_read in (("MAX_ENTRIES", 3, True), ("MAX_ENTRIES", 2, False), ("MAX_JOURNAL", size - 1, False)):
        with monkeypatch.context() as patch:
            patch.setattr(chain, name, bound)
            if is_read:
                assert len(read_journal(tmp_path, 1).entries) == 3
            else:
                with pytest.raises(LedgerError, match="too large"):
                    read_journal(tmp_path, 1)
            assert len(segment_files(tmp_path)[0]) == is_read


def test_rows_that_nothing_confirmed_before_the_gap_are_lost() -> None:
    entries = chain_of(ROW, ROW, GAP, ROW, ROW)
    entries["confirmed_ms"] = NOON_MS  # the first row alone
    assert lost_rows(entries).tolist() == [False, True, False, True, True]
    assert lost_rows(entries, NOON_MS + 750).tolist() == [False, True, False, False, True]  # since the gap


def test_files_hold_what_was_chained_and_the_hash_before_where_it_is_in_another(tmp_path: Path) -> None:
    entries = chain_of(ROW, GAP, ROW, PREDICTION)
    for path, table in segment(tmp_path, HEADER.heads, entries, HEADER.genesis, NOON_MS + 750):
        write_table(path, table)
    kept, _ = segment_files(tmp_path)
    assert [(file.path.name[:4], file.rows, file.first, file.last) for file in kept] == [("rows", 3, 0, 3), ("lost", 1, 1, 1)]
    assert kept[0].newest_ms == NOON_MS + 750
    (piece,) = pieces(tmp_path, kept, HEADER.heads)
    assert piece.of.tolist() == [0, 1, 0, 0]
    without = piece.entries.copy()
    without["previous"] = 0
    assert without.tobytes() == entries.tobytes()
    before = [HEADER.genesis, entries["hash"][0].tobytes(), entries["hash"][1].tobytes(), NOTHING]
    assert [one.tobytes() for one in piece.entries["previous"]] == before
    assert newest_entry(tmp_path, HEADER.heads)["index"] == 3
    assert sealed_entries(tmp_path, HEADER.heads, chain_of(ROW, GAP, ROW, PREDICTION, ROW)).tolist() == [True] * 4 + [False]
    with pytest.raises(LedgerError, match="is there already"):
        list(segment(tmp_path, HEADER.heads, entries, HEADER.genesis, NOON_MS + 750))


def test_files_after_one_another_are_read_one_by_one(tmp_path: Path) -> None:
    entries = chain_of(ROW, ROW, ROW, ROW)
    entries["timestamp"][2:] += HOUR_MS
    head = written(tmp_path / "m", HEADER, entries)
    found = list(pieces(tmp_path / "m", segment_files(tmp_path / "m")[0], HEADER.heads))
    assert [piece.entries["index"].tolist() for piece in found] == [[0, 1], [2, 3]]
    assert newest_head(tmp_path / "m").hash == head


def test_the_newest_head_is_the_journals_then_the_files_and_an_empty_ledger_has_none(tmp_path: Path) -> None:
    entries = chain_of(ROW, PREDICTION, ROW)
    folder = tmp_path / "m"
    written(folder, HEADER, entries[:2])
    assert newest_head(folder).index == 1
    (folder / JOURNAL).write_bytes(entries["hash"][1].tobytes() + journal_entry(entries[2:]))
    assert (newest_head(folder).index, newest_head(folder).hash) == (2, entries["hash"][2].tobytes().hex())
    for path in folder.rglob("*.parquet"):
        path.unlink()
    (folder / JOURNAL).unlink()
    with pytest.raises(LedgerError, match="has no entry yet"):
        newest_head(folder)
