"""Files that are there whole or not at all: written under another name, made durable, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from core.market.journal import lock


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file by a function that fills it; on return it is on disk under its own name.

    The part is locked meanwhile, so that another process does not take it for a leftover.

    Raises:
        OSError: where the disk refuses; nothing is left behind then.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            lock(file)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # makes the rename durable
    finally:
        os.close(folder)


def write_bytes(path: Path, data: bytes) -> None:
    """Bytes as a whole file; see `write_whole`."""
    write_whole(path, lambda file: file.write(data))


def write_table(path: Path, table: pa.Table) -> None:
    """A table as a whole zstd Parquet file; see `write_whole`."""
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))
