"""The index of every equation in the five documents: where it lives in `core`, which test checks it and against what.

The entries stand in `assets/equations.json`; tests/core/lecture/test_equations.py holds that each place, test and page exists and
that no section with formulas is left out.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
        id: unique and stable: part of links. document: one of DOCUMENTS. section: one or several, "; " between.
        title, against: by language; `against` is what the test compares with.
        latex: in one notation for all documents, not theirs.
        code: "module:name" of where it lives, the first the main one. test: "file::function".
        page: url of the page that shows it with numbers. query: parameters that open it there.
        decisions: such as D11. why: by language: where the document errs or leaves a choice, what was decided; None elsewhere.
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

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections one by one."""
        return tuple(self.section.split("; "))

    def link(self, **more: str) -> str:
        """Address of the page within the app; `more` goes along (the reader's language)."""
        query = {**self.query, **more}
        return f"{self.page}?{urlencode(query)}" if query else self.page

    def words(self) -> str:
        """Everything a reader may search for, in both languages, folded."""
        told = [self.id, self.document, self.section, self.latex, self.test, self.page, *self.code, *self.decisions]
        for text in (self.title, self.against, self.why or {}):
            told += text.values()
        return folded(" ".join(told))


def folded(text: str) -> str:
    """Lower case and without accents, so that "atencion" finds "atención"."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))


@cache
def equations() -> tuple[Equation, ...]:
    """Every entry, in the documents' order."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Equation(**{**row, "code": tuple(row["code"]), "decisions": tuple(row["decisions"])}) for row in rows)


@cache
def _searchable() -> dict[str, str]:
    return {entry.id: entry.words() for entry in equations()}


def decisions() -> list[str]:
    """Every decision that is cited, by number."""
    found = {decision for entry in equations() for decision in entry.decisions}
    return sorted(found, key=lambda name: (int("".join(filter(str.isdigit, name))), name))


def search(text: str = "", *, document: str | None = None, decision: str | None = None) -> list[Equation]:
    """Entries that hold every word of the text, of one document and with one decision where given.

    Args:
        decision: "any" finds every entry where a decision or a reason is given.
    """
    wanted = folded(text).split()
    return [
        entry
        for entry in equations()
        if (document is None or entry.document == document)
        and (decision is None or decision in entry.decisions or (decision == "any" and (entry.decisions or entry.why)))
        and all(word in _searchable()[entry.id] for word in wanted)
    ]


def table(entries: Iterable[Equation], language: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Rows for a CSV, titles and reasons in one language.

    Args:
        columns: what the ten columns are called, in that language.

    Raises:
        ValueError: for another number of columns.
    """
    rows = []
    for entry in entries:
        values = (
            entry.id, entry.document, entry.section, entry.title[language], entry.latex, ", ".join(entry.code), entry.test,
            entry.against[language], entry.link(), " ".join([*entry.decisions, entry.why[language] if entry.why else ""]).strip(),
        )  # fmt: skip
        rows.append(dict(zip(columns, values, strict=True)))
    return rows
