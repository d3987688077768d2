"""Tables of numbers in CSV and Parquet files, read by parts within bounds; and what a file is that is neither."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.messages import N_, Message, Refusal, compose, first_line

ROWS: Final = 20_000
"""Rows of a Parquet file read at once."""
BLOCK: Final = 8 << 20
"""Bytes of text read at once."""
MAX_LINE: Final = 1 << 20
"""Bytes of a line. Binance's largest snapshot, of 5,000 levels a side, has a third of it."""
MAX_UNPACKED: Final = 64 << 20
MAX_RATIO: Final = 50
"""Bytes that a file may unpack to: `MAX_UNPACKED`, or so many times its own. Books as text are packed 5 to 12 times smaller."""
HEAD: Final = 65_536
EMPTY: Final = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A")
"""Cells without a value."""
GZIP: Final = b"\x1f\x8b"
PARQUET: Final = b"PAR1"
ZIP: Final = b"PK\x03\x04"
PACKED: Final = {ZIP: "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}
KINDS: Final = {b"\x89HDF": "HDF5", b"\x93NUMPY": "numpy", b"ARROW1": "Arrow", b"SQLite": "SQLite", b"\xd0\xcf\x11\xe0": "Excel",
                b"%PDF": "PDF", b"{": "JSON", b"[": "JSON", b"<": "HTML", b"DBN": "Databento's DBN"}  # fmt: skip
"""First bytes -> the name of what is no table of ours: packed, or of another kind."""
SEPARATORS: Final = {";": N_("semicolons"), "\t": N_("tabs"), "|": N_("bars"), " ": N_("spaces")}

Faults = list[tuple[NDArray[np.int64], Message]]
"""Rows of a file that are left out, by their numbers from 1, and a clause that says why."""


class FormatError(Refusal, ValueError):
    """Files that no format recognises, or that cannot be converted; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class NumberRows:
    """Some rows of a table.

    Attributes:
        rows: (n,) line numbers of a text, row numbers of a Parquet file, from 1. values: (n, columns), NaN where a cell is empty.
        texts: columns that are no plain numbers, by name: times, symbols. faults: rows left out. done: share of the file read.
    """

    rows: NDArray[np.int64]
    values: FloatArray
    texts: dict[str, pd.Series] = field(default_factory=dict)
    faults: Faults = field(default_factory=list)
    done: float = 1.0


def refuse_by_kind(path: Path, name: str) -> None:
    """Say what a file is, by its first bytes and its first line, where that is no table of ours.

    Raises:
        FormatError: for an archive, text in UTF-16, another separator, and so on.
    """
    data, begin = head(path), head(path)[:400]
    if not data:
        raise FormatError("{file} is empty: a file with order books is right", file=name)
    if is_parquet(path):
        return
    packed = next((kind for magic, kind in PACKED.items() if data.startswith(magic)), "")
    other = next((kind for magic, kind in KINDS.items() if data.lstrip(b"\xef\xbb\xbf \r\n").startswith(magic)), "")
    if packed == "zip":  # which workbooks and arrays are inside
        other = "Excel" if b"[Content_Types]" in data else "numpy" if b".npy" in data else ""
    packed = "tar" if data[257:262] == b"ustar" else "gzip" if data.startswith(PARQUET) else packed
    if other:
        raise FormatError("{file} is a file of {kind}: save its books as CSV or Parquet", file=name, kind=other)
    if packed:
        raise FormatError(
            "{file} is packed by {kind}: unpack it, and give the CSV or Parquet file inside", file=name, kind=packed
        )
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or any(
        begin[half::2].count(0) * 10 > 9 * len(begin[half::2]) and not begin[1 - half :: 2].count(0) for half in (0, 1)
    ):
        raise FormatError("{file} is text in UTF-16: save it as UTF-8", file=name)
    line = first_line_of(path).strip()
    for mark, marks in SEPARATORS.items():
        if line.count(mark) > max(3, line.count(",")) and ("price" in line or mark != " "):
            about = {"file": name, "marks": compose(marks)}
            raise FormatError("{file} has {marks} between its fields: commas are right, and points before decimals", **about)


def is_parquet(path: Path) -> bool:
    """Tells whether a file says of itself that it is Parquet."""
    with path.open("rb") as file:
        return file.read(4) == PARQUET


def max_unpacked(path: Path) -> int:
    """Bytes that a packed file may unpack to."""
    return max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size)


def too_much(path: Path, name: str) -> FormatError:
    """A file unpacks to more than it may."""
    return FormatError("{file} unpacks to more than {most} MiB: split it", file=name, most=max_unpacked(path) >> 20)


def head(path: Path) -> bytes:
    """The first 64 KiB of a file's content, unpacked where it is packed by gzip; as much as can be unpacked."""
    with path.open("rb") as file:
        data = file.read(HEAD)
    if data.startswith(GZIP):
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, HEAD)
        except zlib.error:
            return b"\0"  # no text, and not empty
    return data.replace(b"\r", b"\n") if ends_lines_by_cr(data) else data


