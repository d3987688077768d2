"""Terms of assets/glossary.md, for the search of the app."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "glossary.md"
END: Final = "</a>Symbols of the lecture"
"""Where symbols begin, which are no terms."""


@dataclass(frozen=True, kw_only=True)
class GlossaryTerm:
    """One term: names and meanings by language, these in Markdown; the url of the page that shows it."""

    names: dict[str, str]
    meanings: dict[str, str]
    page: str


PAGES: Final = {"Order books": "live", "Attention": "attention-steps", "Signs": "recognise", "Learning": "optimisers"}
"""Heading of the glossary -> url of the page that shows its terms."""


@cache
def terms() -> tuple[GlossaryTerm, ...]:
    """All terms in the order of the file."""
    found, page = [], ""
    for line in FILE.read_text(encoding="utf-8").partition(END)[0].splitlines():
        page = PAGES.get(line.removeprefix("## "), page)
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[0] != "English" and set(cells[0]) != {"-"}:
            english, spanish, meaning, significado = cells
            names, meanings = {"en": english, "es": spanish}, {"en": meaning, "es": significado}
            found.append(GlossaryTerm(names=names, meanings=meanings, page=page))
    return tuple(found)
