"""The attention-steps page by Streamlit's own test runner: every widget moves, edits live in the link."""

import re
from itertools import product
from typing import Any

import numpy as np
from scipy.special import softmax
from streamlit.testing.v1 import AppTest

from core.lecture.trained_head import trained_head
from pages.learn import matrix_editor
from pages.shared.navigation import ROOT
from tests.pages.learn.drawn_part import draw, pages
from tests.pages.open_page import open_page, ran, words

PAGE = ROOT / "pages" / "learn" / "attention_steps.py"


def ends_of(widget: Any) -> list[Any]:
    """Both ends of a slider, the other state of a switch, the first and the last choice; not where it stands."""
    if hasattr(widget, "min"):
        ends = [widget.min, widget.max]
    else:
        options = getattr(widget, "options", [False, True])
        ends = [options[0], options[-1]] if options else []
    return [end for end in ends if end != widget.value]


def move_everything(app: AppTest) -> int:
    """Move every widget but the choice of a part, and press every button; returns how many moves were made."""
    moves = 0
    for kind in ("slider", "select_slider", "pills", "segmented_control", "selectbox", "toggle", "checkbox", "button"):
        index = 0
        while index < len(found := getattr(app, kind)):  # a move may take a widget away
            for end in [None] if kind == "button" else ends_of(found[index]):
                widget = getattr(app, kind)[index]
                if widget.key not in ("part", "lang"):
                    widget.click() if kind == "button" else widget.set_value(end)
                    ran(app)
                    moves += 1
            index += 1
    return moves


def test_how_far_the_shown_weights_are_from_the_whole_heads_is_said_of_every_state() -> None:
    head, part = trained_head(), pages()["attention-steps"].part("softmax")
    x, w_q, w_k = (head.matrices[name] for name in ("X", "W_Q", "W_K"))
    length = len(x)
    seen = {"none": np.ones((length, length)), "causal": np.tri(length), "padding": np.arange(length) < length - 2}
    far = set()
    for temperature, mask in product(("0.05", "1", "50"), seen):
        scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]) / float(temperature)
        off = np.abs(softmax(np.where(seen[mask], scores, -np.inf), axis=1) - head.whole).max()
        said = re.search(r"up to ([\d.]+) from", " ".join(draw(part, {"t": temperature, "mask": mask}).told))
        assert said and abs(float(said[1]) - off) <= 0.0051, (temperature, mask)
        far.add(said[1])
    assert len(far) > 4, "the sentence follows the dials"


def test_every_widget_moves_to_its_ends_in_a_run_of_the_page() -> None:
    """What each part of every lesson says at the ends of its dials: `test_every_state`, which runs no page."""
    app = open_page(PAGE, part="heads")
    assert app.info and app.latex
    assert move_everything(app) >= 12


def test_a_link_opens_the_exact_state() -> None:
    app = open_page(PAGE, part="softmax", q="1", t="0.5", mask="causal", twq="0.1_1.5")
    assert r"S_{2}" in words(app) and r"-\infty" in words(app) and "Mask: Causal" in words(app)
    assert app.query_params["twq"] == "0.1_1.5" and app.query_params["mask"] == "causal"
    assert "Words: a b a" in words(open_page(PAGE, part="heads", words="a b a", heads="2"))


def test_the_layer_equals_pytorchs_on_the_page() -> None:
    for link in ({}, {"heads": "4", "t": "0.1"}, {"mask": "padding", "heads": "2"}):
        app = open_page(PAGE, part="heads", **link)
        assert app.success and not app.warning


def test_unusable_words_are_told_and_leave_the_page_alive() -> None:
    app = open_page(PAGE, part="heads", dial="words")
    app.text_input(key="words").set_value("   ").run()
    assert not app.exception and "Write 1 to 12" in app.error[0].value
    assert "?" in app.code[0].value, "the link to this view stays under an error"
    app.text_input(key="words").set_value("one two").run()
    assert not app.exception and not app.error


def test_nonsense_in_a_link_is_harmless() -> None:
    open_page(PAGE, part="?", q="99", t="hot", mask="x", heads="3", twq="9.9_1~a.b_2~0.0_nan", tx="0.0_1e9", seed="many")
    open_page(PAGE, seed="inf", q="9" * 4_400, head="9" * 4_400, twq="0." + "9" * 4_400 + "_1")


def test_edits_survive_the_way_through_a_link() -> None:
    edits = {(0, 1): 1.5, (2, 3): -0.25}
    written = matrix_editor.write_edits(edits)
    assert written == "0.1_1.5~2.3_-0.25"
    assert matrix_editor.read_edits(written, (3, 4)) == edits
    assert matrix_editor.read_edits(written, (1, 4)) == {(0, 1): 1.5}
    assert matrix_editor.read_edits("0.0_1e5~0.1_x", (2, 2)) == {(0, 0): matrix_editor.LARGEST}
    assert matrix_editor.read_edits(f"0.{'9' * 4_400}_1~{'0' * 4_400}.1_2~0.0_{'9' * 4_400}", (2, 2)) == {}
    assert matrix_editor.write_edits({}) is None and matrix_editor.read_edits(None, (2, 2)) == {}


def test_a_models_cost_is_counted_in_the_built_model() -> None:
    app = open_page(PAGE, part="cost", setup="tlob-lean", layer_t="64")
    table = app.dataframe[0].value
    assert table["Parameters, counted"].sum() == 883_179
    assert app.success and not app.warning
    open_page(PAGE, part="cost", setup="?", layer_t="3", layer_d="-1", layer_n="five")
