"""What was saved in a write-ahead file comes back, however its process ended and whatever happened to it since."""

import errno
import json
import logging
import os
import resource
import signal
import sqlite3
import sys
import zlib
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.market.events import Row
from core.market.store.call_columns import read_calls, read_leads
from core.market.store.rows import read_market
from core.market.store.segments import segment_path
from core.market.store.write_ahead import MERGED_PAGES, SCHEMAS, WriteAhead
from core.market.store.writer import SegmentWriter, restore_recordings
from tests.core.market.helpers import random_book
from tests.core.market.journals import FORK, leave

ABOUT = {"market": "ABC/USD", "name": "ABC-USD", "of": [7, 0], "by": None}
BOOK = random_book(400, 3)
RECORDS: dict[str, list[tuple[Any, ...]]] = {
    "rows": [(1, [0.1, 2.0]), (2, [0.1, 2.0, 3.0])],
    "trades": [(1, 0.1, 2.0, -1)],
    "events": [(1, "gap", 5, ""), (2, "state", None, "Ausgesetzt «ö»")],
    "depth": [(1, 0.5, 5.0, 90.0, 110.0, True, [4, 8], [1.5, 0.25]), (2, 0.5, 5.0, 90.0, 110.0, False, [], [])],
    "calls": [(1, 2, 0, np.float32([0.1, 0.2, 0.7]), np.float32([0.3, 0.3, 0.4]), np.int8([2]), 1)],
    "leads": [(1, 0, False, '{"outcomes": 1}')],
}


def test_records_of_every_kind_come_back_as_they_were(tmp_path: Path) -> None:
    one = WriteAhead.begun(tmp_path, "x", ABOUT)
    one.append((kind, values) for kind, some in RECORDS.items() for values in some)
    one.close()
    saved = WriteAhead(one.path).read()
    assert saved.whole and saved.about == ABOUT and list(saved.tables) == list(RECORDS) == list(SCHEMAS)
    for kind, some in RECORDS.items():
        found = [tuple(row.values()) for row in saved.tables[kind].to_pylist()]
        expected = [tuple(one.tolist() if isinstance(one, np.ndarray) else one for one in values) for values in some]
        assert saved.tables[kind].schema == SCHEMAS[kind] and found == expected


OLD = {
    "rows": "timestamp, levels",
    "trades": "timestamp, price, size, side",
    "events": "timestamp, kind, until, message",
    "depth": "timestamp, fine, coarse, low, high, whole, keys, sizes",
    "calls": "timestamp, written, known, raw, recalibrated, calls",
}
"""Tables of a file by the version before December 2026, whose calls have no `vwap` and which has no leads."""


def test_a_file_of_an_earlier_version_gives_all_its_rows_and_calls(tmp_path: Path) -> None:
    """Written here by SQLite alone, as that version did."""
    by = {"weights": "w", "card": "c", "entry": "pooled", "heads": [["forward", 5]]}
    path, text = tmp_path / ".ABC-USD_1.journal.part", json.dumps(ABOUT | {"by": by})
    with closing(sqlite3.connect(path, isolation_level=None)) as database:

        def insert(table: str, number: int, values: Sequence[Any], key: Sequence[int] = ()) -> None:
            found = zlib.crc32(repr(number).encode())
            for value in values:
                found = zlib.crc32(value if isinstance(value, bytes) else repr(value).encode(), found)
            database.execute(
                f"INSERT INTO {table} VALUES ({','.join('?' * (len(key) + len(values) + 1))})", (*key, *values, found)
            )

        database.execute("CREATE TABLE about (json, checksum)")
        insert("about", 0, [text])
        for kind, columns in OLD.items():
            database.execute(f"CREATE TABLE {kind} (number INTEGER PRIMARY KEY, {columns}, checksum)")
        for number, (time, levels) in enumerate(zip(BOOK.timestamps[:30].tolist(), BOOK.levels[:30], strict=True), 1):
            insert("rows", number, [time, levels.tobytes()], [number])
            raw = np.float32([0.1, 0.2, 0.7]).tobytes()
            insert("calls", number, [time, time + 20, time - 250, raw, raw, np.int8([2]).tobytes()], [number])
    (file,) = restore_recordings(tmp_path)
    assert not list(tmp_path.glob(".*"))  # nothing of it was damaged
    np.testing.assert_array_equal(read_market([file]).levels, BOOK.levels[:30])
    calls = segment_path(file, "calls")
    assert read_leads(calls) is None
    told = read_calls(calls).to_pandas()
    assert told["timestamp"].tolist() == BOOK.timestamps[:30].tolist() and told["vwap"].isna().all()
    assert (told["call"] == "UP").all() and told["raw_up"].tolist() == [float(np.float32(0.7))] * 30


