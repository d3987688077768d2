"""Visitors' own clips, kept for links."""

import hashlib
from typing import Final

from core.signs.video import MAX_FRAMES, Footage
from core.store import BoundedStore, Limit

KEPT: Final = Limit(total=8, address=6, visitor=3)
STORE: Final[BoundedStore[tuple[str, Footage]]] = BoundedStore(
    key=lambda clip: hashlib.sha256(clip[1].frames.tobytes()).hexdigest()[:12],
    size=lambda clip: clip[1].frames.nbytes,
    limit=KEPT,
    max_bytes=KEPT.total * MAX_FRAMES * 224 * 224 * 3,
)
"""The process's own clips, each with its name: `STORE.keep((name, footage))` gives the id for a link."""
