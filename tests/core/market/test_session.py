"""A session with scripted feeds: warm-up, gaps, predictions, statuses, winding back, and all kinds of ends."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from core.market.answers.predictions import HeadResult, evaluate
from core.market.book import BookRows, OrderBookSnapshot
from core.market.events import Trade
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import FeedEvent, FeedFailed, Status, StatusChange
from core.market.meters import REGISTRY, STAGES
from core.market.predictor import Predictor, windows_of
from core.market.session import KEPT_ROWS, MarketSession
from tests.core.market.feeds_for_tests import PlayedOnce, ScriptedFeed, Step, books, finished, replaying, running, wait_until
from tests.core.market.helpers import HEADS, KeptSteps, confirmed, frame_from_rows, random_book, real_rows, with_hole, with_stall

ROWS = real_rows(4)
FLOAT32 = 1e-5
"""Batches of different sizes are summed in different orders: some tens of float32's steps of 6e-8 for a probability."""
GAP, LIVE = StatusChange(state=Status.REPLAYING, gap=True), StatusChange(state=Status.LIVE)


def expected_predictions(predictor: Predictor, rows: BookRows, ends: list[int]) -> np.ndarray:
    return predictor.predict(windows_of(rows.levels, ends, predictor.window), predictor.markets["pooled"]).probabilities


def same_scores(session: MarketSession, head: int, expected: HeadResult) -> None:
    """The naive rules' scores are those of a file, of the answers there are as many."""
    found = session.answer_score(head)
    assert found.outcomes == expected.scores["tlob"].samples
    for rule in ("momentum", "stationary", "frequencies", "decayed"):
        assert found.scores[rule].confusion.tolist() == expected.scores[rule].confusion.tolist()


# -- rows and predictions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [1, 7, 1_000_000], ids=["one by one", "a few at a time", "all at once"])
def test_predictions_are_those_of_the_predictor_however_rows_arrive(predictor: Predictor, together: int) -> None:
    rows = ROWS[:150]
    session = finished(predictor, replaying(rows), together=together)
    view = session.view()
    assert np.array_equal(view.timestamps, rows.timestamps)
    assert np.array_equal(view.levels, rows.levels)
    assert view.step == session.step == 150
    ends = list(range(predictor.window - 1, 150))
    assert view.predictions["timestamp"].tolist() == rows.timestamps[ends].tolist()
    np.testing.assert_allclose(view.predictions["probabilities"], expected_predictions(predictor, rows, ends), atol=FLOAT32)
    np.testing.assert_allclose(view.predictions["mid"], rows.mid[ends])


def test_a_recording_played_through_scores_as_its_file_does(predictor: Predictor, tmp_path: Path) -> None:
    """The whole path at once: file, feed, sampler, model, score; with a hole in the file."""
    rows = with_hole(ROWS, 150, 9)
    path = tmp_path / "holed.parquet"
    frame_from_rows(rows).to_parquet(path)
    session = MarketSession(PlayedOnce(path, market="XYZ", lead=60), predictor)
    asyncio.run(session.run())
    assert np.array_equal(session.view().timestamps, rows.timestamps)
    for head, expected in enumerate(evaluate(predictor, rows, predictor.markets["pooled"])):
        same_scores(session, head, expected)
    assert session.status_now()[0] is Status.ENDED


def test_what_is_recorded_is_called_at_every_row_though_nobody_watches(predictor: Predictor) -> None:
    session, lines = MarketSession(ScriptedFeed(replaying(ROWS[:60]), ends=True), predictor), KeptSteps()
    session.rests = True
    session.record(lines, ())
    asyncio.run(session.run())
    written = [one.followed.line(0) for one in lines.steps if one.followed is not None]
    assert [line is not None for line in written] == [row >= predictor.window - 1 for row in range(60)]


def test_the_feeds_name_picks_the_markets_entry(predictor: Predictor) -> None:
    for key, market, name in (("live/testville/ABC/USD", "ABC/USD", "testville"), ("simulated/1", "simulated", "pooled")):
        assert MarketSession(ScriptedFeed([], key=key, market=market), predictor).entry.name == name


def test_a_view_is_a_copy_of_what_was_asked_for(predictor: Predictor) -> None:
    session = finished(predictor, replaying(ROWS[:100]))
    view = session.view(30)
    assert np.array_equal(view.timestamps, ROWS.timestamps[70:100])
    assert view.predictions["timestamp"].tolist() == ROWS.timestamps[70:100].tolist()
    view.levels[:] = 0
    view.predictions["mid"] = 0
    assert session.view(30).levels.min() > 0
    assert session.view(30).predictions["mid"].min() > 0


