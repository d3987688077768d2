"""The scoreboard of the live page says since when it scores, and what."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef
from streamlit.testing.v1 import AppTest

from core.market.events import Row, Trade
from core.market.feeds.recording import RecordingFeed
from core.market.follower import Prediction
from core.market.predictor import Predictions
from core.market.session import MarketSession
from tests.core.market.helpers import EXCERPTS, HEADS, START_MS, real_rows, tiny_predictor
from tests.pages.open_page import ran, words


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> MarketSession:
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))
    return MarketSession(RecordingFeed(EXCERPTS[1], market="ABC"), predictor)


def page(session, head, zone):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import live_scores

    live_scores.draw_scores(session, head, zone)


def opened(session: MarketSession, zone: str = "UTC") -> AppTest:
    return ran(AppTest.from_function(page, default_timeout=60, args=(session, 3, zone)))


def test_it_says_since_when(session: MarketSession) -> None:
    """START_MS is 14 November 2023, 22:13:20 UTC. Rows of a market that goes up and down, each with a prediction."""
    p = np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32)
    answer = Predictions(probabilities=p, calls=np.ones((1, len(HEADS)), dtype=np.int8))
    for step, mid in zip(range(300), cycle([100.0, 101.0, 103.0]), strict=False):
        session.follower.board.step(START_MS + 250 * step, mid, answer)
    app = opened(session)
    rules = ["TLOB", "Momentum rule", "Always stationary", "Frequencies so far", "Frequencies lately"]
    assert app.dataframe[0].value["Rule"].tolist() == rules
    assert "295 answers scored since Nov 14, 2023, 10:13:20 PM" in words(app).replace("\u202f", " ")
    assert "since Nov 14, 2023, 11:13:20 PM" in words(opened(session, "Europe/Madrid")).replace("\u202f", " ")


def test_the_distance_to_the_vwap_stands_beside_it(tmp_path: Path) -> None:
    """Once there are trades; its score is scikit-learn's."""
    played = MarketSession(RecordingFeed(EXCERPTS[1], market="ABC"), tiny_predictor(tmp_path, real_rows(1)))
    calls = []
    for row, levels in enumerate(real_rows(1).levels):
        mid = float(levels[0] + levels[2]) / 2
        one = np.ones((1, len(HEADS)), dtype=np.int8)
        p = Predictions(probabilities=np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32), calls=one)
        played.follower.take([Row(START_MS + 250 * row, levels)], [Prediction(p, 0)])
        calls.append(played.follower.board.rule_call(3, "vwap"))
        if row == 200:
            assert "Distance to the VWAP of a minute" not in set(opened(played).dataframe[0].value["Rule"])
        if row >= 200:
            trade = Trade(price=mid - 0.01 * (row % 7), size=1.0 + row % 3, side="buy", exchange_ms=START_MS + 250 * row)
            played.follower.take([trade], [None])
    truth = played.follower.board.log.tail()["came"][:, 3]
    known, mine = truth >= 0, np.array(calls)
    line = opened(played).dataframe[0].value.set_index("Rule").loc["Distance to the VWAP of a minute"]
    assert len(set(mine)) > 1
    assert float(line["Matthews"]) == pytest.approx(matthews_corrcoef(truth[known], mine[known]), abs=6e-4)
