"""What a reader of a page does with a plot and sees on the page, each once the place has come to rest."""

from __future__ import annotations

import re

from playwright.sync_api import ElementHandle, Locator, Page, Position, expect

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


STILL = """
([element, frames]) => new Promise((done) => {
  let before, same = 0;
  const look = () => {
    const now = JSON.stringify(VALUE);
    same = now === before ? same + 1 : 0;
    before = now;
    same < frames ? requestAnimationFrame(look) : done();
  };
  look();
})
"""


def until_still(page: Page, value: str, *, frames: int = 30, element: ElementHandle | None = None) -> None:
    """Wait until an expression in JavaScript, of an `element` where one is given, has kept its value for so many frames."""
    page.evaluate(STILL.replace("VALUE", value), [element, frames])


def frames(page: Page, count: int) -> None:
    """Let the page draw so many frames: sixty a second, fewer on a busy machine."""
    until_still(page, "0", frames=count)


def place(area: Locator, x: float, y: float) -> Position:
    """A point of an area at these shares of its width and height, once it has kept place and size for some frames."""
    area.scroll_into_view_if_needed(timeout=PATIENCE_MS)
    until_still(area.page, "element.getBoundingClientRect()", frames=15, element=area.element_handle())
    box = area.bounding_box()
    assert box is not None
    return {"x": x * box["width"], "y": y * box["height"]}
