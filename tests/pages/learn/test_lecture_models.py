"""The pages on the encoder-decoder, norms, optimisers and backpropagation: what is typed, links, numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.lecture import backprop, optimisers
from core.lecture.date_reader import DateReader
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

FOLDER = ROOT / "pages" / "learn"


def page(name: str, **query: str) -> AppTest:
    return open_page(FOLDER / f"{name}.py", **query)


# -- the encoder-decoder ------------------------------------------------------------------------------------------------------


def test_it_reads_what_is_typed_as_the_model_does() -> None:
    app = page("transformer", date="May the 3rd, 1979")
    found = DateReader().read("May the 3rd, 1979")
    assert found.answer == "1979-05-03"
    assert "1979-05-03" in words(app) and f"{found.probability:.2%}" in words(app)
    app.text_input(key="date").set_value("12/06/2001")
    ran(app)
    assert "2001-06-12" in words(app) and app.query_params["date"] == "12/06/2001"


def test_an_example_fills_the_field_and_the_link_follows() -> None:
    app = page("transformer")
    assert "date" not in app.query_params
    app.button(key="date:example:3").click()
    ran(app)
    assert app.text_input(key="date").value == "03/04/1979" == app.query_params["date"]
    assert "1979-04-03" in words(app)


def test_a_symbol_is_told_with_what_is_written_before_it() -> None:
    assert "So far: `197`, next: `9`" in words(page("transformer", part="decode", symbol="4"))


def test_nothing_typed_and_too_much_typed_are_said() -> None:
    for text, sentence in ((" ", "The text is empty"), ("x" * 70, "The text has 70 characters: at most 64 are read")):
        app = page("transformer", date=text)
        assert sentence in words(app)
        assert "date=" in app.code[0].value, "the link to this view stays under an error"


def test_no_day_of_the_calendar_is_said() -> None:
    text = words(page("transformer", date="31 de febrero de 2001"))
    assert not DateReader().read("31 de febrero de 2001").is_date
    assert "A date that exists no" in re.sub(r"\s+", " ", text)


def test_without_its_checkpoint_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    text = words(page("transformer"))
    assert "There is no checkpoint named 'dates'" in text and "python -m core train dates" in text


def test_the_cards_numbers_are_on_the_page() -> None:
    metrics = checkpoints.read_card("dates")["metrics"]["test"]
    text = words(page("transformer", part="decode"))
    assert f"{metrics['exact_match']:.2%}" in text and f"{metrics['samples']:,}" in text


# -- numbers on the other pages -----------------------------------------------------------------------------------------------


def test_the_step_on_the_optimisers_page_is_the_walks() -> None:
    walk = optimisers.surface_walks(optimisers.SURFACES["saddle"], steps=9, rate=0.1, decay=0.2)["adamw"]
    app = page("optimisers", surface="saddle", whose="adamw", walk_step="9", lr="0.1", adamw_decay="0.2")
    latex = " ".join(one.value for one in app.latex)
    for value in (*walk.points[8], *walk.points[9]):
        assert f"{value:.4f}" in latex


def test_an_old_parts_address_leads_to_its_operation() -> None:
    app = page("backprop", part="gelu")
    assert (app.query_params["part"], app.query_params["bp_ffn"]) == ("ffn", "gelu")
    assert "0.134145" in " ".join(one.value for one in app.latex)


def test_the_gap_on_the_backprop_page_is_the_examples() -> None:
    found = backprop.example("attention", rows=3, seed=1, first=-1.5, causal=True)
    app = page("backprop", part="attention", bp_rows="3", bp_first="-1.5", bp_causal="true", bp_of_attention="V")
    latex = " ".join(one.value for one in app.latex)
    assert f"{found.written['V'][0, 0]:.4f}" in latex
    (said,) = re.findall(r"differ by ([\d.]+e-\d+) at most", words(app))
    assert float(said) == pytest.approx(max(found.gap(name) for name in found.written), rel=0.06)
