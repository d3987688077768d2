"""Visitors of a recording and of a live venue come and go, and the app keeps nothing of them: `scripts.soak` in short."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.soak import with_venue


def test_nothing_is_left_of_visitors_who_have_gone(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as aside:  # the browser's loop runs in this thread
        seen, visitors = aside.submit(asyncio.run, with_venue(tmp_path, clients=2, minutes=0.4, stay_s=2.0, looks=2)).result()
    assert visitors.visits >= 2 and visitors.frames > 0 and not visitors.failed
    during, after = seen[-2], seen[-1]
    assert after.sockets <= 1  # it listens
    assert after.threads <= during.threads
