"""The leakage lab's page: every mistake beside the honest score, made beforehand, and again at the press of a button."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from sklearn.metrics import matthews_corrcoef

from core.lecture import leakage
from core.lecture.leakage import MISTAKES, FinishedLab, Mistake, TrainedLab
from core.market.book import BookRows, read_rows
from tests.pages.open_page import open_page, ran, words

PAGE = Path(__file__).parents[3] / "pages" / "learn" / "leakage.py"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[Mistake, ...], TrainedLab]:
    """What the page trains, one epoch each, by its mistakes; nothing kept from elsewhere."""
    st.cache_resource.clear()
    st.cache_data.clear()
    kept, run = {}, leakage.run

    def keep(rows: BookRows, horizon: int, mistakes: tuple[Mistake, ...], **options: Any) -> TrainedLab:
        kept[mistakes] = run(rows, horizon, mistakes, epochs=1, **options)
        return kept[mistakes]

    monkeypatch.setattr(leakage, "run", keep)
    return kept


def test_it_opens_on_a_finished_run_that_a_press_makes_again(trained: dict[tuple[Mistake, ...], TrainedLab]) -> None:
    app = open_page(PAGE)
    example = FinishedLab.read()
    table = app.dataframe[0].value
    assert len(table) == 7 and not trained
    assert table["Matthews"].tolist() == [f"{score.network.mean():.3f}" for score in example.score.values()]
    app.button(key="leakage:train").click()
    table = ran(app).dataframe[0].value
    assert table["Matthews"].iloc[0] == f"{leakage.measure(trained[()]).network.mean():.3f}"
    assert not [button for button in app.button if button.key == "leakage:train"]
    app.toggle(key="leak_epoch").set_value(True)
    app.toggle(key="leak_threshold").set_value(True)
    table = ran(app).dataframe[0].value  # nothing further is to be trained for these two
    assert table["Measured"].iloc[-1] == "those chosen, together"
    assert set(trained) == {(), ("label",), ("shuffle",), ("scaling",), ("threshold",)}
    expected = leakage.measure(trained["threshold",], ["epoch", "threshold"])
    assert table["Matthews"].iloc[-1] == f"{expected.network.mean():.3f}"
    assert "Best epoch by test score." in words(app) and "Shuffled split." not in words(app)


def test_what_was_not_made_beforehand_is_trained_first(trained: dict[tuple[Mistake, ...], TrainedLab]) -> None:
    app = open_page(PAGE, leak_h="50")
    assert not app.dataframe and not trained and app.button(key="leakage:train").label == "Train and measure"


def test_the_finished_run_agrees_with_itself_and_with_the_recording() -> None:
    """Correlations by scikit-learn from its confusion matrices; the threshold and the naive rule anew from the recording."""
    example = FinishedLab.read()
    data = leakage.prepare(read_rows(leakage.RECORDING), example.horizon)
    assert example.alpha == pytest.approx(data.alpha, rel=1e-9) and example.learnt_from == len(data.rows["train"])
    honest = example.score[()]
    assert honest.rows == len(data.labels["test"])
    assert honest.momentum == pytest.approx(matthews_corrcoef(data.labels["test"], data.naive), abs=1e-9)
    assert {way for way in example.score if way} == {(mistake,) for mistake in MISTAKES}
    for score in example.score.values():
        for matrix, correlation in zip(score.called, score.network, strict=True):
            true, said = np.indices((3, 3)).reshape(2, -1)
            again = matthews_corrcoef(np.repeat(true, matrix.ravel()), np.repeat(said, matrix.ravel()))
            assert correlation == pytest.approx(again, abs=1e-9) and matrix.sum() == score.rows