def ends_lines_by_cr(data: bytes) -> bool:
    """Tells whether the beginning of a text has its lines end as old programs on a Macintosh do."""
    return b"\r" in data and b"\n" not in data


def first_line_of(path: Path) -> str:
    """The first line of a text file, "" of what is no text."""
    try:
        return head(path).split(b"\n", 1)[0].decode("utf-8").strip("\r\ufeff")
    except UnicodeDecodeError:
        return ""


def cells_of(line: str) -> list[str]:
    """The fields of a line, without spaces and quotes around them."""
    return [cell.strip(' \t"') for cell in line.split(",")]


def lines(path: Path, name: str, longest: int = MAX_LINE) -> Iterator[tuple[list[bytes], float]]:
    """All lines of a text file, gzip or not, some at a time, and the share of the file read.

    A line is read as far as it may be long, and a packed file as far as it may unpack: a small file must not fill the memory.

    Raises:
        FormatError: where a line is too long, or the file unpacks to too much or is damaged.
    """
    size, most, seen, rest, by_cr = max(1, path.stat().st_size), max_unpacked(path), 0, b"", False
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        while block := _unpacked(file, name):
            by_cr = ends_lines_by_cr(block[:HEAD]) if not seen else by_cr
            seen += len(block)
            if seen > most and packed:
                raise too_much(path, name)
            *whole, rest = (rest + (block.replace(b"\r", b"\n") if by_cr else block)).split(b"\n")
            if max(map(len, [*whole, rest])) > longest:
                raise FormatError("{file} has a line of over {most} KiB: no book is so long", file=name, most=longest >> 10)
            if whole:
                yield whole, min(1.0, raw.tell() / size)
    if rest:
        yield [rest], 1.0


def _unpacked(file: IO[bytes], name: str) -> bytes:
    try:
        return file.read(BLOCK)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError("{files} ends early or is damaged: unpacking it must succeed", files=name) from error


def csv_rows(path: Path, name: str, columns: Sequence[str] | int, texts: Sequence[str] = ()) -> Iterator[NumberRows]:
    """Columns of a CSV file, with quotes and spaces around its fields or without; a line that cannot be read is a fault.

    Args:
        columns: of numbers by their names, of a file with a header; or the number of fields of a file without one.
        texts: columns to read as they stand.
    """
    header = not isinstance(columns, int)
    names = cells_of(first_line_of(path)) if header else [str(i + 1) for i in range(columns)]  # type: ignore[arg-type]
    wanted = [*columns, *texts] if not isinstance(columns, int) else names
    if twice := next((column for column in wanted if names.count(column) > 1), ""):
        raise FormatError("{file} has the column {column} twice: once is right", file=name, column=twice)
    before = 0
    for block, done in lines(path, name):
        numbered = [(number, line.strip()) for number, line in enumerate(block, before + 1) if line.strip()]
        before += len(block)
        if numbered := [one for one in numbered if one[0] > 1 or not header]:
            yield _parsed(numbered, names, wanted[: len(wanted) - len(texts)], texts, done)


