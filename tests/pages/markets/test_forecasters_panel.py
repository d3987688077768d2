"""The panel of forecasters on the live page: running scores, missing answers, and the whole recording."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.market.answers.predictions import predict_rows
from core.market.book import frame_from_rows
from core.market.feeds.recording import RecordingFeed
from core.market.forecasters.catalogue import MomentumForecaster
from core.market.forecasters.comparison import compare
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.store.rows import read_market
from core.service.access import Role
from pages.markets.live_controls import ViewChoices
from tests.core.market.forecasters.test_live_peers import GOOD, By, peers_with, step
from tests.core.market.helpers import HEADS, random_book, tiny_predictor
from tests.pages.open_page import ran, words


def running(session, choices):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import forecasters_panel

    forecasters_panel.show(session, choices)


def over_all(session, choices, whole):  # type: ignore[no-untyped-def]
    import streamlit as st

    from pages.markets import forecasters_panel

    st.session_state[forecasters_panel.CHOSEN] = ["momentum"]
    forecasters_panel.show_whole(session, whole, choices)


def test_running_scores_and_missing_answers_stand_beside_tlobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.service.forecasters.offered", lambda: ["Mine", "a/file.csv"])
    peers = peers_with(By(lambda number: GOOD if number % 3 else [[[0.5, 0.1, 0.1]]]))
    for number in range(6):
        step(peers, 250 * number, 0)
    choices = ViewChoices(head=0, label="forward", horizon=20, heads_of_label=(0,))
    app = AppTest.from_function(running, default_timeout=60, args=(SimpleNamespace(peers=peers), choices))
    assert not ran(app).dataframe
    app.query_params["peers"] = "Mine"
    table = ran(app).dataframe[0].value
    assert table.iloc[0, :4].tolist() == ["Mine", "4", "2", "0.000"]
    assert "Mine gave three probabilities that sum to 0.700: they must sum to 1." in words(app)
    assert app.multiselect[0].options == ["Mine", "a/file.csv"]
    peers.stop()


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), random_book(1_000, 2))


@pytest.fixture
def session(predictor: Predictor, tmp_path: Path) -> MarketSession:
    path = tmp_path / "testville_abc.parquet"
    frame_from_rows(random_book(2_000, 4)).to_parquet(path)
    return MarketSession(RecordingFeed(path, market="ABC", key="recording/testville"), predictor)


def test_a_whole_recording_is_compared_at_the_press_of_a_button(session: MarketSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.forecasters.comparison.FIT_FROM", 200)
    head = 1
    feed: Any = session.feed
    rows = read_market([feed.path])
    whole = predict_rows(session.predictor, rows, session.entry)
    choices = ViewChoices(head=head, label=HEADS[head][0], horizon=HEADS[head][1], heads_of_label=(head,))
    app = ran(AppTest.from_function(over_all, default_timeout=60, args=(session, choices, whole)))
    assert not app.dataframe
    app.button(key="peers:score").click()
    table = ran(app).dataframe[0].value
    peers = {"momentum": MomentumForecaster(session.peers.task)}
    expected = compare(session.predictor, rows, session.entry, peers, spelling="").scores(head)
    assert table["Forecaster"].tolist() == ["TLOB", "Momentum rule"]
    assert table["Log loss"].tolist() == [f"{score.scores.log_loss:.3f}" for score in expected]
    assert table["Samples"].tolist() == [f"{score.scores.samples:,}" for score in expected]
    assert "are fitted on the first fifth of the recording" in words(app)


@pytest.mark.parametrize("role", [Role.STRANGER])
def test_strangers_add_no_forecaster(session: MarketSession) -> None:
    choices = ViewChoices(head=0, label=HEADS[0][0], horizon=HEADS[0][1], heads_of_label=(0,))
    app = ran(AppTest.from_function(over_all, default_timeout=60, args=(session, choices, None)))
    assert "Closed here: adding a forecaster: a file of probabilities." in words(app) and not app.file_uploader
