"""The scoreboard of the live page, and its panels on recalibration and the calls of today: what they say before and after."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef
from streamlit.testing.v1 import AppTest

from core.market.answers.scoreboard import Scoreboard
from core.market.events import Row, Trade
from core.market.feeds.recording import RecordingFeed
from core.market.follower import Prediction
from core.market.predictor import Predictions
from core.market.session import MarketSession
from tests.core.market.helpers import EXCERPTS, HEADS, START_MS, real_rows, tiny_predictor
from tests.pages.open_page import ran, words


@pytest.fixture
def session(tmp_path: Path) -> MarketSession:
    return MarketSession(RecordingFeed(EXCERPTS[1], market="testville ABC"), tiny_predictor(tmp_path, real_rows(1)))


def page(function, *arguments):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import live_scores

    getattr(live_scores, function)(*arguments)


def opened(function: str, session: MarketSession, *more: str) -> AppTest:
    """A function of the page, of the last head."""
    return ran(AppTest.from_function(page, default_timeout=60, args=(function, session, 3, *more)))


def test_it_says_since_when(session: MarketSession) -> None:
    """START_MS is 14 November 2023, 22:13:20 UTC. Rows of a market that goes up and down, each with a prediction."""
    p = np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32)
    answer = Predictions(probabilities=p, calls=np.ones((1, len(HEADS)), dtype=np.int8))
    for step, mid in zip(range(300), cycle([100.0, 101.0, 103.0]), strict=False):
        session.follower.board.step(START_MS + 250 * step, mid, answer)
    app = opened("draw_scores", session)
    rules = ["TLOB", "Momentum rule", "Always stationary", "Frequencies so far", "Frequencies lately"]
    assert app.dataframe[0].value["Rule"].tolist() == rules
    assert "295 answers scored since Nov 14, 2023, 10:13:20 PM" in words(app).replace("\u202f", " ")
    assert "since Nov 14, 2023, 11:13:20 PM" in words(opened("draw_scores", session, "Europe/Madrid")).replace("\u202f", " ")


def test_the_distance_to_the_vwap_stands_beside_it(session: MarketSession) -> None:
    """Once there are trades; its score is scikit-learn's."""
    calls = []
    for row, levels in enumerate(real_rows(1).levels):
        mid = float(levels[0] + levels[2]) / 2
        one = np.ones((1, len(HEADS)), dtype=np.int8)
        p = Predictions(probabilities=np.full((1, len(HEADS), 3), 1 / 3, dtype=np.float32), calls=one)
        session.follower.take([Row(START_MS + 250 * row, levels)], [Prediction(p, 0)])
        calls.append(session.follower.board.rule_call(3, "vwap"))
        if row == 200:
            assert "Distance to the VWAP of a minute" not in set(opened("draw_scores", session).dataframe[0].value["Rule"])
        if row >= 200:
            trade = Trade(price=mid - 0.01 * (row % 7), size=1.0 + row % 3, side="buy", exchange_ms=START_MS + 250 * row)
            session.follower.take([trade], [None])
    truth = session.follower.board.log.tail()["came"][:, 3]
    known, mine = truth >= 0, np.array(calls)
    line = opened("draw_scores", session).dataframe[0].value.set_index("Rule").loc["Distance to the VWAP of a minute"]
    assert len(set(mine)) > 1
    assert float(line["Matthews"]) == pytest.approx(matthews_corrcoef(truth[known], mine[known]), abs=6e-4)


def play(session: MarketSession, steps: int, *, own_thresholds: bool = False) -> None:
    """A walk whose calls of Up come true somewhat more often than not."""
    board = session.follower.board = Scoreboard(session.predictor.heads, session.entry.alphas, own_thresholds=own_thresholds)
    rng = np.random.default_rng(0)
    mids = 100 + np.cumsum(rng.choice([-0.01, 0.0, 0.01], steps + 5))
    for i in range(steps):
        ahead = int(np.sign(round(mids[i + 1 : i + 6].mean() - mids[i], 6))) + 1
        call = ahead if rng.random() < 0.7 else int(rng.integers(3))
        p = np.full((1, len(HEADS), 3), 0.15, dtype=np.float32)
        p[..., call] = 0.7
        calls = np.full((1, len(HEADS)), call, dtype=np.int8)
        answer = Predictions(probabilities=p, calls=calls)
        board.step(START_MS + 250 * i, float(mids[i]), answer, spread=0.01)


def test_calls_of_the_day_are_listed_newest_first_with_what_each_was_worth(session: MarketSession) -> None:
    play(session, 5)
    assert "Nothing has been called and traded yet." in words(opened("show_calls", session))
    play(session, 700)
    app = opened("show_calls", session)
    table = app.dataframe[0].value
    calls = session.traded_calls(3).iloc[::-1].reset_index(drop=True)
    assert len(table) == len(calls) > 10
    names = ["Down", "Stationary", "Up", ""]
    assert table["Called"].tolist() == [names[call] for call in calls["call"]]
    assert table["What happened"].tolist() == [names[came] for came in calls["came"]]
    assert table["Probability"].tolist() == [f"{100 * p:.1f}%" for p in calls["probability"]]
    np.testing.assert_allclose(table["Worth after spread and fees, bps"], calls["result_bps"] - 20, atol=0.005)
    app.slider(key="fee").set_value(2.0).run()  # a taker pays 10 basis points a fill until the reader says less
    np.testing.assert_allclose(app.dataframe[0].value["Worth after spread and fees, bps"], calls["result_bps"] - 4, atol=0.005)


def test_an_unknown_market_is_told_whose_threshold_it_has(session: MarketSession) -> None:
    play(session, 300, own_thresholds=True)
    said = words(opened("describe_recalibration", session))
    assert "first quarter hour is over, a move counts from" in said
    play(session, 300)
    said = words(opened("describe_recalibration", session))
    weights = session.adaptive(3).weights
    assert "the card's threshold for this market" in said
    assert f"a third each {100 * weights[0]:.0f}%, class rates so far {100 * weights[1]:.0f}%" in said
