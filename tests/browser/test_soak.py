"""Visitors of a recording and of a live venue come and go, and the app keeps nothing of them.

For two hours, with what is left at each look: `SOAK_MINUTES=120 python -m pytest -s --timeout 0 tests/browser/test_soak.py`.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.browser.soak import with_venue


def test_nothing_is_left_of_visitors_who_have_gone(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as aside:  # the browser's loop runs in this thread
        minutes = float(os.environ.get("SOAK_MINUTES", "0.4"))
        clients, looks, stay_s = (2, 2, 2.0) if minutes < 1 else (25, round(minutes), 20.0)
        coming = with_venue(tmp_path, clients=clients, minutes=minutes, stay_s=stay_s, looks=looks)
        seen, visitors = aside.submit(asyncio.run, coming).result()
    assert visitors.visits >= 2 and visitors.frames > 0 and not visitors.failed
    during, after = seen[-2], seen[-1]
    assert after.sockets <= 1  # it listens
    assert after.threads <= during.threads
