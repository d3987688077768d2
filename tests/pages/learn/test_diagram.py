"""A lesson's diagram and what moved, on the page: numbers equal those of the equation, a change is told and taken back."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

from streamlit.testing.v1 import AppTest

from core.figures.learn.diagrams.drawing import fitted, label_width
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

ATTENTION = ROOT / "pages" / "learn" / "attention_steps.py"


def drawn(app: AppTest) -> dict[str, Any]:
    """What the diagram's component was given."""
    found = [json.loads(element.proto.bytes) for element in app.get("bidi_component")]
    return next(one for one in found if "wide" in one)


def texts(app: AppTest) -> list[str]:
    root = ElementTree.fromstring(drawn(app)["wide"])
    return ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]


def test_the_wires_have_the_numbers_of_the_equation() -> None:
    app = open_page(ATTENTION, part="softmax", draw="random", t="0.5", q="1")
    equation = " ".join(one.value for one in app.latex)
    row = re.search(r"A_\{2\} &= \\begin\{bmatrix\}(.*?)\\end", equation)
    assert row
    weights = [float(one) for one in row[1].split(" & ")]
    wire = next(text for text in texts(app) if text.startswith("A2,"))
    column, value = re.fullmatch(r"A2,(\d) = ([\d.]+)", wire).groups()  # type: ignore[union-attr]
    assert abs(weights[int(column) - 1] - float(value)) <= 0.005 + 1e-9 and weights[int(column) - 1] == max(weights)


def test_the_diagram_multiplies_the_two_positions_of_the_equation() -> None:
    app = open_page(ROOT / "pages" / "learn" / "positions.py", part="similarity", pos="40")
    product = re.search(r"PE_\{40\} \\cdot PE_\{37\} = ([\d.]+)", " ".join(one.value for one in app.latex))
    shown = texts(app)
    assert product and abs(float(product[1]) - float(shown[shown.index("PE40 · PE37") + 1])) <= 0.005


def test_the_diagram_speaks_the_readers_language_and_links_to_parts() -> None:
    app = open_page(ATTENTION, part="sum", lang="es", t="0.5")
    root = ElementTree.fromstring(drawn(app)["narrow"])
    assert root.get("aria-label") == "Diagrama de bloques de la atención"
    links = {one.get("data-part"): one.get("href") for one in root.iter() if one.get("data-part")}
    assert set(links) == {"project", "scores", "softmax", "sum", "heads"}
    assert links["scores"] == "?part=scores&lang=es&t=0.5"
    assert any(text.endswith("τ = 0,50") for text in texts(app))


def test_a_change_is_told_and_taken_back() -> None:
    app = open_page(ATTENTION, part="softmax", draw="random")
    assert "Most moved" not in words(app)
    app.select_slider(key="t").set_value("0.5")
    assert "Most moved" in words(ran(app)) and "Every row moved" in words(app)
    undo = next(button for button in app.button if button.label == "Undo")
    undo.click()
    ran(app)
    assert app.select_slider(key="t").value == "1"


def test_a_causal_mask_leaves_the_last_row_alone() -> None:
    app = open_page(ATTENTION, part="softmax", draw="random")
    next(one for one in app.button_group if one.key == "mask").set_value("causal")
    assert re.search(r"Did not move: mat\.", words(ran(app)))


def test_a_shuffle_without_positions_moves_no_words_output() -> None:
    app = open_page(ROOT / "pages" / "learn" / "permutation.py")
    next(button for button in app.button if button.label == "Reverse").click()
    assert "No word's output changed" in words(ran(app))
    app.toggle(key="places").set_value(True)
    assert "Most moved" in words(ran(app))


def test_a_wires_numbers_stay_between_the_blocks() -> None:
    """By the size of a letter: no label beside a wire of the permutation's lesson is wider than the wire is long."""
    gap = "\u00a0"
    label = f"−1.06{gap * 2}0.93{gap}…"
    assert fitted(label, label_width(label)) == label and fitted(label, 60) == f"−1.06{gap}…" and fitted("PX", 1) == "PX"
    root = ElementTree.fromstring(drawn(open_page(ROOT / "pages" / "learn" / "permutation.py"))["wide"])
    rects = [one for one in root.iter() if one.tag.endswith("rect")]
    boxes = [tuple(float(one.get(side, "0")) for side in ("x", "y", "width", "height")) for one in rects]
    for group in (one for one in root.iter() if one.get("class") == "diagram-numbers"):
        (text,) = (one for one in group if one.tag.endswith("text"))
        x, y = float(text.get("x", "0")), float(text.get("y", "0"))
        half = label_width("".join(text.itertext())) / 2
        assert not any(x + half > left and x - half < left + w and y > top and y - 9 < top + h for left, top, w, h in boxes)
