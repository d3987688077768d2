"""A market of one's own: recorded, found in the library, its predictions made again by the command."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from core.cli import main
from tests.browser.conftest import NewPage
from tests.browser.server import AppServer

RECORDING = "binance_spot_nexousdt_2024-07-24"
ENOUGH = 400
"""Rows: a window and two hundred predictions more."""
LONG_MS = 150_000


def rows_recorded(page: Page) -> int:
    line = page.get_by_text(re.compile(r"^Record(ing|ed): .*rows: ")).text_content() or ""
    return int(re.findall(r"rows: ([\d,]+),", line)[0].replace(",", ""))


@pytest.mark.timeout(600)
def test_a_market_is_recorded_found_and_made_again(new_page: NewPage, app: AppServer, capsys: pytest.CaptureFixture[str]) -> None:
    page = new_page(app, f"/live?rec={RECORDING}&speed=25.0")
    page.wait_for_selector(".terminal[data-drawn-step]", timeout=90_000)
    page.get_by_text("Record this market").click()
    expect(page.get_by_text(re.compile(r"^Recording: "))).to_be_visible(timeout=LONG_MS)
    page.wait_for_function(
        "enough => Number(document.body.innerText.match(/Recording: .*rows: ([\\d,]+),/)?.[1].replace(/,/g, '')) >= enough",
        arg=ENOUGH,
        timeout=LONG_MS,
    )
    page.get_by_text("Record this market").click()
    expect(page.get_by_text(re.compile(r"^Recorded: "))).to_be_visible(timeout=LONG_MS)
    recorded = rows_recorded(page)

    library = app.log.parent / "recordings"
    (day,) = library.glob("*/2024-07-24")
    name = day.relative_to(library).as_posix()
    page.goto(f"{app.url}/recordings")
    cells = page.locator("[data-testid=stDataFrame] [role=gridcell]")
    expect(cells.get_by_text(name, exact=True)).to_have_count(1, timeout=60_000)
    assert str(recorded) in cells.all_text_contents()

    capsys.readouterr()
    assert main(["verify", str(day), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["predictions"] == again["equal"] > 0
