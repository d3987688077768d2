"""Order, positions and recurrent cells by Streamlit's own test runner: what a page claims, and states live in the link."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

LEARN = ROOT / "pages" / "learn"
PAGE = LEARN / "permutation.py"


def words_in_order(app: AppTest) -> list[str]:
    """The rows of the permutation matrix."""
    table = next(one.proto.body for one in app.get("html") if 'data-key="permutation_p"' in one.proto.body)
    return re.findall(r'<th scope="row">(.*?)</th>', table)


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


def test_buttons_change_the_order_and_the_link() -> None:
    app = open_page(PAGE, order="2,1,3,4,5")
    assert words_in_order(app) == ["dog", "the", "bites", "the·2", "man"]
    app.button(key="permutation_reverse").click()
    ran(app)
    assert words_in_order(app) == ["man", "the·2", "bites", "the", "dog"] and app.query_params["order"] == "5,4,3,1,2"
    app.button(key="permutation_original").click()
    ran(app)
    assert words_in_order(app) == ["the", "dog", "bites", "the·2", "man"]


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
def test_the_shipped_learned_positions(part: str) -> None:
    app = open_page(LEARN / "positions.py", part=part, pe="tlob", pos="100")
    assert not app.select_slider and app.slider(key="pos").max == 127


def test_a_link_opens_an_encoding_exactly() -> None:
    app = open_page(LEARN / "positions.py", part="rotation", n="20", d="16", base="100", k="4", i="3", pos="6")
    assert app.slider(key="k").value == 4 and app.select_slider(key="d").value == "16"
    assert "rounding error" in app.success[0].value
    assert app.slider(key="pos").max == 15 and r"\begin{bmatrix}0.758 & 0.653" in app.latex[1].value  # of 4 / 100^(6 / 16)


def test_a_link_opens_a_cell_exactly_with_one_of_before_among_its_choices() -> None:
    app = open_page(LEARN / "recurrent.py", part="lstm", len="20", step="3", unit="2", fb="2", seq="letters")
    assert "Step 3, unit 2." in words(app)
    assert "Length: 20" in words(app) and app.slider(key="fb").value == 2
