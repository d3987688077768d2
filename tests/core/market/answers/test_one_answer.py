"""The one answer of a head against whole files: scikit-learn's scores, the naive rules of a file, and log-losses row by row."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.metrics import confusion_matrix, log_loss, matthews_corrcoef

from core.market.answers.naive import base_rates, naive_answers
from core.market.answers.one_answer import ANSWER, FEWEST, RIVALS, Shown
from core.market.answers.recalibration import REFIT_STEPS, AdaptiveHead, recalibrate_rows
from core.market.answers.scoreboard import Scoreboard
from core.market.answers.value import spaced
from core.market.labels import UNKNOWN, classify, momentum_calls, moves_after
from tests.core.market.answers.test_running_value import ALPHAS, ANSWERS, HEADS, PREDICTED, ROWS, played

AT = np.flatnonzero(PREDICTED)
TIMES = ROWS.timestamps[AT]
VWAP = np.random.default_rng(5).integers(0, 3, len(ROWS))
"""That rule's calls, made up."""


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    """A market with a hole, of which each row was shown as it came."""
    board = Scoreboard(HEADS, ALPHAS)
    for i, (timestamp, mid) in enumerate(zip(ROWS.timestamps.tolist(), ROWS.mid.tolist(), strict=True)):
        if i == 1_700:
            board.gap()
        board.step(timestamp, mid, ANSWERS if PREDICTED[i] else None, i, shown=Shown(vwap=int(VWAP[i])))
    return board


