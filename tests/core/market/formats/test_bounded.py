"""Small files that are made to take the machine: each is refused in one sentence, and nothing of it stays."""

import gzip
import os
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.market.formats import bounded, conversion, tables
from core.market.formats.conversion import Inspection
from core.market.formats.tables import FormatError
from core.workers import Budget, unreported
from tests.core.market.formats.test_conversion import SAMPLE

HEADER = ",".join(["timestamp", *(f"{s}_{w}_{i}" for i in range(1, 11) for s in ("ask", "bid") for w in ("price", "size"))])
SLOW = b"1723122000000" + b",x" * 40 + b"\n"
"""A line whose cells are no numbers takes many times as long."""


def packed_csv(path: Path, piece: bytes, times: int, before: bytes = b"") -> dict[str, Path]:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(before)
        for _ in range(times):
            file.write(piece)
    return {path.name: path}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return packed_csv(tmp_path_factory.mktemp("slow") / "rows.csv.gz", SLOW, 250_000, HEADER.encode() + b"\n")


def test_one_line_without_an_end_is_read_as_far_as_a_line_may_be_long(tmp_path: Path) -> None:
    files = packed_csv(tmp_path / "line.csv.gz", b"1," * (1 << 19), 200, HEADER.encode() + b"\n")
    assert files["line.csv.gz"].stat().st_size < 4 << 20
    with pytest.raises(FormatError, match=r"^line.csv.gz has a line of over 1024 KiB: no book is so long$"):
        conversion.inspect(files)


def test_what_unpacks_to_far_more_than_it_is_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(tables, "MAX_RATIO", 1)
    files = packed_csv(tmp_path / "rows.csv.gz", b"1" * 1023 + b"\n", 2_000, HEADER.encode() + b"\n")
    with pytest.raises(FormatError, match=r"^rows.csv.gz unpacks to more than 1 MiB: split it$"):
        conversion.inspect(files)


def test_a_batch_of_long_lines_is_bounded_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK", 1000)
    path = tmp_path / "lines"
    path.write_text(("x" * 99 + "\n") * 25 + "last")
    batches = [batch for batch, _done in tables.lines(path, "lines")]
    assert [len(lines) for lines in batches] == [10, 10, 5, 1] and batches[-1] == [b"last"]


@pytest.mark.skipif(os.name != "posix", reason="other systems know no such limits")
def test_time_and_memory_end_the_process_and_not_this_one(slow: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def inspected_within(limits: Budget) -> Inspection:
        monkeypatch.setattr(bounded, "limits_for", lambda _files: limits)
        return bounded.inspect(slow)

    with pytest.raises(FormatError, match=r"^reading rows.csv.gz takes more than 1 s of the processor: split it$"):
        inspected_within(Budget(seconds=1))
    with pytest.raises(FormatError, match="takes more memory than it may"):
        inspected_within(Budget(seconds=60, mib=32))
    assert not processes()


def processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "core.market.formats.bounded" in child.cmdline()]


def test_a_file_is_inspected_and_converted_alike_in_a_process_of_its_own(tmp_path: Path, one_process: pytest.MonkeyPatch) -> None:
    files, shares = {SAMPLE.name: SAMPLE}, list[float]()
    found = conversion.inspect(files)
    assert bounded.inspect(files, progress=shares.append) == found
    assert shares and max(shares) <= 1.0
    shares.clear()
    one, other = tmp_path / "one" / SAMPLE.name, tmp_path / "other" / SAMPLE.name
    here = conversion.convert(files, one, market="BTC/USDT", seen=found)
    assert bounded.convert(files, other, found, market="BTC/USDT", progress=shares.append) == here
    assert [file.read_bytes() for file in written(one.parent)] == [file.read_bytes() for file in written(other.parent)]
    assert shares and max(shares) <= 1.0
    assert len(processes()) == 1
    one_process.undo()
    with pytest.raises(FormatError, match="there is a recording .* already"):
        bounded.convert(files, other, found, market="BTC/USDT")
    assert not processes()


def written(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_conversion_that_ends_leaves_nothing(tmp_path: Path, slow: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found = conversion.inspect({SAMPLE.name: SAMPLE})  # says how both are written; what is read ends by its time
    library = tmp_path / "library"

    def gone(share: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        bounded.convert({SAMPLE.name: SAMPLE}, library / "left.parquet", found, market="A", progress=gone)
    monkeypatch.setattr(bounded, "limits_for", lambda _files: Budget(seconds=0.5, mib=16))
    with pytest.raises(FormatError):
        bounded.convert(slow, library / "slow.parquet", found, market="A")
    assert written(library) == []


def test_a_page_of_parquet_that_unpacks_to_far_more_than_it_is_is_refused_by_the_footer(tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    constant = pa.array(np.ones(500_000))
    columns = {"timestamp": pa.array(np.zeros(500_000, np.int64))} | dict.fromkeys(HEADER.split(",")[1:], constant)
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False, data_page_size=1 << 30)
    assert path.stat().st_size < 1 << 20  # of 156 MiB
    before = pa.total_allocated_bytes()
    with pytest.raises(FormatError, match=r"^small.parquet unpacks to more than 64 MiB: split it$"):
        conversion.inspect({path.name: path})
    assert pa.total_allocated_bytes() - before < 1 << 20
    texts = pa.array(["1" * 9_000] * 10_000)  # 86 MiB, each a few bits in the file
    pq.write_table(pa.table({name: values[:10_000] for name, values in columns.items()} | {"ask_size_3": texts}), path)
    with pytest.raises(FormatError, match=r"row 1 has '1{40}' in column ask_size_3: a number is right$"):
        conversion.inspect({path.name: path})


def test_who_goes_away_ends_the_process_and_a_third_file_waits(tmp_path: Path) -> None:
    files = {SAMPLE.name: SAMPLE}
    third: list[str] = []

    def gone(share: float) -> None:
        with (
            bounded._pool._turns.hold_place("", unreported),
            pytest.raises(FormatError, match="2 files are being read on this server already") as refused,
        ):
            bounded.inspect(files)
        third.append(str(refused.value))
        raise InterruptedError

    with pytest.raises(InterruptedError):
        bounded.inspect(files, progress=gone)
    assert len(third) == 1
    assert not processes()