def test_old_rows_are_let_go_and_the_rest_stays_whole(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.session.KEPT_ROWS", 40)
    assert KEPT_ROWS > 1_000
    rows = random_book(300, 3)
    session = finished(predictor, replaying(rows), together=50)
    view = session.view(10_000)
    assert np.array_equal(view.timestamps, rows.timestamps[-40:])
    assert np.array_equal(view.levels, rows.levels[-40:])
    assert view.predictions["timestamp"].tolist() == rows.timestamps[-40:].tolist()
    assert len(confirmed(session)) == 300 - predictor.window + 1  # the log reaches further back


# -- warm-up and gaps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 23, 24, 60])
def test_warm_up_counts_to_a_window(predictor: Predictor, loop: BackgroundLoop, count: int) -> None:
    session = running(loop, predictor, ScriptedFeed(replaying(ROWS[:count])))
    wait_until(lambda: session.step == count and session.status_now()[0] is not Status.CONNECTING)
    view = session.view()
    assert view.warm == min(count, 24)
    assert session.status_now()[0] is (Status.WARMING if count < 24 else Status.REPLAYING)
    assert len(view.predictions) == max(0, count - 23)


def test_a_gap_starts_the_warm_up_anew(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed(replaying(ROWS[:40]))
    session = running(loop, predictor, feed, 40)
    feed.send(GAP)
    wait_until(lambda: session.view().warm == 0)
    assert session.status_now()[0] is Status.WARMING
    feed.send(*books(ROWS[40:60]))
    wait_until(lambda: session.step == 60)
    assert session.view().warm == 20
    feed.send(*books(ROWS[60:70]))
    wait_until(lambda: session.step == 70)
    view = session.view()
    assert view.warm == 24
    assert session.status_now()[0] is Status.REPLAYING
    # rows 40 to 62 are not predicted on; 63 is the first to end a window after the gap
    assert view.predictions["timestamp"].tolist() == ROWS.timestamps[[*range(23, 40), *range(63, 70)]].tolist()
    np.testing.assert_allclose(
        view.predictions["probabilities"][-7:], expected_predictions(predictor, ROWS, list(range(63, 70))), atol=FLOAT32
    )
    # of those before it the outcome is known: no row is missing, and each was confirmed
    assert (view.predictions["came"][:17, 0] >= 0).all()


def test_predictions_before_an_unannounced_hole_have_no_outcome_beyond_it(predictor: Predictor) -> None:
    rows = with_hole(ROWS[:120], 60, 100)  # 25 seconds: more than the sampler carries
    session = finished(predictor, replaying(rows))
    log, view = confirmed(session), session.view()
    before = log[log["timestamp"] < rows.timestamps[60]]
    for place, (_kind, horizon) in enumerate(HEADS):
        known = before["came"][:, place] >= 0
        assert known[-horizon - 1] and not known[-horizon:].any()
    assert view.warm == 24
    assert np.array_equal(view.timestamps, rows.timestamps)  # nothing is carried into the hole
    assert log["timestamp"][len(before) :].tolist() == rows.timestamps[60 + 23 :].tolist()


def test_winding_back_starts_score_and_view_anew(predictor: Predictor) -> None:
    again = [GAP, *books(ROWS[20:90])]
    session = finished(predictor, [*replaying(ROWS[:200]), *again])
    view = session.view()
    assert np.array_equal(view.timestamps, ROWS.timestamps[20:90])
    assert view.predictions["timestamp"].tolist() == ROWS.timestamps[43:90].tolist()
    for head, expected in enumerate(evaluate(predictor, ROWS[20:90], predictor.markets["pooled"])):
        same_scores(session, head, expected)
    assert view.step == 270  # steps go on: a viewer never sees them fall


def test_jumping_ahead_keeps_the_score(predictor: Predictor) -> None:
    script = [*replaying(ROWS[:100]), GAP, *books(ROWS[300:360])]
    session = finished(predictor, script)
    resolved = 100 - 23 - 10 + 60 - 23 - 10
    assert session.answer_score(0).outcomes == resolved
    assert len(session.view().timestamps) == 160


# -- trades ---------------------------------------------------------------------------------------------------------------


def trade(at: int, size: float, side: str | None = "buy") -> Trade:
    return Trade(price=100.0, size=size, side=side, exchange_ms=int(ROWS.timestamps[at]))  # type: ignore[arg-type]


def test_trades_come_with_the_rows_they_fall_on(predictor: Predictor) -> None:
    script: list[Step] = [StatusChange(state=Status.REPLAYING)]
    for i, book in enumerate(books(ROWS[:60])):
        script += [trade(i, float(i), ("buy", "sell", None)[i % 3]), book]
    session = finished(predictor, script)
    view = session.view(20)
    assert view.trades[:, 0].tolist() == ROWS.timestamps[40:60].tolist()
    assert view.trades[:, 2].tolist() == list(range(40, 60))
    assert view.trades[:, 3].tolist() == [{0: 1.0, 1: -1.0, 2: 0.0}[i % 3] for i in range(40, 60)]


def test_after_winding_back_the_tape_holds_the_new_trades_alone(predictor: Predictor) -> None:
    script: list[Step] = [*replaying(ROWS[:5]), trade(4, 1.0), *books(ROWS[5:50]), trade(49, 2.0), GAP, *books(ROWS[3:5])]
    session = finished(predictor, [*script, trade(4, 3.0), *books(ROWS[5:9])])
    assert session.view().trades[:, 2].tolist() == [3.0]


# -- statuses -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [Status.CONNECTING, Status.PAUSED, Status.RECONNECTING, Status.SIMULATING])
def test_a_feeds_state_and_words_are_shown_as_they_are(predictor: Predictor, loop: BackgroundLoop, state: Status) -> None:
    said = StatusChange(state=state, message="One sentence.")
    session = running(loop, predictor, ScriptedFeed([*replaying(ROWS[:30]), said]))
    wait_until(lambda: session.step == 30 and session.status_now()[1] != "")
    assert session.status_now() == (Status(state.value), "One sentence.")


def test_a_live_book_of_which_nothing_is_heard_is_stale(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed([LIVE], clock="wall")
    session = running(loop, predictor, feed)
    wait_until(lambda: session.status_now()[0] is Status.WARMING)  # live, and no book yet: that is not stale
    feed.send(*books(ROWS[:1], received_ns=time.time_ns() - 9_000_000_000))
    wait_until(lambda: session.status_now()[0] is Status.STALE)
    feed.send(*books(ROWS[1:2]))
    wait_until(lambda: session.status_now()[0] in (Status.WARMING, Status.LIVE))


def test_books_that_come_late_by_the_venues_own_time_are_named(predictor: Predictor) -> None:
    late = [replace(one, exchange_ms=one.received_ns // 1_000_000 - 2_400 + i) for i, one in enumerate(books(ROWS[:20]))]  # type: ignore[union-attr,type-var]
    session = MarketSession(ScriptedFeed([LIVE, *late], clock="wall", ends=True), predictor)
    assert session.lag.ms is None
    shown: dict[str, list[str]] = {}
    session.listeners.append(lambda _: shown.update({session.status_now()[1]: [one.short() for one in session.situations()]}))
    asyncio.run(session.run())
    assert session.lag.ms == pytest.approx(2_400, abs=20)
    (states,) = (states for said, states in shown.items() if "by its books' own time, or one of the two clocks is wrong" in said)
    assert states == ["lagging 2.4 s"]


def test_a_feed_that_fails_says_why_once_all_is_written_down(predictor: Predictor) -> None:
    session = finished(predictor, [*replaying(ROWS[:60]), FeedFailed("Binance has no market 'XYZ'.")])
    view = session.view()
    assert session.status_now() == (Status.FAILED, "Binance has no market 'XYZ'.")
    assert view.step == 60
    assert len(view.predictions) == 37


def test_a_feed_that_ends_has_ended(predictor: Predictor) -> None:
    assert finished(predictor, replaying(ROWS[:30])).status_now()[0] is Status.ENDED
    said = StatusChange(state=Status.ENDED, message="That was all.")
    session = finished(predictor, [*replaying(ROWS[:30]), said])
    assert (*session.status_now(), session.step) == (Status.ENDED, "That was all.", 30)


def test_a_fault_of_the_program_stops_the_session_and_is_shown(predictor: Predictor, caplog: pytest.LogCaptureFixture) -> None:
    session = finished(predictor, [*replaying(ROWS[:30]), ZeroDivisionError("oh")])
    assert session.status_now()[0] is Status.FAILED
    assert "ZeroDivisionError" in session.status_now()[1]
    assert "oh" in caplog.text


def test_a_fault_in_the_model_stops_session_and_feed(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The feed must not go on filling a queue that nobody empties."""
    feed = ScriptedFeed(replaying(ROWS))
    session = MarketSession(feed, predictor)
    monkeypatch.setattr(predictor, "predict", lambda *_: 1 / 0)
    asyncio.run(asyncio.wait_for(session.run(), 20))
    assert session.status_now()[0] is Status.FAILED
    assert "ZeroDivisionError" in session.status_now()[1]
    assert (feed.opened, feed.closed) == (1, 1)


# -- the clock of this machine --------------------------------------------------------------------------------------------


def test_rows_before_a_new_book_are_of_the_old_one(predictor: Predictor) -> None:
    """Receive times decide, not what the exchange says."""
    start = (time.time_ns() // 1_000_000_000 - 60) * 1_000_000_000
    received = [start + ms * 1_000_000 for ms in (10, 600, 760)]
    script: list[FeedEvent] = [StatusChange(state=Status.REPLAYING)]  # no ticking: the books alone bring rows
    for i, when in enumerate(received):
        script += books(ROWS[i : i + 1], received_ns=when)
    script[-1] = replace(cast(OrderBookSnapshot, script[-1]), asked=True)
    view = finished(predictor, script, clock="wall").view()
    assert (view.timestamps - start // 1_000_000).tolist() == [250, 500, 750]
    assert np.array_equal(view.levels, ROWS.levels[[0, 0, 1]])
    assert view.received_ms == received[1] / 1e6  # of the newest row's book, not of the newest book
    assert view.heard_ms == received[1] / 1e6  # the last book was asked for


def seconds(label: str, stage: str, what: str = "count") -> float:
    return REGISTRY.get_sample_value(f"observatory_stage_seconds_{what}", {"feed": label, "stage": stage}) or 0.0


def test_latency_is_measured_on_new_books(predictor: Predictor) -> None:
    finished(predictor, replaying(ROWS[:60]), together=1, key="live/new_books/X")
    (batches,) = {seconds("new_books", stage) for stage in STAGES}
    sums = {stage: seconds("new_books", stage, "sum") for stage in STAGES}
    assert 0 < batches <= 60 - predictor.window + 1 and min(sums.values()) >= 0
    assert sums["total"] >= sums["model"]


def test_an_old_book_carried_on_does_not_count_as_slow(predictor: Predictor, loop: BackgroundLoop) -> None:
    """A quiet market is not a slow program: rows that repeat a book are left out."""
    old = books(ROWS[:1], received_ns=time.time_ns() - 7_000_000_000)
    feed = ScriptedFeed([LIVE, *old], clock="wall", key="live/old_book/X")
    session = running(loop, predictor, feed, predictor.window + 4)
    assert len(session.view().predictions) >= 4
    assert seconds("old_book", "feed") == 0
    feed.send(*books(ROWS[1:2]))
    wait_until(lambda: seconds("old_book", "feed") > 0)
    assert seconds("old_book", "feed", "sum") < 5


# -- once more ------------------------------------------------------------------------------------------------------------


def test_a_session_may_be_run_again(predictor: Predictor) -> None:
    feed = ScriptedFeed(replaying(ROWS[:50]), ends=True)
    session = MarketSession(feed, predictor)
    asyncio.run(session.run())
    feed.script = replaying(ROWS[50:80])
    asyncio.run(session.run())
    assert session.step == 80
    assert np.array_equal(session.view().timestamps, ROWS.timestamps[:80])
    assert len(session.view().predictions) == 80 - 23  # on its own clock nothing was missed in between
    assert (feed.opened, feed.closed) == (2, 2)


def test_run_again_on_the_wall_clock_it_warms_up_anew(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed([LIVE, *books(ROWS[:1])], clock="wall", ends=True)
    session = MarketSession(feed, predictor)
    loop.submit(session.run()).result(20)
    feed.script, feed.ends = [LIVE], False
    loop.submit(session.run())
    wait_until(lambda: session.status_now()[0] is Status.WARMING)
    steps = session.step
    time.sleep(0.6)
    assert session.step == steps  # the old book is not carried into the new run


def test_stopping_leaves_nothing_writing(predictor: Predictor, loop: BackgroundLoop) -> None:
    feed = ScriptedFeed(replaying(random_book(3_000, 1)))
    session = MarketSession(feed, predictor)
    future = loop.submit(session.run())
    wait_until(lambda: session.step > 100)
    future.cancel()
    wait_until(lambda: feed.closed == 1)
    loop.stop()
    steps, board = session.step, confirmed(session)
    time.sleep(0.2)
    assert session.step == steps
    assert len(confirmed(session)) == len(board)


def test_freezing_takes_the_newest_whole_window(predictor: Predictor) -> None:
    assert finished(predictor, replaying(ROWS[:23])).freeze() is None
    session = finished(predictor, replaying(ROWS[:77]))
    window = session.freeze()
    assert window is not None
    assert np.array_equal(window.timestamps, ROWS.timestamps[53:77])
    assert np.array_equal(window.levels, ROWS.levels[53:77])
    assert finished(predictor, [*replaying(ROWS[:77]), GAP, *books(ROWS[77:90])]).freeze() is None


def test_a_market_that_stands_still_is_named_and_not_scored(predictor: Predictor, loop: BackgroundLoop) -> None:
    """As of a venue that stopped, whose book on request stands still too: each row is confirmed, and none tells anything."""
    quiet = with_stall(ROWS[:130], 99, 600)
    feed = ScriptedFeed(replaying(quiet[:650]))
    session = running(loop, predictor, feed, 650)
    assert session.status_now()[0] is Status.STALLED
    same_scores(session, 0, evaluate(predictor, quiet[:650], session.entry)[0])
    feed.send(*books(quiet[650:]))
    wait_until(lambda: session.step == len(quiet))
    assert session.status_now()[0] is Status.REPLAYING
    feed.send(GAP, *books(quiet[-1:]))
    wait_until(lambda: session.status_now()[0] is Status.WARMING)


# -- rows that the venue has not confirmed (D27), and live time ---------------------------------------------------------


def book(number: int, *, ago_s: float = 0.0, confirms: bool = True) -> OrderBookSnapshot:
    received_ns = time.time_ns() - int(ago_s * 1e9)
    return OrderBookSnapshot(levels=ROWS.levels[number], exchange_ms=0, received_ns=received_ns, confirms=confirms)


def watching(predictor: Predictor, loop: BackgroundLoop, *script: object) -> tuple[MarketSession, ScriptedFeed]:
    feed = ScriptedFeed([LIVE, *script], clock="wall")  # type: ignore[list-item]
    return running(loop, predictor, feed), feed


def test_a_row_that_nothing_confirmed_is_shown_and_called_but_not_scored(predictor: Predictor, loop: BackgroundLoop) -> None:
    session, feed = watching(predictor, loop, book(0, ago_s=9.0))
    wait_until(lambda: session.view().provisional >= 34)
    view = session.view()
    assert view.provisional == len(view.timestamps)
    assert len(view.predictions) == len(view.timestamps) - predictor.window + 1
    assert len(confirmed(session)) == 0
    assert session.answer_score(0).outcomes == 0
    assert session.freeze() is None
    feed.send(book(1))
    wait_until(lambda: len(confirmed(session)) > 0)
    later = session.view()
    assert later.provisional <= 2
    assert len(confirmed(session)) == len(later.predictions) - later.provisional
    assert later.predictions["timestamp"][: len(view.predictions)].tolist() == view.predictions["timestamp"].tolist()
    assert np.array_equal(later.predictions["probabilities"][: len(view.predictions)], view.predictions["probabilities"])
    assert session.answer_score(0).outcomes > 0
    assert session.freeze() is not None


def test_a_tail_that_is_never_confirmed_becomes_a_gap(predictor: Predictor, loop: BackgroundLoop) -> None:
    session, feed = watching(predictor, loop, book(0, ago_s=9.0), book(1, ago_s=1.0))
    wait_until(lambda: session.view().provisional >= 3)
    before = confirmed(session)["timestamp"].tolist()
    assert before
    feed.send(StatusChange(state=Status.RECONNECTING, gap=True))
    wait_until(lambda: session.view().warm == 0)
    view = session.view()
    assert view.provisional == 0
    assert view.predictions["timestamp"].tolist() == before == confirmed(session)["timestamp"].tolist()
    assert view.timestamps[-1] == before[-1]
    feed.send(LIVE, book(2), *[book(3)])
    wait_until(lambda: session.view().provisional >= 1)
    assert session.view().warm < predictor.window  # the warm-up starts anew
