""" "Predict first": the question of every part, against what the part shows once its dial stands there."""

import math
import re
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.lecture.trained_head import trained_head
from pages.shared.navigation import ROOT
from tests.pages.learn.drawn_part import draw, parts
from tests.pages.open_page import open_page, ran

PARTS = {f"{url}-{part.code}": part for url, part in parts()}


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_a_number_to_ask_about_and_it_is_finite_there_and_here(name: str) -> None:
    part = PARTS[name]
    here = draw(part)
    if name == "transformer-see":  # has a text alone
        assert here.view.asked is None
        return
    assert here.view.asked is not None
    code = here.turned.asked
    assert code is not None
    dial = here.turned.dials[code]
    assert dial.elsewhere is not None and not dial.reads
    there = dial.elsewhere(here.turned.values[code])
    then = draw(part, dict(there.kept))
    assert then.turned.values[code] == there.value != here.turned.values[code]
    assert then.view.asked is not None
    assert all(math.isfinite(asked()[1]) for asked in (here.view.asked, then.view.asked))


def revealed(app: AppTest) -> str:
    app.button(key="predict_reveal").click()
    ran(app)
    return str(app.info[0].value)


def asked_of(page: str, **query: Any) -> AppTest:
    return open_page(ROOT / "pages" / "learn" / f"{page}.py", ask="true", **query)


def scores() -> torch.Tensor:
    """Of the trained head: Q K^T by the root of its four channels."""
    x, w_q, w_k = (torch.tensor(trained_head().matrices[name]) for name in ("X", "W_Q", "W_K"))
    return (x @ w_q) @ (x @ w_k).T / 2


def test_a_higher_temperature_evens_the_row_out() -> None:
    app, row = asked_of("attention_steps", part="softmax", dial="t"), scores()[trained_head().tokens.index("it")]
    now, then = (float((row / temperature).softmax(0).max()) for temperature in (1.0, 1.5))
    assert revealed(app) == f"**It falls.** The largest weight of “it”: {now:.3g} → {then:.3g}."
    app.button(key="predict_walk").click()
    ran(app)
    assert app.query_params["t"] == "1.5"


def next_question(app: AppTest) -> list[str]:
    """Leaves the answer for the question of the next kind; its options."""
    if not app.info:
        revealed(app)
    app.button(key="predict_next").click()
    ran(app)
    return [one.label for one in app.button if str(one.key).startswith("predict_hand_")]


def test_the_next_question_is_how_large() -> None:
    app = asked_of("attention_steps", part="cost", cost_dial="t")
    assert len(next_question(app)) == 5
    answer, before, after = re.findall(r"\*\*(.*)\.\*\* .*: (\S+) → (\S+)\.", revealed(app))[0]
    assert {1: "About as large", 2: "About twice"}[round(float(after) / float(before))] == answer


def test_the_next_question_is_where_most_moves() -> None:
    app = asked_of("attention_steps", part="softmax", dial="t")
    most = int(((scores() / 1.5).softmax(1) - scores().softmax(1)).abs().amax(1).argmax())
    options, token = next_question(app), trained_head().tokens[most]
    assert len(options) == 4 and f"{most + 1} · {token}" in options
    assert revealed(app).startswith(f"**{most + 1} · {token}.** Most moved **{token}**")
    assert len(next_question(app)) == 3 and not app.info  # the first kind again, not yet answered


def test_a_class_raises_its_hands_and_the_verdict_counts_them() -> None:
    app = asked_of("attention_steps", part="softmax", dial="t")
    for option in (2, 0, 2):
        app.button(key=f"predict_hand_{option}").click()
        ran(app)
    labels = [app.button(key=f"predict_hand_{option}").label for option in range(3)]
    assert labels == ["it rises · 1", "it stays the same", "it falls · 2"]
    assert revealed(app).endswith(" 2 of 3 hands said so.")


@pytest.mark.parametrize(
    ("page", "query", "answer"),
    [
        ("norms", {"part": "softmax"}, "stays the same"),
        ("norms", {"part": "dropout"}, "rises"),
        ("attention_steps", {"part": "roles", "role": "v", "dial": "role"}, "rises"),
        ("attention_steps", {"part": "heads", "heads": "2", "dial": "heads"}, "rises"),
        ("positions", {"part": "scale"}, "rises"),
        ("permutation", {"part": "rows", "dial": "places"}, "rises"),
        ("attention_steps", {"part": "cost", "cost_dial": "t"}, "rises"),
    ],
)
def test_what_theory_says(page: str, query: dict[str, Any], answer: str) -> None:
    """A softmax does not see what is added to all, a value moves no weight, positions break Z' = PZ."""
    assert re.search(rf"\*\*It {answer}\.\*\*", revealed(asked_of(page, **query)))


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("transformer", {"part": "layer", "tf_place": "19"}),  # the answer has fewer symbols than the date
        ("backprop", {"part": "attention", "bp_dial": "operation"}),  # each operation has gradients of its own
    ],
)
def test_no_question_asks_of_a_state_that_the_dials_cannot_reach(page: str, query: dict[str, Any]) -> None:
    asked = " ".join(str(one.value) for one in asked_of(page, **query).markdown)
    assert "What happens to" in asked and "“Operation” goes" not in asked