def write_and_die(folder: Path, refused: Connection, *, full: bool) -> None:
    """Saves `BOOK` row by row, telling of saves that fail, and is killed."""
    writer = SegmentWriter(folder, "ABC/USD")
    for number, (time, levels) in enumerate(zip(BOOK.timestamps.tolist(), BOOK.levels, strict=True)):
        writer.add(Row(time, levels))
        if number == 200 and full:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (writer.size // 2, resource.RLIM_INFINITY))
        try:
            writer.save_journal()
        except OSError:
            refused.send(number)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.kill(os.getpid(), signal.SIGKILL)


def killed(folder: Path, *, full: bool = False) -> list[int]:
    """A recording of `BOOK` by a process that is then killed, whose disk is `full` half way; rows after which a save failed."""
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=write_and_die, args=(folder, there), kwargs={"full": full})
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    refused = []
    while here.poll():
        refused.append(here.recv())
    return refused


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a killed process left, the file and its log."""
    folder = tmp_path_factory.mktemp("killed")
    killed(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.glob(".*"))}


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def test_a_killed_process_loses_nothing_that_was_saved(tmp_path: Path, left: dict[str, bytes]) -> None:
    assert len(left) == 2 and sum(map(len, left.values())) < 2**20
    put(tmp_path, left)
    rows = read_market(restore_recordings(tmp_path))
    np.testing.assert_array_equal(rows.levels, BOOK.levels)
    assert not list(tmp_path.glob(".*"))


def test_a_save_that_was_cut_off_is_none_and_no_damage(tmp_path: Path, left: dict[str, bytes]) -> None:
    """The log's newest round, cut in the middle of a page: the saves before it are whole."""
    path, log = left
    page = int.from_bytes(left[log][8:12], "big")
    salt = left[log][16:24]
    frames = [at for at in range(32, len(left[log]), 24 + page) if left[log][at + 8 : at + 16] == salt]
    put(tmp_path, {path: left[path], log: left[log][: frames[-1] + 1_000]})
    rows = read_market(restore_recordings(tmp_path))
    assert len(BOOK) - 3 <= len(rows) < len(BOOK) and not list(tmp_path.glob(".*"))
    np.testing.assert_array_equal(rows.levels, BOOK.levels[: len(rows)])


@pytest.mark.parametrize("ending", ["part", "wal"])
@pytest.mark.parametrize("place", [0.005, 0.02, 0.25, 0.5, 0.75, 0.999])
def test_flipped_bytes_take_what_they_hit_and_the_rest_is_restored_and_the_damaged_file_kept(
    tmp_path: Path, left: dict[str, bytes], ending: str, place: float, caplog: pytest.LogCaptureFixture
) -> None:
    (name,) = (one for one in left if one.endswith(ending))
    damaged = bytearray(left[name])
    for byte in range(int(len(damaged) * place), int(len(damaged) * place) + 8):
        damaged[byte] ^= 0xFF
    put(tmp_path, {**left, name: bytes(damaged)})
    with caplog.at_level(logging.WARNING):
        rows = read_market(restore_recordings(tmp_path))
    lost = len(BOOK) - len(rows)
    kept = list(tmp_path.glob(".*.damaged"))
    assert lost <= MERGED_PAGES and len(kept) == (1 if caplog.records else 0) and (kept or not lost)
    there = np.isin(BOOK.timestamps, rows.timestamps)
    np.testing.assert_array_equal(rows.levels, BOOK.levels[there])
    assert restore_recordings(tmp_path) == [] and list(tmp_path.glob(".*.damaged")) == kept


def test_a_disk_that_refuses_half_way_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    refused = killed(tmp_path, full=True)
    assert refused and min(refused) >= 200
    np.testing.assert_array_equal(read_market(restore_recordings(tmp_path)).levels, BOOK.levels)


def open_and_exit(path: Path) -> None:
    """Exits with the error's number."""
    try:
        WriteAhead(path)
    except BlockingIOError:
        sys.exit(errno.EWOULDBLOCK)


def test_a_file_is_held_by_one_alone(tmp_path: Path) -> None:
    one = WriteAhead.begun(tmp_path, "x", ABOUT)
    one.append([("rows", (1, [1.0]))])
    with pytest.raises(BlockingIOError):
        WriteAhead(one.path)
    other = FORK.Process(target=open_and_exit, args=(one.path,))
    other.start()
    other.join(60)
    assert other.exitcode == errno.EWOULDBLOCK
    one.append([("rows", (2, [1.0]))])
    one.close()
    assert WriteAhead(one.path).read().tables["rows"].num_rows == 2


def test_a_journal_of_an_earlier_version_is_kept_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = b"\x40\0\0\0\0\0\0\0" + b'{"market": "ABC/USD", "name": "ABC-USD", "calls": null}' * 40
    (tmp_path / ".ABC-USD_1.journal.part").write_bytes(old)
    assert restore_recordings(tmp_path) == []
    assert "of an earlier version" in caplog.text
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [old]


def test_an_hour_whose_journal_outlived_the_kill_is_there_once(tmp_path: Path, left: dict[str, bytes]) -> None:
    for _ in range(2):  # killed between writing the hour and removing its journal
        put(tmp_path, left)
        restore_recordings(tmp_path)
    (path,) = tmp_path.rglob("rows_*.parquet")
    assert pq.read_metadata(path).num_rows == len(BOOK)


def test_two_recorders_that_begin_at_one_moment_keep_an_hour_each(tmp_path: Path) -> None:
    writers = [SegmentWriter(tmp_path, "ABC/USD") for _ in range(2)]
    for writer in writers:
        for time, levels in zip(BOOK.timestamps[:8].tolist(), BOOK.levels[:8], strict=True):
            writer.add(Row(time, levels))
        writer.save_journal()
        leave(writer)
    assert len(restore_recordings(tmp_path)) == 2
