"""Measure the live page in a real browser: `python -m scripts.watch_live_page --minutes 10`.

Prints, once a minute, the server's resident memory, frames drawn, and milliseconds from a book received to its frame drawn
(median and 95th percentile over the browser's last draws). Needs what `make test` installs, and a Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.browser.server import ROOT, serve
from tests.conftest import find_chromium

PLOT = ".st-key-liquidity .live-plot"


def main() -> None:
    """Run the app, open the page, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--path", default="/", help="of the page, with its choices: /?source=simulated")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(ROOT / "streamlit_app.py", Path(folder)) as server,
        sync_playwright() as play,
    ):
        process = psutil.Process(server.process.pid)
        browser = play.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.url + options.path)
        page.wait_for_selector(f"{PLOT}[data-updates]", timeout=60_000)
        print(f"{'minute':>6} {'MiB':>8} {'frames':>8}  latency line", flush=True)
        began = time.monotonic()
        for minute in range(int(options.minutes) + 1):
            page.wait_for_timeout(max(0.0, began + minute * 60 - time.monotonic()) * 1e3)
            line = page.get_by_text("Step latency").first
            said = line.inner_text() if line.count() else ""
            frames = page.locator(PLOT).get_attribute("data-updates")
            print(f"{minute:>6} {process.memory_info().rss / 2**20:>8.1f} {frames:>8}  {said.rpartition(': ')[2]}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