def counts(truth: NDArray[np.int64], calls: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.asarray(confusion_matrix(truth, calls, labels=[0, 1, 2]))


def of_file(head: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Recalibrated probabilities and outcomes of the rows predicted, of the whole file at once."""
    kind, horizon = HEADS[head]
    past = AdaptiveHead(horizon, ALPHAS[head], first_fit=(head + 1) * REFIT_STEPS // len(HEADS))
    p, moves = ANSWERS.probabilities[AT, head].astype(np.float64), moves_after(ROWS, (kind, horizon))[AT]
    return recalibrate_rows(AT, p, moves, past).adapted, classify(moves, ALPHAS[head])


@pytest.mark.parametrize("head", [0, 1])
def test_a_row_is_called_where_the_losses_so_far_are_below_those_of_the_frequencies(board: Scoreboard, head: int) -> None:
    adapted, truth = of_file(head)
    horizon = HEADS[head][1]
    rates = base_rates(TIMES, truth, horizon)
    log = board.log.tail()
    np.testing.assert_allclose(log["recalibrated"][:, head], adapted, atol=1e-12)
    np.testing.assert_array_equal(log["came"][:, head], truth)
    known = np.flatnonzero(truth != UNKNOWN)
    less = np.zeros(len(AT) + 1)  # summed loss less that of the frequencies, by the number of outcomes
    less[1 : len(known) + 1] = np.cumsum(-np.log(adapted[known, truth[known]]) + np.log(rates[known, truth[known]]))
    resolved = np.searchsorted(AT[known], AT - horizon, side="right")
    expected = np.where((resolved > 0) & (less[resolved] < 0), adapted.argmax(axis=1), -1)
    sure = np.abs(less[resolved]) > 1e-9
    np.testing.assert_array_equal(log["answered"][sure, head], expected[sure])
    assert {-1, 0, 2} <= set(expected.tolist())


@pytest.mark.parametrize("head", [0, 1])
def test_its_score_is_its_own_and_stands_beside_the_best_naive_rule(board: Scoreboard, head: int) -> None:
    adapted, truth = of_file(head)
    (_, horizon), known = HEADS[head], truth != UNKNOWN
    found = board.answers.score(head)
    assert (found.outcomes, found.independent) == (known.sum(), len(spaced(TIMES[known] // 250, horizon)))
    assert found.since_ms == TIMES[known][0] and found.enough
    np.testing.assert_array_equal(found.scores[ANSWER].confusion, counts(truth[known], adapted[known].argmax(axis=1)))
    assert found.scores[ANSWER].log_loss == pytest.approx(log_loss(truth[known], adapted[known], labels=[0, 1, 2]))
    rates = base_rates(TIMES, truth, horizon)
    assert found.scores["frequencies"].log_loss == pytest.approx(log_loss(truth[known], rates[known], labels=[0, 1, 2]))
    momentum = momentum_calls(ROWS, horizon, ALPHAS[head])[AT]
    calls = {rule: one.calls for rule, one in naive_answers(TIMES, truth, momentum, horizon).items()} | {"vwap": VWAP[AT]}
    each = {rule: matthews_corrcoef(truth[known], calls[rule][known]) for rule in RIVALS}
    assert found.best == max(RIVALS, key=each.__getitem__)
    for rule in RIVALS:
        np.testing.assert_array_equal(found.scores[rule].confusion, counts(truth[known], calls[rule][known]))
        assert board.rule_call(head, rule) == calls[rule][-1]
    at = np.flatnonzero(known)[spaced(TIMES[known] // 250, horizon)]
    right = adapted[at].argmax(axis=1) == truth[at]
    for rule in RIVALS:
        rule_right = calls[rule][at] == truth[at]
        assert found.only[rule] == ((right & ~rule_right).sum(), (rule_right & ~right).sum())


def test_the_answer_is_told_from_the_rule_by_mcnemars_test(board: Scoreboard) -> None:
    """As many outcomes as it takes, at the same rates, until the statistic of those that one of them alone got right is large."""
    found = board.answers.score(0)
    assert math.isinf(replace(found, only={found.best: (7, 7)}).decides_at)
    for mine, rule in ((9, 2), (30, 25), (2, 40)):
        one = replace(found, independent=100, only={found.best: (mine, rule)})
        times = one.decides_at / 100
        assert (times * (mine - rule)) ** 2 / (times * (mine + rule)) == pytest.approx(chi2.isf(0.05, 1), rel=1e-3)


def test_what_was_shown_is_what_is_scored() -> None:
    """A row that waits for its confirmation is answered when it comes; later outcomes do not change the answer."""
    mids, whole = ROWS.mid[:600].tolist(), played_to(600)
    shown = whole.answers.answers(ANSWERS.probabilities[599])
    other = played_to(590)
    early = other.answers.answers(ANSWERS.probabilities[599])
    assert early.made != shown.made  # ten outcomes lie between
    for i in range(590, 600):
        given = Shown(answers=early) if i == 599 else None
        other.step(int(ROWS.timestamps[i]), mids[i], ANSWERS, i, shown=given)
    np.testing.assert_array_equal(other.log.tail(1)[0]["recalibrated"], early.probabilities)


def played_to(end: int) -> Scoreboard:
    board = Scoreboard(HEADS, ALPHAS)
    for i in range(end):
        board.step(int(ROWS.timestamps[i]), float(ROWS.mid[i]), ANSWERS if PREDICTED[i] else None, i)
    return board


def test_a_market_of_its_own_threshold_is_counted_anew_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.answers.recalibration.THRESHOLD_OUTCOMES", 1_500)
    board = played(own_thresholds=True)
    moves = moves_after(ROWS, HEADS[0])[AT]
    later = np.flatnonzero(~np.isnan(moves))[1_500:]
    truth = classify(moves[later], board.adaptive(0).alpha)
    found = board.answers.score(0)
    assert found.outcomes == len(later) and found.since_ms == TIMES[later[0]]
    assert found.scores[ANSWER].confusion.sum(axis=1).tolist() == np.bincount(truth, minlength=3).tolist()
    assert board.log.tail()["came"][later, 0].tolist() == truth.tolist()


def test_nothing_is_claimed_before_the_first_outcome_and_nothing_scored_before_ten() -> None:
    board = played_to(128)
    found = board.answers.score(0)
    assert (found.outcomes, found.independent, found.since_ms, found.signals, found.enough) == (0, 0, 0, False, False)
    assert np.isnan([found.scores[name].log_loss for name in (ANSWER, "frequencies")]).all()
    assert board.log.tail(1)["answered"].tolist() == [[-1, -1]]
    assert [replace(found, independent=count).enough for count in (FEWEST - 1, FEWEST)] == [False, True]
