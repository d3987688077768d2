"""The panels on recalibration and on the calls of today: what they say before, while and after enough is known."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.market.answers.scoreboard import Scoreboard
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import Predictions
from core.market.session import MarketSession
from tests.core.market.helpers import EXCERPTS, HEADS, START_MS, real_rows, tiny_predictor
from tests.pages.open_page import ran, words


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> MarketSession:
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))
    return MarketSession(RecordingFeed(EXCERPTS[1], market="testville ABC"), predictor)


def recalibration_page(session, head):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import call_value

    call_value.describe_recalibration(session, head)


def calls_page(session, head):  # type: ignore[no-untyped-def]
    from pages.markets import call_value

    call_value.show_calls(session, head)


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
    assert "Nothing has been called and traded yet." in words(ran(AppTest.from_function(calls_page, args=(session, 3))))
    play(session, 700)
    app = ran(AppTest.from_function(calls_page, args=(session, 3)))
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
    said = words(ran(AppTest.from_function(recalibration_page, args=(session, 3))))
    assert "first quarter hour is over, a move counts from" in said
    play(session, 300)
    said = words(ran(AppTest.from_function(recalibration_page, args=(session, 3))))
    weights = session.adaptive(3).weights
    assert "the card's threshold for this market" in said
    assert f"a third each {100 * weights[0]:.0f}%, class rates so far {100 * weights[1]:.0f}%" in said
