"""The page of the training run, by Streamlit's own test runner."""

from __future__ import annotations

import json
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
    return open_page(ROOT / "pages" / "images" / "training.py", **query)


def test_every_class_can_be_named_in_the_readers_language() -> None:
    assert all(catalogue("es").gettext(name) != name for name in (*CLASSES, *KINDS.values()))


def test_the_shipped_run_is_shown_with_its_cards_numbers() -> None:
    card = checkpoints.read_card("vit")
    text = words(opened())
    assert f"{100 * card['metrics']['validation']['accuracy']:.2f}%" in text
    assert "89.58%" in text  # the report's
    assert card["command"] in text


def test_without_a_checkpoint_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    assert "no garment model" in words(opened())


def test_a_card_that_tells_of_no_training_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = checkpoints.read_card("vit") | {"history": [[1, 2]]}
    (tmp_path / "vit.json").write_text(json.dumps(card))
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    app = opened()
    assert len(app.error) == 1 and "does not describe" in app.error[0].value and not app.header


def test_the_run_of_the_model_that_answers_photographs_can_be_chosen() -> None:
    card = checkpoints.read_card("cct")
    text = words(opened(run="cct"))
    assert f"{100 * card['metrics']['photographs']['accuracy']:.1f}%" in text and card["command"] in text
