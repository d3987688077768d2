"""Health of the process: its feeds, its models, its disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import checkpoints
from core.market.book import BookError
from core.market.hub import hub
from core.market.predictor import DEFAULT
from core.market.store.places import library_folder
from core.service.access import Action, Visitor

MIN_FREE = 200 * 2**20
"""Bytes of free disk below which the process is not ready: a recording would soon stop."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """State of the process.

    Attributes:
        feeds: status by the key of each running feed. A failed one is told and makes nobody unready: its venue may be away.
        model: why the default model cannot be read; None where it can.
        free_bytes: on the disk that recordings are written to.
    """

    feeds: dict[str, str]
    model: str | None
    free_bytes: int

    @property
    def ready(self) -> bool:
        """Tells whether new viewers can be served."""
        return self.model is None and self.free_bytes >= MIN_FREE

    def as_dict(self, by: Visitor) -> dict[str, Any]:
        """For a JSON answer: `live`, true of every process that answers, and `ready`; the rest for whom the table lets."""
        answer: dict[str, Any] = {"live": True, "ready": self.ready}
        if by.may(Action.READ_METRICS):
            answer |= {"feeds": self.feeds, "model": self.model or "ok", "disk_free_bytes": self.free_bytes}
        return answer


def health(folder: Path | None = None) -> Health:
    """State of this process now.

    Args:
        folder: whose disk is looked at; the library's where None.
    """
    try:
        checkpoints.read_card(DEFAULT)
        problem = None
    except checkpoints.CheckpointError as error:
        problem = str(error)
    try:
        place = folder or library_folder()
    except BookError:  # a URL is named
        place = Path()
    while not place.exists():
        place = place.parent
    feeds = {session.feed.key: str(session.status_now()[0]) for session in hub().sessions()}
    return Health(feeds=feeds, model=problem, free_bytes=shutil.disk_usage(place).free)
