"""One symbol, one meaning over all lessons (D36): the formulas of the pages against the table in the glossary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from core.lecture.course import LESSONS
from pages.shared.navigation import ENTRIES, ROOT

GREEK = "alpha|beta|gamma|delta|epsilon|varepsilon|eta|theta|kappa|lambda|Lambda|mu|pi|sigma|tau|phi|Phi|omega|nabla|Delta"
SYMBOL = re.compile(
    rf"\\mathcal\{{(?P<script>[A-Z])\}}|\\(?P<greek>{GREEK})(?![A-Za-z])|\\[A-Za-z]+|(?P<word>PE|pos|[A-Za-z])(?P<prime>')?"
)
SUBSCRIPT = re.compile(r"_(?:\{(?P<long>[A-Za-z0-9]+)\}|(?P<short>[A-Za-z0-9]))")
WORDS = re.compile(
    r"\\(?:text|mathrm|mathbb)\s*\{(?:[^{}]|\{[^{}]*\})*\}|\\(?:begin|end)\{\w+\}|\\(?:right|left|big|Big)[a-z]*|\\\\(?:\[\w+\])?|pt\]"
)
FUNCTIONS = ("P", "f")
"""Names of a function where a bracket follows, of something else where none does."""

DEFINED = {
    "Z": (r"AV", r"\mathrm{Concat}", r"\sum_j A_{ij} V_j", "A'V'", "0"),
    "O": (r"Z W_O", r"\mathrm{MultiHead}"),
    "X_{pe}": ("X +",),
}
"""What stands on the other side where a formula defines the symbol."""
DEFINITION = re.compile(r"(?<![\w'}|])(?<!\\bar )(?<!\\nabla )(Z|O|X_\{pe\})(?:_(?:\{[^{}]*\}|\w))? &?= (.{0,40})")


def formulas(file: str) -> Iterator[str]:
    """LaTeX of a page's source; numbers that it fills in are 0."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        if re.search(r"\\[A-Za-z]{2,}", text):
            yield text


def symbols(formula: str) -> Iterator[str]:
    """The symbols of a formula; a subscript counts where it is a word, a number or a letter of its own (`named`)."""
    bare = WORDS.sub(" ", formula)
    at = 0
    while match := SYMBOL.search(bare, at):
        at = match.end()
        name = (
            match["word"] or (match["greek"] and f"\\{match['greek']}") or (match["script"] and f"\\mathcal{{{match['script']}}}")
        )
        if not name:
            continue
        if name in FUNCTIONS and re.match(r"'?\(", bare[match.end("word") :]):
            yield f"{name}(·)"
            continue
        sub = SUBSCRIPT.match(bare, at)
        if sub:
            at = sub.end()
        yield name + (match["prime"] or "") + (f"_{sub['long'] or sub['short']}" if sub else "")


@cache
def table() -> dict[str, set[str]]:
    """Lessons' pages by symbol."""
    part = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("</a>Symbols of the lecture")[2]
    rows = re.findall(r"^\| (`.+?) \| .+? \| .+? \| (.+?) \|$", part, re.MULTILINE)
    names = [name for cell, _pages in rows for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) == len(set(names)), "a symbol has one row"
    return {name: set(pages.split(", ")) for cell, pages in rows for name in re.findall(r"`([^`]+)`", cell)}


def used() -> dict[str, set[str]]:
    """Lessons' pages by symbol, as their sources have them; a subscript counts where the table lists it."""
    known = table()
    files = {entry.url: str(entry.file) for entry in ENTRIES}
    listing: dict[str, set[str]] = {}
    for url in dict.fromkeys(lesson.url for lesson in LESSONS):
        for formula in formulas(files[url]):
            for name in symbols(formula):
                base = name.partition("_")[0]
                listed = next((one for one in (name, base, base.rstrip("'")) if one in known), name)
                listing.setdefault(listed, set()).add(url)
    return listing


def test_every_symbol_has_its_row_and_every_row_its_lessons() -> None:
    listing, known = used(), table()
    assert listing.keys() <= known.keys(), {name: listing[name] for name in listing.keys() - known.keys()}
    wrong = {name: (pages, listing.get(name, set())) for name, pages in known.items() if pages != listing.get(name, set())}
    assert not wrong, wrong


def test_what_is_defined_has_one_definition() -> None:
    files = {entry.url: str(entry.file) for entry in ENTRIES}
    seen = set()
    for url in dict.fromkeys(lesson.url for lesson in LESSONS):
        for formula in formulas(files[url]):
            for name, right in DEFINITION.findall(formula):
                assert right.startswith(DEFINED[name]), (url, name, right)
                seen.add(name)
    assert seen == DEFINED.keys()
