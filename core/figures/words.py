"""Words on a figure: core knows no language, so a figure takes the translator of whoever draws it."""

from __future__ import annotations

from core.words import Translate

__all__ = ["Translate", "untranslated"]


def untranslated(message: str) -> str:
    """The English source text as it is."""
    return message
