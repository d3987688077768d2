"""The whole of a recording on the live page: scored at the press of a button, kept once whole, and jumped through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.market.answers.predictions import RowPredictions, evaluate, predict_rows, summarise_value
from core.market.book import frame_from_rows
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import Predictor
from core.market.session import MarketSession
from pages.markets import whole_recording
from pages.markets.live_controls import ViewChoices
from pages.shared.kept_results import forget_all
from tests.core.market.helpers import EXCERPTS, HEADS, real_rows, tiny_predictor
from tests.pages.open_page import ran, words

HEAD = 3


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))


@pytest.fixture
def session(predictor: Predictor) -> Iterator[MarketSession]:
    forget_all()
    yield MarketSession(RecordingFeed(EXCERPTS[1], market="ABC", key="recording/testville"), predictor)
    forget_all()


def page(session, choices):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import whole_recording

    whole_recording.show(session, choices)


def opened(session: MarketSession) -> AppTest:
    kind, horizon = HEADS[HEAD]
    choices = ViewChoices(head=HEAD, label=kind, horizon=horizon, heads_of_label=(HEAD,))
    return ran(AppTest.from_function(page, default_timeout=60, args=(session, choices)))


def feed_of(session: MarketSession) -> RecordingFeed:
    assert isinstance(session.feed, RecordingFeed)
    return session.feed


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=f"whole:{key}").click()
    return ran(app)


def test_the_board_of_the_whole_is_the_evaluations(session: MarketSession) -> None:
    app = opened(session)
    assert not app.dataframe and [button.key for button in app.button] == ["whole:score"]
    table = press(app, "score").dataframe[0].value
    expected = evaluate(session.predictor, real_rows(1), session.entry, heads=[HEAD])[0].summary()
    whole = table[table["Over"] == "whole recording"].set_index("Forecaster")
    naive = ["Momentum rule", "Always stationary", "A third each", "Frequencies so far", "Frequencies lately"]
    assert list(whole.index) == ["TLOB", *naive]
    assert set(whole["Samples"]) == {str(expected["samples"])}
    for name, scores in {"TLOB": expected, **dict(zip(whole.index[1:], expected["baselines"].values(), strict=True))}.items():
        assert float(whole["Macro-F1"][name]) == pytest.approx(scores["macro_f1"], abs=6e-4)
        assert float(whole["Matthews"][name]) == pytest.approx(scores["matthews"], abs=6e-4)
        loss = whole["Log loss"][name]
        assert float(loss or "nan") == pytest.approx(scores.get("log_loss", float("nan")), abs=6e-4, nan_ok=True)
    assert float(whole["Calibration error"]["TLOB"].rstrip("%")) / 100 == pytest.approx(expected["ece"], abs=6e-4)
    assert set(table[table["Over"] == "so far"]["Samples"]) == {"0"}


def test_the_worth_of_the_whole_recordings_calls_is_the_evaluations(session: MarketSession) -> None:
    app = press(opened(session), "score")
    shown = app.dataframe[1].value.set_index("Forecaster")
    found = predict_rows(session.predictor, real_rows(1), session.entry)
    expected = summarise_value(found, HEAD)["value"]
    for name, rule in (("TLOB", "tlob"), ("Momentum rule", "momentum")):
        worth = expected[rule]
        assert shown["Rows called"][name] == f"{worth['coverage']:.1%}"
        assert shown["Trades"][name] == f"{worth['taker']['trades']:,}"
        assert float(shown["Break-even fee, bps"][name]) == pytest.approx(worth["taker"]["break_even_fee_bps"], abs=6e-3)
        assert float(shown["Move after a call, bps"][name].split()[0]) == pytest.approx(worth["move_bps"]["value"], abs=6e-3)
    assert any(text.value.startswith("Luck:") for text in app.markdown)


def test_what_one_viewer_scored_is_not_told_to_another_of_other_rows(predictor: Predictor, tmp_path: Path) -> None:
    """A day has more hours by now, or another recording has the name of one that was deleted."""
    forget_all()
    rows, hours = real_rows(1), [tmp_path / "rows_1.parquet", tmp_path / "rows_2.parquet"]
    half = len(rows) // 2
    for path, part in zip(hours, (rows[:half], rows[half:]), strict=True):
        frame_from_rows(part).to_parquet(path)

    def session_of(*paths: Path) -> MarketSession:
        return MarketSession(RecordingFeed(paths, market="ABC", key="recording/testville"), predictor)

    press(opened(session_of(hours[0])), "score")
    grown = session_of(*hours)
    shown = press(opened(grown), "score").dataframe[1].value.set_index("Forecaster")
    expected = summarise_value(predict_rows(predictor, rows, grown.entry), HEAD)["value"]["tlob"]
    assert shown["Trades"]["TLOB"] == f"{expected['taker']['trades']:,}"
    frame_from_rows(rows[half:]).to_parquet(hours[0])
    assert not opened(session_of(hours[0])).dataframe
    forget_all()


def test_it_is_computed_once_for_all_viewers(session: MarketSession, monkeypatch: pytest.MonkeyPatch) -> None:
    press(opened(session), "score")
    monkeypatch.setattr(whole_recording, "predict_rows", None)
    assert len(opened(session).dataframe) == 2  # scores, and what calls were worth


def test_a_stopped_run_leaves_nothing(session: MarketSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, progress: Callable[[int, int], None], **options: Any) -> RowPredictions:
        def move(done: int, total: int) -> None:
            progress(done, total)
            st.rerun()  # as another press on the page does

        return predict_rows(*arguments, progress=move, **options)

    monkeypatch.setattr(whole_recording, "predict_rows", stopped)
    app = press(opened(session), "score")
    assert not app.dataframe and [button.key for button in app.button] == ["whole:score"]
    monkeypatch.undo()
    assert len(press(app, "score").dataframe) == 2


def test_jumps_play_from_five_seconds_before(session: MarketSession, predictor: Predictor) -> None:
    found, feed = predict_rows(predictor, real_rows(1), session.entry), feed_of(session)
    app = press(opened(session), "score")
    feed.seek(100)
    first = found.next_run(HEAD, 100, wrong=True)
    assert first is not None
    second = found.next_run(HEAD, first, wrong=True)
    assert second is not None
    press(app, "mistake")
    assert feed.position == first - 20
    assert app.query_params["at"] == str((first - 20) // 4)
    assert "TLOB calls" in words(app) and "what happens: " in words(app)
    press(app, "mistake")
    assert feed.position == second - 20
    press(app, "back")
    assert feed.position == first - 20
    feed.seek(200)  # the playback has gone on: the jump is from there
    press(app, "call")
    assert feed.position == (found.next_run(HEAD, 200) or 0) - 20


def test_past_the_last_mistake_it_says_so_and_stays(session: MarketSession) -> None:
    app, feed = press(opened(session), "score"), feed_of(session)
    feed.seek(399)
    press(app, "mistake")
    assert feed.position == 399
    assert [toast.value for toast in app.toast] == ["There is no further one in this direction."]


def test_a_feed_that_is_no_recording_has_none(session: MarketSession) -> None:
    class Unplayed:
        key, market = "live/testville/ABC", "ABC"

    session.feed = Unplayed()  # type: ignore[assignment]
    app = opened(session)
    assert not app.header and not app.button


def test_another_file_is_not_yet_scored(session: MarketSession) -> None:
    press(opened(session), "score")
    other = MarketSession(RecordingFeed(EXCERPTS[2], market="ABC", key="recording/testville"), session.predictor)
    assert [button.key for button in opened(other).button] == ["whole:score"]