def _parsed(
    numbered: list[tuple[int, bytes]], names: list[str], columns: list[str], texts: Sequence[str], done: float
) -> NumberRows:
    """Lines with their numbers as rows."""
    unclosed = [number for number, line in numbered if line.count(b'"') % 2]  # a quote that would swallow the lines after it
    faults: Faults = [(np.array(unclosed), compose("has a quotation mark that is not closed"))] if unclosed else []
    numbered = [(number, line) for number, line in numbered if not line.count(b'"') % 2]
    rows = np.array([number for number, _ in numbered], dtype=np.int64)
    if not numbered:
        return NumberRows(rows=rows, values=np.zeros((0, len(columns))), faults=faults, done=done)
    data = b"\n".join(line for _, line in numbered).decode("utf-8", "replace").encode()
    uneven: dict[int, int] = {}

    def note(row: csv.InvalidRow) -> str:
        uneven[row.number - 1] = row.actual_columns
        return "skip"

    def read_as(kind: pa.DataType) -> pa.Table:
        return csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1_024),
            csv.ParseOptions(invalid_row_handler=note),
            csv.ConvertOptions(
                include_columns=[*columns, *texts],
                column_types=dict.fromkeys(columns, kind) | dict.fromkeys(texts, pa.string()),
                null_values=list(EMPTY),
                strings_can_be_null=True,
            ),
        )

    try:
        table = read_as(pa.float64())
    except pa.ArrowInvalid:  # a cell is no number
        table = read_as(pa.string())
    for line, fields in uneven.items():
        faults.append((rows[[line]], compose("has {count} fields: {right} are right", count=fields, right=len(names))))
    known = _numbered(table, columns, texts, np.delete(rows, list(uneven)), done)
    return replace(known, faults=[*faults, *known.faults])


def _numbers(column: pa.ChunkedArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(n,) numbers, NaN where a cell is empty, and which cells hold something else."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return values, np.isinf(values)
    if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        raise TypeError(f"a column of numbers holds {column.type}")
    cells = column.to_pandas()
    if pa.types.is_dictionary(column.type):  # each text once: as rows they could fill the memory
        values, wrong = _of_texts(pd.Series(cells.cat.categories))
        return np.append(values, np.nan)[cells.cat.codes], np.append(wrong, False)[cells.cat.codes]
    return _of_texts(cells)


def _of_texts(cells: pd.Series) -> tuple[FloatArray, NDArray[np.bool_]]:
    texts = cells.astype(str).str.strip(' "')
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
    return values, (np.isnan(values) & ~(texts.isna() | texts.isin(EMPTY)).to_numpy()) | np.isinf(values)


def parquet_columns(path: Path, name: str) -> list[str]:
    """Names of a Parquet file's columns.

    Raises:
        FormatError: where it is damaged.
    """
    with _reading(name):
        return list(pq.read_schema(path).names)


def parquet_rows(path: Path, name: str, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[NumberRows]:
    """Columns of a Parquet file, as `csv_rows` has them.

    Raises:
        FormatError: where it is damaged, holds no numbers, or unpacks to too much, by its footer: nothing was unpacked yet.
    """
    with _reading(name), pq.ParquetFile(path, read_dictionary=[*columns, *texts]) as file:
        about = file.metadata
        places = {about.schema.column(i).path: i for i in range(about.num_columns)}
        for column in columns:
            if column not in places:  # a list
                raise FormatError("{file} has no numbers in its column {column}", file=name, column=column)
        wanted = [places[column] for column in [*columns, *texts] if column in places]
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        if sum(group.column(place).total_uncompressed_size for group in groups for place in wanted) > max_unpacked(path):
            raise too_much(path, name)
        before, total = 0, max(1, about.num_rows)
        for batch in file.iter_batches(ROWS, columns=[*columns, *texts]):
            rows = np.arange(before + 1, before + 1 + batch.num_rows)
            before += batch.num_rows
            yield _numbered(pa.Table.from_batches([batch]), columns, texts, rows, before / total)


def _numbered(table: pa.Table, columns: Sequence[str], texts: Sequence[str], rows: NDArray[np.int64], done: float) -> NumberRows:
    """Rows of a table, without those where a cell of a column of numbers holds something else."""
    values, good, faults = np.empty((len(rows), len(columns))), np.ones(len(rows), dtype=bool), Faults()
    for i, column in enumerate(columns):
        values[:, i], wrong = _numbers(table[column])
        for place in np.flatnonzero(wrong & good):
            about = {"text": str(table[column][place])[:40], "column": column}
            faults.append((rows[[place]], compose("has {text!r} in column {column}: a number is right", **about)))
        good &= ~wrong
    cells = {column: table[column].to_pandas()[good].reset_index(drop=True) for column in texts}
    return NumberRows(rows=rows[good], values=values[good], texts=cells, faults=faults, done=done)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except FormatError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise FormatError("{file} cannot be read: {reason}", file=name, reason=first_line(error)) from error
