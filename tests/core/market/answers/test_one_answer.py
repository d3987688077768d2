"""The one answer of a head against whole files: scikit-learn's scores, the naive rules of a file, and log-losses row by row."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, log_loss

from core.market.answers.ahead import Standing
from core.market.answers.intervals import spaced
from core.market.answers.naive import base_rates, momentum_calls, naive_answers
from core.market.answers.one_answer import ANSWER, FEWEST, RIVALS, Shown
from core.market.answers.recalibration import REFIT_STEPS, AdaptiveHead, recalibrate_rows
from core.market.answers.scoreboard import Scoreboard
from core.market.labels import UNKNOWN, classify, moves_after
from tests.core.market.answers.test_running_value import ALPHAS, ANSWERS, HEADS, PREDICTED, ROWS, VWAP, played, whole_board

AT = np.flatnonzero(PREDICTED)
TIMES = ROWS.timestamps[AT]


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    """A market with a hole, of which each row was shown as it came."""
    return whole_board()


def counts(truth: NDArray[np.int64], calls: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.asarray(confusion_matrix(truth, calls, labels=[0, 1, 2]))


@cache
def of_file(head: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Recalibrated probabilities and outcomes of the rows predicted, of the whole file at once."""
    kind, horizon = HEADS[head]
    past = AdaptiveHead(horizon, ALPHAS[head], first_fit=(head + 1) * REFIT_STEPS // len(HEADS))
    p, moves = ANSWERS.probabilities[AT, head].astype(np.float64), moves_after(ROWS, (kind, horizon))[AT]
    return recalibrate_rows(AT, p, moves, past).adapted, classify(moves, ALPHAS[head])


@pytest.mark.parametrize("head", [0, 1])
def test_every_row_is_answered_by_its_likeliest_class(board: Scoreboard, head: int) -> None:
    adapted, truth = of_file(head)
    log = board.log.tail()
    np.testing.assert_allclose(log["recalibrated"][:, head], adapted, atol=1e-12)
    np.testing.assert_array_equal(log["came"][:, head], truth)
    np.testing.assert_array_equal(log["answered"][:, head], adapted.argmax(axis=1))
    assert {0, 2} <= set(log["answered"][:, head].tolist())


@cache
def rule_calls(head: int) -> dict[str, NDArray[np.integer]]:
    """Calls of each rule at the rows predicted, of the whole file at once."""
    horizon, (_adapted, truth) = HEADS[head][1], of_file(head)
    momentum = momentum_calls(ROWS, HEADS, ALPHAS)[AT, head]
    return {rule: one.calls for rule, one in naive_answers(TIMES, truth, momentum, horizon).items()} | {"vwap": VWAP[AT]}


@pytest.mark.parametrize("head", [0, 1])
def test_its_score_is_its_own_and_that_of_each_naive_rule(board: Scoreboard, head: int) -> None:
    adapted, truth = of_file(head)
    (_, horizon), known = HEADS[head], truth != UNKNOWN
    found = board.answers.score(head)
    assert (found.outcomes, found.lead.outcomes) == (known.sum(), len(spaced(TIMES[known] // 250, horizon)))
    assert found.lead.since_ms == TIMES[known][0] and found.enough
    np.testing.assert_array_equal(found.scores[ANSWER].confusion, counts(truth[known], adapted[known].argmax(axis=1)))
    assert found.scores[ANSWER].log_loss == pytest.approx(log_loss(truth[known], adapted[known], labels=[0, 1, 2]))
    rates = base_rates(TIMES, truth, horizon, half_life=math.inf)
    assert found.scores["frequencies"].log_loss == pytest.approx(log_loss(truth[known], rates[known], labels=[0, 1, 2]))
    np.testing.assert_allclose(found.usual, np.bincount(truth[known], minlength=3) / known.sum())
    calls = rule_calls(head)
    at = np.flatnonzero(known)[spaced(TIMES[known] // 250, horizon)]
    for rule in RIVALS:
        np.testing.assert_array_equal(found.scores[rule].confusion, counts(truth[known], calls[rule][known]))
        assert board.rule_call(head, rule) == calls[rule][-1]
        assert found.right[rule] == (calls[rule][at] == truth[at]).sum()
    assert found.right[ANSWER] == (adapted[at].argmax(axis=1) == truth[at]).sum()


def leads_of(log: NDArray[np.void], calls: NDArray[np.integer], head: int, horizon: int) -> tuple[NDArray[np.float64], list[int]]:
    """(outcomes, rules) leads of a head's answers over each rule at outcomes that do not overlap, and the times of these.

    Args:
        log: rows of the board's log. calls: (rows, rules) that the rules called there.
    """
    truth, p, places = log["came"][:, head], log["recalibrated"][:, head], log["timestamp"] // 250
    known = np.flatnonzero(truth >= 0)
    apart = known[spaced(places[known], horizon)]
    leads = np.zeros((len(apart), len(RIVALS)))
    for n, i in enumerate(apart):
        past = known[places[known] + horizon <= places[i]]
        for rule in range(len(RIVALS)):
            after = truth[past[calls[past, rule] == calls[i, rule]]]
            chance = ((after == truth[i]).sum() + 1) / (len(after) + 3)
            leads[n, rule] = math.log(max(p[i, truth[i]], 0.01)) - math.log(max(chance, 0.01))
    return leads, log["timestamp"][apart].tolist()


@pytest.mark.parametrize("head", [0, 1])
def test_its_lead_is_of_outcomes_that_do_not_overlap_over_rules_that_know_the_past_alone(board: Scoreboard, head: int) -> None:
    calls = np.stack([rule_calls(head)[rule] for rule in RIVALS], axis=1)
    leads = leads_of(board.log.tail(), calls, head, HEADS[head][1])[0].sum(axis=0)
    found = board.answers.score(head)
    assert found.lead.totals == pytest.approx(leads, abs=1e-9)
    assert found.nearest == RIVALS[leads.argmin()]


def test_what_was_shown_is_what_is_scored() -> None:
    """A row that waits for its confirmation is answered when it comes; later outcomes do not change the answer."""
    mids, whole = ROWS.mid[:600].tolist(), played(600)
    shown = whole.answers.answers(ANSWERS.probabilities[599])
    other = played(590)
    early = other.answers.answers(ANSWERS.probabilities[599])
    assert early.made != shown.made  # ten outcomes lie between
    for i in range(590, 600):
        given = Shown(answers=early) if i == 599 else Shown()
        other.step(int(ROWS.timestamps[i]), mids[i], ANSWERS, i, shown=given)
    np.testing.assert_array_equal(other.log.tail(1)[0]["recalibrated"], early.probabilities)


def test_a_market_of_its_own_threshold_is_counted_anew_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.answers.recalibration.THRESHOLD_OUTCOMES", 1_500)
    board = played(own_thresholds=True)
    moves = moves_after(ROWS, HEADS[0])[AT]
    later = np.flatnonzero(~np.isnan(moves))[1_500:]
    truth = classify(moves[later], board.adaptive(0).alpha)
    found = board.answers.score(0)
    assert found.outcomes == len(later) and found.lead.since_ms == TIMES[later[0]]
    assert found.scores[ANSWER].confusion.sum(axis=1).tolist() == np.bincount(truth, minlength=3).tolist()
    assert board.log.tail()["came"][later, 0].tolist() == truth.tolist()


def test_nothing_is_claimed_before_the_first_outcome_and_nothing_scored_before_ten() -> None:
    board = played(128)
    found = board.answers.score(0)
    assert (found.outcomes, found.lead.outcomes, found.lead.since_ms, found.enough) == (0, 0, 0, False)
    assert (found.lead.standing, found.decided) == (Standing.UNDECIDED, Standing.UNDECIDED) and np.isnan(found.usual).all()
    assert np.isnan([found.scores[name].log_loss for name in (ANSWER, "frequencies")]).all()
    leads = [replace(found.lead, outcomes=count) for count in (FEWEST - 1, FEWEST)]
    assert [replace(found, lead=lead).enough for lead in leads] == [False, True]
