"""The training of the model that answers, a view under Garments, by Streamlit's own test runner."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.models.vit import CLASSES
from core.vision.photographs import KINDS
from pages.shared.language import catalogue
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, words


def opened(**query: str) -> AppTest:
    return open_page(ROOT / "pages" / "images" / "classify.py", inside="training", **query)


def test_every_class_can_be_named_in_the_readers_language() -> None:
    assert all(catalogue("es").gettext(name) != name for name in (*CLASSES, *KINDS.values()))


@pytest.mark.parametrize("name", ["vit", "cct"])
def test_the_shipped_run_is_shown_with_its_cards_numbers(name: str) -> None:
    card = checkpoints.read_card(name)
    text = words(opened(**({"source": "gallery", "item": "3"} if name == "vit" else {})))
    scores = card["metrics"]
    expected = f"{100 * scores['test']['accuracy']:.2f}%" if name == "vit" else f"{100 * scores['photographs']['accuracy']:.1f}%"
    assert expected in text and "89.58%" in text  # the report's
    assert card["command"] in text


def test_a_card_that_tells_of_no_training_gets_one_sentence(vit_with: Callable[..., Path]) -> None:
    vit_with(history=[[1, 2]])
    assert any("does not describe" in error.value for error in opened().error)
