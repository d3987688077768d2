"""Every view's notebook, with the values that its page puts in, runs and finds the numbers on screen; its handout."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest
import streamlit as st
from nbclient import NotebookClient

from core.lecture import handout, notebooks
from core.lecture.course import lesson_of
from core.lecture.handout import Handout
from pages.learn import take_along
from pages.shared import live_plot
from pages.shared.navigation import ROOT
from tests.pages.learn.test_frame import parts_of
from tests.pages.open_page import open_page

TEMPLATES = sorted(path for path in notebooks.TEMPLATES.glob("*/*.py") if path.name != notebooks.BEFORE)
PAGES = {path.parent.name for path in TEMPLATES}
STATES = {
    ("attention_steps", "softmax"): {"wq": "0.1_1.5", "mask": "causal", "t": "0.2", "q": "2", "heads": "2", "head": "1"},
    ("permutation", "maps"): {"causal": "permuted", "places": "true", "heads": "2"},
    ("positions", "rotation"): {"pe": "tlob", "k": "5"},
    ("recurrent", "lstm"): {"seq": "letters", "fb": "-1", "step": "4"},
    ("norms", "norms"): {"norm": "bin", "norm_sample": "3"},
    ("norms", "softmax"): {"soft_shift": "100"},
    ("backprop", "attention"): {"bp_rows": "3", "bp_first": "-2", "causal": "true"},
    ("optimisers", "surface"): {"surface": "himmelblau", "whose": "adamw", "walk_step": "25"},
    ("transformer", "layer"): {"tf_side": "decoder", "tf_place": "2"},
}
"""Views that are opened away from their first state: URL parameters by page and part."""


def file_of(page: str) -> Path:
    """The page's file: two of the course's lessons are among the signs."""
    return next(path for folder in ("learn", "signs") if (path := ROOT / "pages" / folder / f"{page}.py").exists())


pytestmark = pytest.mark.timeout(480)  # all views are opened once, in the first of these tests


@pytest.fixture(scope="module")
def taken() -> dict[str, tuple[str, str]]:
    """Code and handout of every view, as its page makes them."""
    found: dict[str, tuple[str, str]] = {}

    def keep(page: str, part: str, made: Callable[[], Handout], values: Callable[[], Mapping[str, Any]]) -> None:
        code = notebooks.fill(notebooks.template(page, part), values())
        found[f"{page}/{part or 'all'}"] = (code, take_along.sheet(made(), values())())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(take_along, "offer", keep)
        patch.setattr(live_plot, "live_plot", lambda *_args, **_more: None)  # what is drawn is no part of this
        patch.setattr(st, "page_link", lambda *_args, **_more: None)  # a page opened alone knows no other
        for path in TEMPLATES:
            page, part = path.parent.name, path.stem
            query = {} if part == "all" else {"part": part}
            open_page(file_of(page), **query, **STATES.get((page, part), {}))
    return found


def test_every_view_has_a_template(taken: dict[str, tuple[str, str]]) -> None:
    assert set(taken) == {f"{path.parent.name}/{path.stem}" for path in TEMPLATES}
    for page in PAGES:
        templates = {path.stem for path in TEMPLATES if path.parent.name == page}
        assert set(parts_of(file_of(page))) - {""} <= templates


def test_nothing_is_made_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(notebooks, "fill", lambda code, _values: made.append(code) or code)
    closed = open_page(file_of("permutation"), opened=False)
    assert not made and not any(block.label.startswith("Notebook") for block in closed.get("download_button"))
    assert any("Notebook" in one.label for one in open_page(file_of("permutation")).get("download_button")) and len(made) == 1


def test_notebooks_stand_alone(taken: dict[str, tuple[str, str]]) -> None:
    for name, (code, _sheet) in taken.items():
        imported = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
        assert imported <= {"numpy", "torch"}, f"{name} imports {imported}"
        lines = sum(1 for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        assert 12 <= lines <= 42, f"{name}: {lines} lines of code"
        assert re.search(r"ON_SCREEN = \{['\"]", code), f"{name} asserts nothing"


def test_all_notebooks_run(taken: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    """Their code here, each with names of its own; one of them, as the file that a reader opens, in a kernel."""
    for name, (code, _sheet) in taken.items():
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
        nbformat.validate(nbformat.reads(notebooks.notebook(code, f"# {name}"), as_version=4))
    book = nbformat.reads(notebooks.notebook(taken["permutation/maps"][0], "# Maps"), as_version=4)
    NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in book.cells if cell.cell_type == "code")


def test_a_wrong_number_on_screen_is_found(taken: dict[str, tuple[str, str]]) -> None:
    code, _sheet = taken["attention_steps/softmax"]
    wrong = re.sub(r"'entropy': ([\d.]+)", lambda match: f"'entropy': {float(match[1]) + 0.002}", code)
    assert wrong != code
    with pytest.raises(AssertionError, match="was on screen"):
        exec(wrong, {})


class Text(HTMLParser):
    """The text of the sheet's two pages, and its tags in balance."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.pages: list[str] = ["", ""]
        self.on = 0
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.on = 1 if ("class", "key") in attrs else self.on

    def handle_data(self, data: str) -> None:
        self.pages[self.on] += data


def test_handouts_ask_on_page_one_and_answer_on_page_two(taken: dict[str, tuple[str, str]]) -> None:
    with_blanks = 0
    for name, (_code, content) in taken.items():
        first, second = Text(content).pages
        assert "merror" not in content and "aligned" not in content, name
        blanks = re.findall(r"<menclose.*?\((\d+)\).*?</menclose>", content)
        assert all(f"({number})" in first for number in blanks), name
        with_blanks += bool(blanks)
        assert all(f"({number})" in second for number in blanks), name
        assert "<script" not in content and "http" not in re.sub(r"http://www.w3.org\S+", "", unquote(content)), name
    assert with_blanks > len(taken) / 2


def test_handouts_of_the_course_have_a_prediction_and_two_explanations(taken: dict[str, tuple[str, str]]) -> None:
    """Made from the view's state: the answers stand on page two alone."""
    first, second = Text(taken["attention_steps/softmax"][1]).pages  # the second head, temperature 0.2, causal: see `STATES`
    assert "Temperature τ: 0.2" in first and "Query: sat" in first and "The temperature rises to 5" not in second
    for name, (_code, content) in taken.items():
        page, _, part = name.replace("_", "-").partition("/")
        here = lesson_of(page, "" if part == "all" else part)
        if here is not None:
            first, second = Text(content).pages
            assert first.count("A → B") == first.count("B → A") == second.count("B → A") == 1, name


def test_results_become_blanks() -> None:
    found = handout.blank(r"\begin{aligned} a &= 2 \cdot 3 = 6{,}0 \\ b &= \begin{bmatrix}1 & 2\end{bmatrix} \end{aligned}", 3)
    assert found.answers == ["6{,}0", r"\begin{bmatrix}1 & 2\end{bmatrix}"]
    assert "(3)" in found.latex and "(4)" in found.latex and "2 \\cdot 3" in found.latex


def test_a_template_takes_the_values_of_the_page() -> None:
    assert notebooks.fill("LENGTH = 8  # positions\nLENGTH_2 = 1\n", {"LENGTH": 7}) == "LENGTH = 7  # positions\nLENGTH_2 = 1\n"
    assert notebooks.fill("TEXT = ''\n", {"TEXT": r"it's \1"}) == 'TEXT = "it\'s \\\\1"\n'
    with pytest.raises(KeyError, match="sets no WIDTH"):
        notebooks.fill("LENGTH = 8\n", {"WIDTH": 1})
