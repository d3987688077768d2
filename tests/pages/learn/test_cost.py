"""The cost page by Streamlit's own test runner: tables, links and the question."""

from __future__ import annotations

import pytest

from pages.learn.amounts import amount, tex_amounts
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran

PAGE = ROOT / "pages" / "learn" / "cost.py"


def test_all_models_by_formula_and_count() -> None:
    app = open_page(PAGE)
    table = app.dataframe[0].value
    assert len(table) >= 6
    assert (table["MACs, formula"] == table["MACs, counted"]).all()
    assert {1_173_611, 883_179} <= set(table["Parameters, counted"])


@pytest.mark.parametrize("setup", ["tlob-fi2010", "vit", "iiga", "dates"])
def test_a_link_opens_a_models_modules(setup: str) -> None:
    app = open_page(PAGE, setup=setup)
    whole, table = app.dataframe[0].value, app.dataframe[1].value
    assert (table["MACs, formula"] == table["MACs, counted"]).all() and table["MACs, counted"].sum() in set(
        whole["MACs, counted"]
    )
    assert table["Parameters, counted"].sum() in set(whole["Parameters, counted"])
    assert app.success and not app.warning


def test_nonsense_in_a_link_is_harmless() -> None:
    open_page(PAGE, part="modules", setup="?")
    open_page(PAGE, part="growth", layer_t="3", layer_d="-1", layer_n="five")


def test_amounts_are_read_as_said() -> None:
    assert amount(999) == "999" and amount(62_095_360) == "62.1 M"
    assert amount(3_594_000_000) == "3.594 G"


def test_amounts_in_a_sum_add_up_in_one_unit() -> None:
    parts, whole = tex_amounts([819_200, 1_310_720, 1_638_400], 3_768_320)
    assert (parts, whole) == ([r"0.82\,\mathrm{M}", r"1.31\,\mathrm{M}", r"1.64\,\mathrm{M}"], r"3.77\,\mathrm{M}")
    assert tex_amounts([299_494_272], 3_593_931_264, compute=lambda one: 12 * one)[1] == r"3.59\,\mathrm{G}"
    assert tex_amounts([640, 1_199_360], 1_200_000)[0][0] == "640", "too small for the unit"


def test_the_question_about_the_next_model_is_answered_by_the_table() -> None:
    app = open_page(PAGE, part="models", ask="true")
    assert app.radio[0].value is None
    app.button(key="predict_reveal").click()
    ran(app)
    now, then = app.dataframe[0].value["MACs, counted"][:2]
    assert app.info[0].value.startswith("**it falls.**" if then < now else "**it rises.**") and now != then
