"""What a reader of a page does with a plot and sees on the page, each once the place has come to rest."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, Position, expect

PATIENCE_MS = 60_000

AT_REST = """
(selector) => {
  const figure = document.querySelector(selector);
  if (figure?.matches(".matrix")) return document.querySelector('[data-testid="stApp"]').dataset.testScriptState === "notRunning";
  const plot = figure?.livePlot;
  if (plot?.next) figure.scrollIntoView({ block: "nearest" }); // far out of view it is not drawn
  if (!plot || plot.updates === 0) return false;
  const script = document.querySelector('[data-testid="stApp"]').dataset.testScriptState;
  return script === "notRunning" && !plot.next && !plot.drawing;
}
"""


def drawn(page: Page, plot: str) -> None:
    """Wait until the script has run to its end and this plot shows what it was sent last."""
    page.wait_for_function(AT_REST, arg=plot, timeout=PATIENCE_MS)


def stat(page: Page, name: str) -> str:
    """The value of this name in the page's row of values."""
    cell = page.locator(".stat-strip .stat", has=page.get_by_text(name, exact=True))
    value = cell.locator("dd").first
    expect(value).to_have_text(re.compile(r"\S"), timeout=PATIENCE_MS)  # not while the row is being drawn
    return str(value.text_content(timeout=PATIENCE_MS)).strip()  # `inner_text` has nothing of what is about to be laid out


def place(area: Locator, x: float, y: float) -> Position:
    """A point of an area at these shares of its width and height, once it has kept place and size for a quarter of a second."""
    area.scroll_into_view_if_needed(timeout=PATIENCE_MS)
    before, box = None, area.bounding_box()
    for _ in range(40):
        if box is not None and box == before:
            break
        area.page.wait_for_timeout(250)
        before, box = box, area.bounding_box()
    assert box is not None
    return {"x": x * box["width"], "y": y * box["height"]}


def click_in(page: Page, plot: str, x: float, y: float, *, panel: int = 0) -> None:
    """Click a plot's panel at these shares of its width and height."""
    drawn(page, plot)
    area = page.locator(f"{plot} .nsewdrag").nth(panel)
    area.click(position=place(area, x, y))
