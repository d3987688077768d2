"""The ledger recomputed for a visitor: one at a time on the whole server, since it takes a core for minutes to hours."""

from __future__ import annotations

import io
import tempfile
import threading
import zipfile
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import IO, Any, Final

from core.market.ledger.chain import LedgerError
from core.market.ledger.verification import Verification, known_predictors, unpack, verify
from core.messages import compose
from core.service.access import Action, closed

_one: Final = threading.Lock()
_recomputed: Final = set[bytes]()  # what this process has recomputed already, a hash for each hour of each market


@closed(Action.VERIFY)
def recompute(
    folder: Path,
    *,
    heads: Collection[str] = (),
    hours: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify a ledger; see `core.market.ledger.verification.verify`.

    Raises:
        LedgerError: where it is being recomputed for another, or as `verify`. OSError: as `verify`.
    """
    return _alone(folder, heads=heads, hours=hours, recomputed=_recomputed, progress=progress)


def zipped(files: Iterable[IO[bytes]]) -> IO[bytes]:
    """Files of a folder, named by their paths in it, as a ZIP file for `check_archive`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for one in files:
            one.seek(0)
            packed.writestr(one.name, one.read())
    return buffer


@closed(Action.VERIFY)
def check_archive(
    file: IO[bytes],
    *,
    heads: Collection[str] = (),
    certificate: bytes = b"",
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify somebody else's ledger, a ZIP file, within bounds (`core.market.ledger.verification`). Nothing of it is kept.

    Args:
        certificate: root of a time-stamp server, PEM; empty for none.

    Raises:
        As `recompute`; LedgerError also for what is no such file.
    """
    with tempfile.TemporaryDirectory(prefix="ledger-") as folder:
        root, pem = Path(folder) / "ledger", Path(folder) / "root.pem"
        root.mkdir()
        pem.write_bytes(certificate)
        certificates = [pem] if certificate else []
        return _alone(unpack(file, root), heads=heads, certificates=certificates, progress=progress)


def _alone(folder: Path, **options: Any) -> Verification:
    """As `verify`, one at a time."""
    if not _one.acquire(blocking=False):
        raise LedgerError(compose("it is being recomputed for somebody else: try again when that is done"))
    try:
        return verify(folder, known_predictors(), **options)
    finally:
        _one.release()
