"""A picture from the visitor's clipboard (its browser side: assets/scripts/clipboard.js)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _

MAX_BYTES: Final = 6_000_000
"""Of a picture of 1,024 x 1,024 pixels, the largest that the browser sends."""

CSS: Final = """
.clipboard { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; font-size: 0.9rem; }
.clipboard button {
  font: inherit; color: inherit; background: transparent; border: 1px solid rgba(133, 140, 150, 0.6); border-radius: 0.4rem;
  padding: 0.3rem 0.8rem; cursor: pointer;
}
"""


def paste(*, key: str, on_paste: Callable[[], None]) -> bytes | None:
    """The button.

    Args:
        on_paste: called before the page is run again because of a new picture.

    Returns:
        The newest pasted picture as a PNG; None before the first.
    """
    labels = {
        "paste": _("Paste a picture (or press Ctrl+V)"),
        "none": _("There is no picture in the clipboard: copy one first."),
        "refused": _("The browser does not let this page read the clipboard: press Ctrl+V instead, or upload the file."),
        "damaged": _("The browser cannot read this picture: save it and upload the file."),
    }
    result = browser_component("clipboard", CSS)(key=key, data={"labels": labels}, on_picture_change=on_paste)
    return sent_picture(result.get("picture"), max_bytes=MAX_BYTES)
