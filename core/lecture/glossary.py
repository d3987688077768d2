"""Terms of docs/glossary.md, for the search of the app."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
END: Final = "</a>Symbols of the lecture"
"""Where symbols begin, which are no terms."""


@dataclass(frozen=True, kw_only=True)
class GlossaryTerm:
    """One term: names and meanings by language, these in Markdown."""

    names: dict[str, str]
    meanings: dict[str, str]


@cache
def terms() -> tuple[GlossaryTerm, ...]:
    """All terms in the order of the file."""
    lines = FILE.read_text(encoding="utf-8").partition(END)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    return tuple(
        GlossaryTerm(names={"en": english, "es": spanish}, meanings={"en": meaning, "es": significado})
        for english, spanish, meaning, significado in rows
        if english != "English" and set(english) != {"-"}
    )
