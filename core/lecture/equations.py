"""The index of every equation in the five documents: where it lives in `core`, which test checks it and against what.

The entries are in `assets/equations.json`. tests/core/lecture/test_equations.py checks that every place, test and page exists,
that the named test executes every place, and that no section with formulas is missing.
"""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "equations.json"
DOCUMENTS: Final = ("tlob-architecture", "vit-report", "iiga-equations", "sequence-modelling", "attention-notebook")
LANGUAGES: Final = ("en", "es")


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One equation.

    Attributes:
        id: unique and stable, as links contain it. document: one of DOCUMENTS. section: one or several, separated by "; ".
        title, against: text by language; `against` names what the test compares with.
        latex: the formula, in one notation for all documents.
        code: places as "module:name", the main one first. test: "file::function".
        page: url of the page that shows the equation with numbers, "equations" where the index does. query: opens it there.
        decisions: numbers of docs/decisions.md, such as D11.
        why: text by language on what was decided where the document errs or leaves a choice; None elsewhere.
    """

    id: str
    document: str
    section: str
    title: Mapping[str, str]
    latex: str
    code: tuple[str, ...]
    test: str
    against: Mapping[str, str]
    page: str
    query: Mapping[str, str]
    decisions: tuple[str, ...]
    why: Mapping[str, str] | None

    def link(self, **parameters: str) -> str:
        """Address of the page within the app, with further parameters such as the language."""
        query = {**self.query, **parameters}
        return f"{self.page}?{urlencode(query)}" if query else self.page

    @cached_property
    def searchable_text(self) -> str:
        """All fields in both languages, in lower case and without accents."""
        fields = [self.id, self.document, self.section, self.latex, self.test, self.page, *self.code, *self.decisions]
        for by_language in (self.title, self.against, self.why or {}):
            fields += by_language.values()
        return without_accents(" ".join(fields))


def without_accents(text: str) -> str:
    """Lower case without accents, so that "atencion" matches "atención"."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))


@cache
def equations() -> tuple[Equation, ...]:
    """Every entry, in the documents' order."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Equation(**{**row, "code": tuple(row["code"]), "decisions": tuple(row["decisions"])}) for row in rows)


def search(text: str = "") -> list[Equation]:
    """Entries that contain every word of the text: of title, formula, document, decision, code or test."""
    wanted = without_accents(text).split()
    return [entry for entry in equations() if all(word in entry.searchable_text for word in wanted)]
