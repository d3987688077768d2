"""Colours of the app by name, read from the style sheets where they are written: the app's own and the attention view's."""

import re
from pathlib import Path
from typing import Final

from attention_light.scene import STYLE

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "styles" / "colours.css"
PALETTE: Final = dict(re.findall(r"--ao-([a-z-]+): (#[0-9A-F]{6});", STYLE + FILE.read_text(encoding="utf-8")))
"""`#RRGGBB` by name."""


def clear(name: str, alpha: float) -> str:
    """A colour that lets the page through: `rgba(...)`, alpha from 0 (all of it) to 1 (nothing)."""
    red, green, blue = bytes.fromhex(PALETTE[name][1:])
    return f"rgba({red},{green},{blue},{alpha:g})"
