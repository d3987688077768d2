"""One symbol, one meaning over all lessons (D36): formulas, diagrams and the index of equations against the glossary."""

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from core.lecture.course import LESSONS
from core.lecture.equations import equations
from pages.shared.navigation import ENTRIES, ROOT
from tests.pages.learn.test_diagram import labels

GREEK = "alpha|beta|gamma|delta|epsilon|varepsilon|eta|theta|kappa|lambda|Lambda|mu|pi|sigma|tau|phi|Phi|omega|nabla|Delta"
SYMBOL = re.compile(
    rf"\\mathcal\{{(?P<script>[A-Z])\}}|\\(?P<greek>{GREEK})(?![A-Za-z])|\\[A-Za-z]+|(?P<word>PE|pos|[A-Za-z])(?P<prime>')?"
)
SUBSCRIPT = re.compile(r"_(?:\{(?P<long>[A-Za-z0-9]+)\}|(?P<short>[A-Za-z0-9]))")
WORDS = re.compile(
    r"\\(?:text|mathrm|mathbb)\s*\{(?:[^{}]|\{[^{}]*\})*\}|\\(?:begin|end)\{\w+\}|\\(?:right|left|big|Big)[a-z]*|\\\\(?:\[\w+\])?|pt\]"
)
FUNCTIONS = ("P", "f", "O")
"""Names of a function where a bracket follows, of something else where none does."""

LETTERS = {"ℒ": r"\mathcal{L}", "∇": r"\nabla ", "ε": r"\varepsilon"} | {
    unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}"): rf"\{name}"
    for name in ("alpha", "beta", "gamma", "eta", "theta", "mu", "sigma", "tau", "omega")
}
"""Letters of diagrams, for LaTeX."""

DEFINED = {
    "Z": (r"AV", r"\mathrm{Concat}", r"\sum_j A_{ij} V_j", r"\sum_{j=1}^{T} A_{ij} V_j", "A'V'", "0"),
    "O": (r"Z W_O", r"\mathrm{MultiHead}"),
    "X_{pe}": ("X +", "X_{cnn} +", r"W_e[\text{symbols}] +"),
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
    part = (ROOT / "assets" / "glossary.md").read_text(encoding="utf-8").partition("</a>Symbols of the lecture")[2]
    rows = re.findall(r"^\| (`.+?) \| .+? \| .+? \| (.+?) \|$", part, re.MULTILINE)
    names = [name for cell, _pages in rows for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) == len(set(names)), "a symbol has one row"
    return {name: set(pages.split(", ")) for cell, pages in rows for name in re.findall(r"`([^`]+)`", cell)}


def in_latex(label: str) -> str:
    """A diagram's label as a formula: without its words, amounts and accents."""
    plain = "".join(one for one in unicodedata.normalize("NFD", label) if not unicodedata.combining(one))
    for sign, name in LETTERS.items():
        plain = plain.replace(sign, name)
    return re.sub(
        r"[\d.,]+(?:\s[kMGB]\b|e[+-])|n-grams|(?<![\\_{A-Za-z])(?!pos\b)(?:[A-Za-z]{3,}(?:-[A-Za-z]+)?|[a-z]{2})(?![A-Za-z])",
        "",
        plain,
    )


def listed(formulas: Iterable[str]) -> set[str]:
    """Symbols of formulas, by the name that the table lists them under."""
    known = table()
    names = {name: name.partition("_")[0] for formula in formulas for name in symbols(formula)}
    return {next((one for one in (name, base, base.rstrip("'")) if one in known), name) for name, base in names.items()}


def used() -> dict[str, set[str]]:
    """Pages by symbol, as the lessons' sources and diagrams have them; the index counts for what no lesson has."""
    files = {entry.url: str(entry.file) for entry in ENTRIES}
    listing: dict[str, set[str]] = {}
    for url in dict.fromkeys(lesson.url for lesson in LESSONS):
        for name in listed([*formulas(files[url]), *map(in_latex, labels(url))]):
            listing.setdefault(name, set()).add(url)
    for name in listed(entry.latex for entry in equations()) - listing.keys():
        listing[name] = {"equations"}
    return listing


def test_every_symbol_has_its_row_and_every_row_its_lessons() -> None:
    listing, known = used(), table()
    assert listing.keys() <= known.keys(), {name: listing[name] for name in listing.keys() - known.keys()}
    wrong = {name: (pages, listing.get(name, set())) for name, pages in known.items() if pages != listing.get(name, set())}
    assert not wrong, wrong


def test_what_is_defined_has_one_definition() -> None:
    files = {entry.url: str(entry.file) for entry in ENTRIES}
    seen = set()
    index = [(entry.id, entry.latex) for entry in equations()]
    urls = dict.fromkeys(lesson.url for lesson in LESSONS)
    for place, formula in [*index, *((url, formula) for url in urls for formula in formulas(files[url]))]:
        for name, right in DEFINITION.findall(formula):
            assert right.startswith(DEFINED[name]), (place, name, right)
            seen.add(name)
    assert seen == DEFINED.keys()
