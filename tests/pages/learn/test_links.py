"""Order, positions and recurrent cells by Streamlit's own test runner: what a page claims, and states live in the link."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.lecture import notebooks
from pages.learn import take_along
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

LEARN = ROOT / "pages" / "learn"
PAGE = LEARN / "permutation.py"
Values = Callable[[], Mapping[str, Any]]


@pytest.fixture
def notebook_code(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Code of the notebook of the view drawn last, without its button being pressed."""
    offered: list[tuple[str, str, Values]] = []

    def keep(page: str, part: str, _title: str, values: Values | None) -> None:
        if values is not None:
            offered.append((page, part, values))

    def code() -> str:
        page, part, values = offered[-1]
        return notebooks.fill(notebooks.template(page, part), values())

    monkeypatch.setattr(take_along, "offer", keep)
    return code


@pytest.mark.parametrize(
    ("link", "claims"),
    [
        ({}, ("Equivariant", "Invariant")),
        ({"places": "true"}, ("Not equivariant", "Not invariant")),
        ({"causal": "fixed"}, ("Not equivariant", "Not invariant")),
        ({"causal": "permuted", "heads": "2"}, ("Equivariant", "Invariant")),
    ],
)
def test_the_claims_are_checked(link: dict[str, str], claims: tuple[str, str]) -> None:
    app = open_page(PAGE, order="5,4,3,2,1", **link)
    holds = not claims[0].startswith("Not")
    found = app.success if holds else app.warning
    assert all(one.value.startswith(claim) for one, claim in zip(found, claims, strict=True))


def test_buttons_change_the_order_and_the_link(notebook_code: Callable[[], str]) -> None:
    app = open_page(PAGE, order="2,1,3,4,5")
    assert "ORDER = [1, 0, 2, 3, 4]" in notebook_code()
    app.button(key="permutation_reverse").click()
    ran(app)
    assert "ORDER = [4, 3, 2, 0, 1]" in notebook_code() and app.query_params["order"] == "5,4,3,1,2"
    app.button(key="permutation_original").click()
    ran(app)
    assert "ORDER = [0, 1, 2, 3, 4]" in notebook_code()


def test_other_words_get_an_order_of_their_own() -> None:
    app = open_page(PAGE, order="2,1,3,4,5")
    app.text_input(key="typed").set_value("only three words")
    ran(app)
    assert not app.error
    app.text_input(key="typed").set_value("")
    assert "Write 1 to 12" in ran(app).error[0].value


def test_the_table_says_what_holds_when() -> None:
    app = open_page(PAGE, part="table")
    shown = app.dataframe[0].value
    assert list(shown["equivariant"]) == ["✓", "✗", "✗", "✓", "✗"] == list(shown["invariant"])


@pytest.mark.parametrize("part", ["matrix", "similarity"])
def test_the_shipped_learned_positions(part: str, notebook_code: Callable[[], str]) -> None:
    app = open_page(LEARN / "positions.py", part=part, pe="tlob", pos="100")
    assert not app.select_slider and "LEARNED = np.array([[" in notebook_code()


def test_a_link_opens_an_encoding_exactly(notebook_code: Callable[[], str]) -> None:
    app = open_page(LEARN / "positions.py", part="rotation", n="20", d="16", base="100", k="4", i="3", pos="6")
    assert app.slider(key="k").value == 4 and app.select_slider(key="d").value == "16"
    assert "rounding error" in app.success[0].value
    assert "LENGTH = 20" in notebook_code() and "SHIFT = 4" in notebook_code()


def test_a_link_opens_a_cell_exactly_with_one_of_before_among_its_choices() -> None:
    app = open_page(LEARN / "recurrent.py", part="lstm", len="20", step="3", unit="2", fb="2", seq="letters")
    assert "Step 3, unit 2." in words(app)
    assert "Length: 20" in words(app) and app.slider(key="fb").value == 2
