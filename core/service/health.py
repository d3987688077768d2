"""Health of the process: its feeds, its models, its disk."""

import shutil
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


def health(by: Visitor) -> dict[str, Any]:
    """State of this process now: `live`, true of every one that answers, and `ready`, whether new viewers can be served.

    For whom the table lets, also the feeds' states (a failed one makes nobody unready: its venue may be away), why the default
    model cannot be read, and the free bytes of the disk that recordings are written to.
    """
    model = "ok"
    try:
        checkpoints.read_card(DEFAULT)
    except checkpoints.CheckpointError as error:
        model = str(error)
    try:
        place = library_folder()
    except BookError:  # a URL is named
        place = Path()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    state: dict[str, Any] = {"live": True, "ready": model == "ok" and free >= MIN_FREE}
    if by.may(Action.READ_METRICS):
        feeds = {session.feed.key: str(session.status_now()[0]) for session in hub().sessions()}
        state |= {"feeds": feeds, "model": model, "disk_free_bytes": free}
    return state
