"""A sheet to draw a garment on, which returns the drawing as a PNG (its browser side: assets/scripts/canvas.js)."""

from __future__ import annotations

from typing import Final

from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _

SIDE: Final = 280
MAX_BYTES: Final = 2_000_000

CSS: Final = """
.sheet { display: flex; flex-direction: column; gap: 0.5rem; max-width: 340px; }
.sheet canvas {
  background: #fff; border: 1px solid rgba(133, 140, 150, 0.6); border-radius: 0.4rem; touch-action: none; cursor: crosshair;
  width: 100%; aspect-ratio: 1;
}
.sheet-row { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; font-size: 0.9rem; }
.sheet button {
  font: inherit; color: inherit; background: transparent; border: 1px solid rgba(133, 140, 150, 0.6); border-radius: 0.4rem;
  padding: 0.25rem 0.7rem; cursor: pointer;
}
.sheet button[aria-pressed="true"] { border-color: #2F7EC7; box-shadow: inset 0 0 0 1px #2F7EC7; }
.sheet label { display: flex; gap: 0.4rem; align-items: center; }
"""


def draw(*, key: str) -> bytes | None:
    """The sheet.

    Returns:
        The drawing as a PNG after each stroke; no bytes where it was cleared; None before the first stroke.
    """
    labels = {
        "sheet": _("Sheet to draw a garment on"),
        "pen": _("Pen"),
        "fill": _("Fill"),
        "eraser": _("Eraser"),
        "undo": _("Undo"),
        "clear": _("Clear"),
        "width": _("Width"),
        "shade": _("Shade"),
    }
    result = browser_component("canvas", CSS)(key=key, data={"labels": labels, "side": SIDE}, on_drawing_change=lambda: None)
    drawing = result.get("drawing")
    if not drawing:
        return drawing if drawing is None else b""
    return sent_picture(drawing, max_bytes=MAX_BYTES)
