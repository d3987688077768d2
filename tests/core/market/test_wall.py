"""A row of the watch wall against the session's own view, scores and export."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import numpy as np
import pytest

from core.market import wall
from core.market.answers.one_answer import FEWEST, RIVALS
from core.market.feeds.protocol import FeedEvent, FeedFailed, FeedState, StatusChange
from core.market.labels import DOWN, UP
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.session_view import Status, View
from core.market.wall import SPARK_ROWS, wall_row
from core.messages import compose
from tests.core.market.feeds_for_tests import ScriptedFeed, Step, books, replaying
from tests.core.market.helpers import HEADS, real_rows, tiny_predictor, with_hole

ROWS = real_rows(4)
GAP = StatusChange(state=FeedState.REPLAYING, gap=True)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), ROWS)


def finished(predictor: Predictor, script: list[FeedEvent] | list[Step], **options: object) -> MarketSession:
    """A session whose feed has played the script to its end."""
    session = MarketSession(ScriptedFeed(script, ends=True, **options), predictor)  # type: ignore[arg-type]
    asyncio.run(session.run())
    return session


def seen(session: MarketSession, monkeypatch: pytest.MonkeyPatch, **changes: object) -> wall.WallRow:
    """The row of this session, were its view another one."""
    view: View = replace(session.view(SPARK_ROWS), **changes)  # type: ignore[arg-type]
    monkeypatch.setattr(session, "view", lambda rows: view)
    return wall_row(session, 0)


@pytest.mark.parametrize("head", range(len(HEADS)))
def test_a_row_agrees_with_the_sessions_view_and_export(predictor: Predictor, head: int) -> None:
    session = finished(predictor, replaying(ROWS))
    row, view = wall_row(session, head), session.view()
    newest, score = view.predictions[-1], session.answer_score(head)
    assert (row.symbol, row.status) == (session.feed.market, Status.ENDED)
    assert row.call == newest["answered"][head]
    assert row.net == pytest.approx(float(newest["recalibrated"][head][UP] - newest["recalibrated"][head][DOWN]), abs=1e-12)
    np.testing.assert_array_equal(row.mids, ROWS.mid[-SPARK_ROWS:])
    assert row.independent == score.independent >= FEWEST
    assert (row.nearest, row.lead, row.standing) == (score.nearest, score.lead.per_call, score.lead.standing)


def test_an_answer_is_worth_a_look_where_it_is_ahead_of_the_rules(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    session = finished(predictor, replaying(ROWS))
    score = session.answer_score(0)
    for sign, worth in ((1.0, True), (-1.0, False), (0.0, False)):
        lead = replace(score.lead, totals=np.full(len(RIVALS), 50.0 * sign), squares=np.full(len(RIVALS), 25.0))
        monkeypatch.setattr(session, "answer_score", lambda head, lead=lead: replace(score, lead=lead))
        row = seen(session, monkeypatch)
        assert row.look == (abs(row.net) if worth else 0.0)


def test_of_fewer_than_ten_outcomes_that_do_not_overlap_there_is_a_count(predictor: Predictor) -> None:
    """The first head looks ten steps ahead: ten such outcomes take 91, the last of which is known ten rows later."""
    for rows, count in ((predictor.window + 99, 9), (predictor.window + 100, 10)):
        row = wall_row(finished(predictor, replaying(ROWS[:rows])), 0)
        assert (row.independent, row.nearest != "", math.isfinite(row.lead)) == (count, count == 10, count == 10)


def test_the_spark_does_not_cross_a_gap(predictor: Predictor) -> None:
    rows = with_hole(ROWS, 300, 40)
    session = finished(predictor, [*replaying(rows[:300]), GAP, *books(rows[300:])])
    np.testing.assert_array_equal(wall_row(session, 0).mids, rows.mid[300:])


def test_before_the_first_book_and_the_first_prediction_nothing_is_claimed(predictor: Predictor) -> None:
    empty = wall_row(MarketSession(ScriptedFeed([]), predictor), 0)
    assert (empty.status, empty.mids, empty.call, empty.independent, empty.nearest) == (Status.CONNECTING, (), None, 0, "")
    assert all(math.isnan(value) for value in (empty.net, empty.lead, empty.age_s))
    warming = wall_row(finished(predictor, replaying(ROWS[: predictor.window - 1])), 0)
    assert warming.call is None and math.isnan(warming.net)
    assert warming.warm == len(warming.mids) == predictor.window - 1


def test_a_call_made_before_a_gap_is_not_shown_after_it(predictor: Predictor) -> None:
    rows = with_hole(ROWS, 300, 40)
    row = wall_row(finished(predictor, [*replaying(rows[:300]), GAP, *books(rows[300:305])]), 0)
    assert row.call is None and math.isnan(row.net) and row.independent > 0


@pytest.mark.parametrize("status", [Status.STALE, Status.FAILED, Status.RECONNECTING])
def test_a_lost_feed_keeps_no_call(predictor: Predictor, status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    session = finished(predictor, replaying(ROWS))
    assert wall_row(session, 0).call is not None
    assert seen(session, monkeypatch, status=status).call is None


def test_a_failed_feed_says_why(predictor: Predictor) -> None:
    row = wall_row(finished(predictor, [*replaying(ROWS[:50]), FeedFailed(compose("the venue is closed"))]), 0)
    assert (row.status, row.message, row.call) == (Status.FAILED, "the venue is closed", None)


def test_the_age_counts_only_while_a_book_is_due(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    session = finished(predictor, replaying(ROWS))
    assert seen(session, monkeypatch, status=Status.LIVE, age_ms=2_500.0).age_s == 2.5
    assert seen(session, monkeypatch, status=Status.STALE, age_ms=9_000.0).age_s == 9.0
    assert math.isnan(seen(session, monkeypatch, status=Status.PAUSED, age_ms=2_500.0).age_s)
    assert math.isnan(seen(session, monkeypatch, status=Status.CONNECTING, age_ms=math.inf).age_s)
