"""Somebody else's ledger as a ZIP file: unpacked within bounds, and checked like one's own."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, Final

from core.market.ledger.chain import HEADER, MAX_JOURNAL, LedgerError
from core.messages import compose

MAX_FILES: Final = 20_000
MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all files: a week of one market."""


def unpack(file: IO[bytes], folder: Path) -> Path:
    """Unpack a ledger into an empty folder; returns the folder whose markets each have a header, or the one market's.

    Raises:
        LedgerError: for what is no ZIP file, holds no ledger or too much, or names files outside of itself.
    """
    try:
        with zipfile.ZipFile(file) as packed:
            inside = [one for one in packed.infolist() if not one.is_dir()]
            if len(inside) > MAX_FILES or sum(one.file_size for one in inside) > MAX_UNPACKED:
                raise LedgerError(
                    compose(
                        "it holds more than {count:,} files or {most} MiB: send one market, or fewer days",
                        count=MAX_FILES,
                        most=MAX_UNPACKED >> 20,
                    )
                )
            for one in inside:
                _unpack_one(packed, one, folder)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if isinstance(error, LedgerError):
            raise
        raise LedgerError(compose("it is no ZIP file that can be unpacked")) from error
    headers = sorted(folder.rglob(HEADER), key=lambda path: len(path.parts))
    if not headers:
        raise LedgerError(compose("it holds no ledger: a market's folder has a file {file}", file=HEADER))
    return headers[0].parent if len(headers) == 1 else headers[0].parent.parent


def _unpack_one(packed: zipfile.ZipFile, one: zipfile.ZipInfo, folder: Path) -> None:
    parts = PurePosixPath(one.filename).parts
    if not parts or one.filename.startswith("/") or any(part in ("..", ".") or set(part) & set(":\\\0") for part in parts):
        raise LedgerError(compose("it names a file outside of itself: {name}", name=repr(one.filename[:80])))
    if one.file_size > MAX_JOURNAL:
        raise LedgerError(compose("{name} is too large for a file of a ledger", name=parts[-1][:80]))
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    with packed.open(one) as source, path.open("wb") as target:  # which reads no more than the size that it gives
        shutil.copyfileobj(source, target)
