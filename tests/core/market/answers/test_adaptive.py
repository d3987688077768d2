"""Recalibration from the past alone: scipy's minimum, planted drifts found again, and a planted future that may not help."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from core.market.answers.recalibration import (
    EXPERTS,
    HALF_LIFE,
    KEPT,
    MIN_OUTCOMES,
    PACE_OF_WEIGHTS,
    REFIT_STEPS,
    SCORED_AFTER,
    STRIDE,
    THRESHOLD_OUTCOMES,
    AdaptiveHead,
    RecalibratedRows,
    recalibrate_rows,
)
from core.market.answers.table import Answered, Scores
from core.market.calibration import fit_class_biases
from core.market.labels import UNKNOWN, fit_alpha

MOVES = np.array([-1.0, 0.0, 1.0])
"""A move for each class, by a threshold of 0.5."""


def drawn(p: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    return (np.random.default_rng(seed).random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)


def scored(p: NDArray[np.float64], truth: NDArray[np.int64]) -> Scores:
    return Scores.of(truth, Answered(calls=p.argmax(axis=1), probabilities=p))


def recalibrated(p: NDArray[np.float64], truth: NDArray[np.int64], horizon: int, **options: bool) -> RecalibratedRows:
    moves = np.where(truth == UNKNOWN, np.nan, MOVES[truth])
    return recalibrate_rows(np.arange(len(p)), p, moves, AdaptiveHead(horizon, 0.5, **options))


@pytest.fixture(scope="module")
def drifting() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Probabilities that are too sure and of other class rates than the market's, which change half way."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 1.5, (12_000, 3))
    biases = np.where(np.arange(12_000)[:, None] < 6_000, [-1.5, 0.0, 0.5], [0.5, 0.0, -1.5])
    return softmax(2 * logits, axis=1), drawn(softmax(logits + biases, axis=1), 4)


@pytest.mark.parametrize("horizon", [1, 20])
def test_a_drifting_market_is_followed(drifting: tuple[NDArray[np.float64], NDArray[np.int64]], horizon: int) -> None:
    p, truth = drifting
    answer = recalibrated(p, truth, horizon)
    for part in (slice(SCORED_AFTER, 6_000), slice(9_600, None)):  # the second begins a quarter hour after the change
        before, after = (scored(q[part], truth[part]).ece for q in (p, answer.adapted))
        assert after < 0.04 < 0.15 < before
        assert scored(answer.adapted[part], truth[part]).log_loss < scored(p[part], truth[part]).log_loss - 0.1
    np.testing.assert_allclose(answer.adapted.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("horizon", [1, 7, 100])
def test_no_outcome_is_used_before_it_is_known(horizon: int) -> None:
    """Another future from row t on changes nothing at or before row t + h - 1: planted at several rows, compared bit by bit."""
    rng = np.random.default_rng(5)
    p = softmax(rng.normal(0, 1, (1_500, 3)), axis=1)
    truth = drawn(p, 6)
    answer = recalibrated(p, truth, horizon)
    for t in (399, 1_001):
        planted = truth.copy()
        planted[t:] = (truth[t:] + 1) % 3
        other = recalibrated(p, planted, horizon)
        known = t + horizon  # the row at which the outcome of row t is known
        assert (other.adapted[:known] == answer.adapted[:known]).all()
        assert (other.adapted[known:] != answer.adapted[known:]).any()
        assert (other.adapted[known + REFIT_STEPS :] != answer.adapted[known + REFIT_STEPS :]).any()


def test_a_market_that_the_card_fits_is_left_alone() -> None:
    """Outcomes drawn from the probabilities themselves, each held for half a horizon as overlapping ones are."""
    p = np.repeat(softmax(np.random.default_rng(12).normal(0, 1, (160, 3)), axis=1), 50, axis=0)
    truth = np.repeat(drawn(p[::50], 13), 50)
    late = slice(SCORED_AFTER, None)
    after = scored(recalibrated(p, truth, 100).adapted[late], truth[late]).log_loss
    assert after < scored(p[late], truth[late]).log_loss + 0.012  # the fits alone lose 0.029


def test_rows_without_an_outcome_are_passed_over() -> None:
    """A gap: outcomes of the rows before it are never known, and those after it are used as if nothing had been between."""
    rng = np.random.default_rng(7)
    p = softmax(rng.normal(0, 1, (1_500, 3)), axis=1)
    truth = drawn(p, 8)
    moves, rows = MOVES[truth], np.arange(1_500)
    rows[700:] += 300
    moves[690:700] = np.nan
    answer = recalibrate_rows(rows, p, moves, AdaptiveHead(10, 0.5))
    assert (answer.truth == UNKNOWN).nonzero()[0].tolist() == list(range(690, 700))
    assert np.isfinite(answer.adapted).all()


def test_an_unknown_markets_threshold_is_that_of_its_first_quarter_hour() -> None:
    rng = np.random.default_rng(9)
    moves = rng.normal(0, 1, 5_000) * np.where(np.arange(5_000) < THRESHOLD_OUTCOMES, 1.0, 5.0)
    p = softmax(rng.normal(0, 1, (5_000, 3)), axis=1)
    head = AdaptiveHead(10, 0.7, own_threshold=True)
    answer = recalibrate_rows(np.arange(5_000), p, moves, head)
    assert answer.alpha == pytest.approx(fit_alpha([moves[:THRESHOLD_OUTCOMES]]), rel=1e-12)
    assert (answer.truth[:THRESHOLD_OUTCOMES] == UNKNOWN).all()
    later = moves[THRESHOLD_OUTCOMES:]
    assert answer.truth[THRESHOLD_OUTCOMES:].tolist() == (1 + (later > answer.alpha) - (later < -answer.alpha)).tolist()
    before = recalibrate_rows(np.arange(5_000), p, moves, AdaptiveHead(10, 0.7))  # until then as with the threshold given
    known = THRESHOLD_OUTCOMES + 9
    assert (answer.adapted[:known] == before.adapted[:known]).all()
    assert (answer.adapted[known:] != before.adapted[known:]).any()
    assert head.settled


def test_before_the_first_fit_there_is_no_other_prediction() -> None:
    rng = np.random.default_rng(10)
    p, head = softmax(rng.normal(0, 1, (3 * REFIT_STEPS, 3)), axis=1), AdaptiveHead(10, 0.5)
    truth, predictions = drawn(p, 11), []
    for t in range(len(p)):
        if t >= 10:
            head.resolve(predictions[t - 10], float(MOVES[truth[t - 10]]))
        predictions.append(head.predict(p[t].tolist()))
    first = next(t for t in range(len(p)) if (t + 1) % REFIT_STEPS == 0 and t - 10 + 1 >= MIN_OUTCOMES)
    experts = dict(zip(EXPERTS, np.array([one.experts for one in predictions]).transpose(1, 0, 2), strict=True))
    np.testing.assert_allclose(experts["fitted"][:first], experts["written"][:first], atol=1e-12)
    assert np.abs(experts["fitted"][first] - experts["written"][first]).max() > 1e-6
    assert STRIDE < MIN_OUTCOMES


def test_a_fit_reads_every_fourth_outcome_of_the_last_hour_the_newer_the_heavier() -> None:
    n, horizon = KEPT + 2_003, 10
    p = softmax(np.random.default_rng(16).normal(0, 1.5, (n, 3)), axis=1)
    truth, head = drawn(softmax(0.5 * np.log(p) + [0.4, 0, -0.9], axis=1), 17), AdaptiveHead(horizon, 0.5, first_fit=n + 1)
    for row, came in zip(p, truth, strict=True):
        head.resolve(head.predict(row.tolist()), float(MOVES[came]))
    head.predict(p[0].tolist())
    kept = np.arange(0, n, 4)[-KEPT // 4 :]
    weights = 0.5 ** ((kept[-1] - kept) / HALF_LIFE) * 4 * 2 / horizon
    scale, biases = fit_class_biases(np.log(p[kept]), truth[kept], weights)
    assert [head.scale, *head.biases] == pytest.approx([scale, *biases], rel=1e-6)
    assert (KEPT, HALF_LIFE) == (14_400, 3_600)  # an hour and a quarter of an hour


@pytest.mark.parametrize("sequence", ["drawn", "always down", "what is least expected"])
def test_no_expert_is_missed_by_more_than_the_bound(sequence: str) -> None:
    """Cesa-Bianchi and Lugosi 2006, section 3.3: whatever comes, the losses sum to at most the best expert's and ln 4 / pace."""
    rng = np.random.default_rng(14)
    head, p = AdaptiveHead(1, 0.5), softmax(rng.normal(0, 2, (2_000, 3)), axis=1)
    wanted, losses, mine = drawn(p, 15), np.zeros(len(EXPERTS)), 0.0
    for t in range(len(p)):
        prediction = head.predict(p[t].tolist())
        hostile = {"drawn": int(wanted[t]), "always down": 0}.get(sequence, int(np.argmin(prediction.adapted)))
        mine -= np.log(prediction.adapted[hostile])
        losses -= np.log(np.array(prediction.experts)[:, hostile])
        head.resolve(prediction, float(MOVES[hostile]))
        assert mine <= losses.min() + np.log(len(EXPERTS)) / PACE_OF_WEIGHTS + 1e-9
    np.testing.assert_allclose(head.weights, softmax(-PACE_OF_WEIGHTS * losses), atol=1e-9)
