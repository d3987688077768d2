"""The ledger recomputed for a visitor: one at a time on the whole server, since it takes a core for minutes to hours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from core.market.ledger.chain import LedgerError
from core.market.ledger.recomputation import known_predictors
from core.market.ledger.verification import Verification, verify
from core.messages import compose
from core.service.access import Action, Visitor

_one: Final = threading.Lock()
_recomputed: Final = set[bytes]()  # what this process has recomputed already, a hash for each hour of each market


def recompute(
    by: Visitor,
    folder: Path,
    *,
    heads: Collection[str] = (),
    hours: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify a ledger; see `core.market.ledger.verification.verify`.

    Raises:
        NotAllowed: where the visitor may not.
        LedgerError: where it is being recomputed for another, or as `verify`. OSError: as `verify`.
    """
    by.require(Action.VERIFY)
    if not _one.acquire(blocking=False):
        raise LedgerError(compose("it is being recomputed for somebody else: try again when that is done"))
    try:
        return verify(folder, known_predictors(), heads=heads, hours=hours, recomputed=_recomputed, progress=progress)
    finally:
        _one.release()
