"""Names of what models answer, without torch: files of answers are read where no model is."""

from typing import Final

BOOK: Final = ("DOWN", "STATIONARY", "UP")
"""TLOB's classes, in the document's order (D3)."""
