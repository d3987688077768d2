"""The scoreboard of the live page says since when it scores, and says nothing twice."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import matthews_corrcoef
from streamlit.testing.v1 import AppTest

from core.market.answers.scoreboard import ROLLING
from core.market.events import Row
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import Predictions
from core.market.session import MarketSession
from pages.markets.live_controls import ViewChoices
from tests.core.market.helpers import EXCERPTS, HEADS, START_MS, real_rows, tiny_predictor
from tests.pages.open_page import ran, words


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> MarketSession:
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))
    return MarketSession(RecordingFeed(EXCERPTS[1], market="ABC"), predictor)


def page(session, choices, zone):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import live_scores

    live_scores.draw_scores(session, choices, zone)


def opened(session: MarketSession, zone: str = "UTC") -> AppTest:
    choices = ViewChoices(head=3, label="forward", horizon=5, heads_of_label=(3,))
    return ran(AppTest.from_function(page, default_timeout=60, args=(session, choices, zone)))


def score(session: MarketSession, steps: int, first: int = 0, p: NDArray[np.float32] | None = None) -> None:
    """Rows of a market that goes up and down, each with a prediction."""
    p = np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32) if p is None else p
    calls = np.ones((1, len(HEADS)), dtype=np.int8)
    answer = Predictions(probabilities=p, calls=calls, momentum=calls)
    for step, mid in zip(range(first, first + steps), cycle([100.0, 101.0, 103.0]), strict=False):
        session._board.step(START_MS + 250 * step, mid, answer)


def test_it_says_since_when_and_nothing_twice(session: MarketSession) -> None:
    """START_MS is 14 November 2023, 22:13:20 UTC."""
    score(session, 300)
    app = opened(session)
    assert set(app.dataframe[0].value["Over"]) == {"all"}
    assert "295 predictions scored since Nov 14, 2023, 10:13:20 PM" in words(app).replace("\u202f", " ")
    assert "since Nov 14, 2023, 11:13:20 PM" in words(opened(session, "Europe/Madrid")).replace("\u202f", " ")
    score(session, ROLLING, first=300)
    assert set(opened(session).dataframe[0].value["Over"]) == {"all", "last 1,000"}


def test_it_says_where_saying_a_third_each_would_have_been_better(session: MarketSession) -> None:
    """A market that only ever moves, and a model that all but excludes it: a loss of ln 20 and more a row."""
    assert "saying a third each" not in words(opened(session))  # it has said a third each until now
    sure = np.tile(np.array([0.05, 0.9, 0.05], dtype=np.float32), (1, len(HEADS), 1))
    score(session, 600, first=300 + ROLLING, p=sure)
    app = opened(session)
    board = app.dataframe[0].value.set_index("Rule")
    losses = board[board["Over"] == "all"]["Log loss"]
    assert float(losses["TLOB"]) > float(losses["A third each"]) == pytest.approx(np.log(3), abs=6e-4)
    assert f"TLOB's log loss of {losses['TLOB']} is above 1.099" in words(app)


def test_the_distance_to_the_vwap_stands_beside_it(tmp_path: Path) -> None:
    """Once there are trades; its score is scikit-learn's."""
    played = MarketSession(RecordingFeed(EXCERPTS[1], market="ABC"), tiny_predictor(tmp_path, real_rows(1)))
    for row, levels in enumerate(real_rows(1).levels):
        mid = float(levels[0] + levels[2]) / 2
        one = np.ones((1, len(HEADS)), dtype=np.int8)
        p = Predictions(probabilities=np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32), calls=one, momentum=one)
        played._add_row(Row(START_MS + 250 * row, levels), p, 0)
        if row == 200:
            assert "Distance to the VWAP of a minute" not in set(opened(played).dataframe[0].value["Rule"])
        if row >= 200:
            played._vwap.trade(START_MS + 250.0 * row, mid - 0.01 * (row % 7), 1.0 + row % 3)
    log = played.view(4_800).predictions
    known = log["truth"][:, 3] >= 0
    truth, mine = log["truth"][known, 3], log["vwap"][known]
    line = opened(played).dataframe[0].value.set_index("Rule").loc["Distance to the VWAP of a minute"]
    assert line["Over"] == "all" and len(set(mine)) > 1
    assert float(line["Matthews"]) == pytest.approx(matthews_corrcoef(truth, mine), abs=6e-4)
