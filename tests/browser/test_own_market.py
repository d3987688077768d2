"""A market of one's own: recorded, found in the library, its predictions made again by the command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.server import ROOT, AppServer, serve

RECORDING = "binance_spot_nexousdt_2024-07-24"
ENOUGH = 400
"""Rows: a window and two hundred predictions more."""
LONG_MS = 150_000


@pytest.fixture
def own_app(tmp_path: Path) -> Iterator[AppServer]:
    """A copy of the app, which records in a folder of its own."""
    for name in ("core", "pages", "assets", "attention_light", ".streamlit"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "clips", "screenshots"))
    shutil.copy(ROOT / "streamlit_app.py", tmp_path)
    with serve(tmp_path / "streamlit_app.py", tmp_path, root=tmp_path) as server:
        yield server


def rows_recorded(page: Page) -> int:
    line = page.get_by_text(re.compile(r"^Record(ing|ed): [\d,]+ rows?,")).text_content() or ""
    return int(re.findall(r"[\d,]+", line)[0].replace(",", ""))


@pytest.mark.timeout(600)
def test_a_market_is_recorded_found_and_made_again(new_page: NewPage, own_app: AppServer, tmp_path: Path) -> None:
    page = new_page(own_app, f"/live?rec={RECORDING}&speed=25.0")
    page.wait_for_selector(".terminal[data-drawn-step]", timeout=90_000)
    page.get_by_text("Record this market").click()
    expect(page.get_by_text(re.compile(r"^Recording: "))).to_be_visible(timeout=LONG_MS)
    page.wait_for_function(
        "enough => Number(document.body.innerText.match(/Recording: ([\\d,]+) rows/)?.[1].replace(/,/g, '')) >= enough",
        arg=ENOUGH,
        timeout=LONG_MS,
    )
    page.get_by_text("Record this market").click()
    expect(page.get_by_text(re.compile(r"^Recorded: "))).to_be_visible(timeout=LONG_MS)
    recorded = rows_recorded(page)

    (day,) = (tmp_path / "recordings").glob("*/2024-07-24")
    name = day.relative_to(tmp_path / "recordings").as_posix()
    page.goto(f"{own_app.url}/recordings")
    cells = page.locator("[data-testid=stDataFrame] [role=gridcell]")
    expect(cells.get_by_text(name, exact=True)).to_have_count(1, timeout=60_000)
    assert str(recorded) in cells.all_text_contents()

    page.close()  # before its server goes

    command = [sys.executable, "-m", "core", "verify", str(day), "--json"]
    again = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=LONG_MS / 1e3).stdout)
    assert again["predictions"] == again["equal"] > 0
