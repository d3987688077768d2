"""Every view's notebook, with the values that its page puts in, runs and finds the numbers on screen."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import streamlit as st
from nbclient import NotebookClient

from core.lecture import notebooks
from core.words.model_files import WORD_FILES
from core.words.writer_files import WRITER_FILES
from pages.learn import take_along
from pages.shared import live_plot
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page

SET_UP = WORD_FILES.available() and WRITER_FILES.available()
TEMPLATES = sorted(
    path
    for path in notebooks.TEMPLATES.glob("*/*.py")
    if path.name != notebooks.BEFORE and (SET_UP or path.parent.name != "sentences")
)
PAGES = {path.parent.name for path in TEMPLATES}
STATES = {
    ("attention_steps", "softmax"): {"twq": "0.1_1.5", "mask": "causal", "t": "0.2", "q": "2"},
    ("permutation", "maps"): {"causal": "permuted", "places": "true", "heads": "2"},
    ("positions", "similarity"): {"pe": "tlob"},
    ("recurrent", "lstm"): {"len": "20", "fb": "-1", "step": "4"},
    ("ctc", "trellis"): {"target": "A A B", "noskip": "true"},
    ("norms", "norms"): {"norm": "bin", "norm_sample": "3"},
    ("norms", "softmax"): {"soft_shift": "100"},
    ("backprop", "attention"): {"bp_rows": "3", "bp_first": "-2", "bp_causal": "true"},
    ("optimisers", "surface"): {"surface": "saddle", "whose": "adamw", "walk_step": "25", "clip": "3"},
    ("transformer", "layer"): {"tf_side": "decoder", "tf_place": "2"},
    ("sentences", "writes"): {"network": "writes"},
}
"""Views that are opened away from their first state: URL parameters by page and part."""


def file_of(page: str) -> Path:
    """The page's file."""
    return ROOT / "pages" / "learn" / f"{page}.py"


pytestmark = pytest.mark.timeout(480)  # all views are opened once, in the first of these tests


@pytest.fixture(scope="module")
def taken() -> dict[str, str]:
    """Code of every view, with the values that its page gives once the page has been drawn: a download has no session."""
    given: dict[str, tuple[str, str, Callable[[], Mapping[str, Any]]]] = {}

    def keep(page: str, part: str, _title: str, values: Callable[[], Mapping[str, Any]] | None) -> None:
        if values is not None:
            given[f"{page}/{part}"] = page, part, values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(take_along, "offer", keep)
        patch.setattr(live_plot, "live_plot", lambda *_args, **_more: None)  # what is drawn is no part of this
        patch.setattr(st, "page_link", lambda *_args, **_more: None)  # a page opened alone knows no other
        for path in TEMPLATES:
            page, part = path.parent.name, path.stem
            open_page(file_of(page), part=part, **STATES.get((page, part), {}))
    return {name: notebooks.fill(notebooks.template(page, part), values()) for name, (page, part, values) in given.items()}


def test_every_template_is_a_views(taken: dict[str, str]) -> None:
    assert set(taken) == {f"{path.parent.name}/{path.stem}" for path in TEMPLATES}


def test_a_part_whose_numbers_are_the_models_has_no_notebook() -> None:
    labels = [
        [one.label for one in open_page(file_of("transformer"), part=part).get("download_button")] for part in ("decode", "layer")
    ]
    assert not any("Notebook" in one for one in labels[0]) and "Notebook (.ipynb)" in labels[1]


def test_nothing_is_made_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(notebooks, "fill", lambda code, _values: made.append(code) or code)
    assert any("Notebook" in one.label for one in open_page(file_of("permutation")).get("download_button")) and not made


def test_notebooks_stand_alone(taken: dict[str, str]) -> None:
    for name, code in taken.items():
        imported = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
        library = {"attention_observatory"} if name.startswith("sentences/") else set[str]()  # of a whole network
        assert imported <= {"numpy", "torch"} | library, f"{name} imports {imported}"
        lines = sum(1 for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        assert 12 <= lines <= 42, f"{name}: {lines} lines of code"
        assert re.search(r"ON_SCREEN = \{['\"]", code), f"{name} asserts nothing"


def test_all_notebooks_run(taken: dict[str, str], tmp_path: Path) -> None:
    """Their code here, each with names of its own; one of them, as the file that a reader opens, in a kernel."""
    for name, code in taken.items():
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
        nbformat.validate(nbformat.reads(notebooks.notebook(code, f"# {name}"), as_version=4))
    book = nbformat.reads(notebooks.notebook(taken["permutation/maps"], "# Maps"), as_version=4)
    NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in book.cells if cell.cell_type == "code")


def test_a_wrong_number_on_screen_is_found(taken: dict[str, str]) -> None:
    code = taken["attention_steps/softmax"]
    wrong = re.sub(r"'entropy': ([\d.]+)", lambda match: f"'entropy': {float(match[1]) + 0.002}", code)
    assert wrong != code
    with pytest.raises(AssertionError, match="was on screen"):
        exec(wrong, {})


def test_a_template_takes_the_values_of_the_page() -> None:
    assert notebooks.fill("LENGTH = 8  # positions\nLENGTH_2 = 1\n", {"LENGTH": 7}) == "LENGTH = 7  # positions\nLENGTH_2 = 1\n"
    assert notebooks.fill("TEXT = ''\n", {"TEXT": r"it's \1"}) == 'TEXT = "it\'s \\\\1"\n'
    numbers = np.array([-np.inf, np.nan, 1 / 3])
    assert notebooks.fill("X = 0\nX = 1\n", {"X": numbers}) == "X = np.array([-np.inf, np.nan, 0.333333333])\nX = 1\n"
    assert notebooks.on_screen({"a": -0.00012, "b": [0.12349]}) == {"ON_SCREEN": {"a": 0.0, "b": np.array([0.123])}}
    with pytest.raises(KeyError, match="sets no WIDTH"):
        notebooks.fill("LENGTH = 8\n", {"WIDTH": 1})
