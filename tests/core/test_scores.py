"""Scores against scikit-learn, and the reliability diagram against a loop."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from core import scores
from core.market.answers.table import Answered, Scores

labels = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(labels)
def test_scores_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    """Short lists lack classes in truth, in calls or in both."""
    truth, called = (np.array(column) for column in zip(*pairs, strict=True))
    confusion = scores.confusion_matrix(truth, called)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of a single label
        assert confusion.tolist() == metrics.confusion_matrix(truth, called, labels=[0, 1, 2]).tolist()
        assert scores.accuracy(confusion) == pytest.approx(metrics.accuracy_score(truth, called))
        assert scores.macro_f1(confusion) == pytest.approx(metrics.f1_score(truth, called, average="macro"))
        assert scores.matthews(confusion) == pytest.approx(metrics.matthews_corrcoef(truth, called))


def test_a_stack_of_matrices_is_scored_one_by_one() -> None:
    stack = np.random.default_rng(1).integers(0, 50, (4, 5, 3, 3))
    for score in (scores.accuracy, scores.macro_f1, scores.matthews):
        together = score(stack)
        assert together.shape == (4, 5)
        np.testing.assert_allclose(together, [[score(matrix) for matrix in row] for row in stack])


def test_no_call_has_no_score() -> None:
    nothing = np.zeros((3, 3))
    assert all(np.isnan(score(nothing)) for score in (scores.accuracy, scores.macro_f1, scores.matthews))


def test_large_counts_do_not_overflow() -> None:
    """Matthews multiplies counts four deep: a day at 4 Hz must stay exact."""
    confusion = np.array([[900_000, 20_000, 3], [10_000, 5_000_000, 7_000], [2, 30_000, 800_000]])
    covariance = float(np.trace(confusion)) * confusion.sum() - float((confusion.sum(0).astype(float) * confusion.sum(1)).sum())
    spread = [float(confusion.sum()) ** 2 - float((confusion.sum(axis).astype(float) ** 2).sum()) for axis in (0, 1)]
    assert scores.matthews(confusion) == pytest.approx(covariance / (spread[0] ** 0.5 * spread[1] ** 0.5))


def reliability_by_loop(p: list[float], hit: list[bool], bins: int) -> tuple[list[int], list[float], list[float], float]:
    members: list[list[int]] = [[] for _ in range(bins)]
    for i, value in enumerate(p):
        members[min(int(value * bins), bins - 1)].append(i)
    mean_p = [float(np.mean([p[i] for i in m])) if m else float("nan") for m in members]
    mean_h = [float(np.mean([hit[i] for i in m])) if m else float("nan") for m in members]
    ece = sum(len(m) / len(p) * abs(a - b) for m, a, b in zip(members, mean_p, mean_h, strict=True) if m)
    return [len(m) for m in members], mean_p, mean_h, ece


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=80), st.integers(1, 15))
def test_reliability_equals_the_loop(calls: list[tuple[float, bool]], bins: int) -> None:
    p, hit = (list(column) for column in zip(*calls, strict=True))
    count, mean_p, mean_h, ece = reliability_by_loop(p, hit, bins)  # type: ignore[arg-type]
    found = scores.reliability(p, hit, bins)
    assert found["count"].tolist() == count
    np.testing.assert_allclose(found["confidence"], mean_p, atol=1e-12)
    np.testing.assert_allclose(found["accuracy"], mean_h, atol=1e-12)
    assert found["gap"][0] == pytest.approx(ece, abs=1e-12)
    np.testing.assert_allclose(found["edges"], [i / bins for i in range(bins + 1)])


def test_reliability_of_nothing_is_empty() -> None:
    found = scores.reliability([], [])
    assert found["gap"][0] == 0
    assert np.isnan(found["accuracy"]).all()


def test_calibration_error_is_of_the_likeliest_class_in_fifteen_bins() -> None:
    """The definition of Guo et al. (2017), written out: confidence is max p, accuracy that of argmax p, 15 equal widths."""
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1.0, 3.0, 1.0], 500)
    truth = rng.integers(0, 3, 500)
    confidence, hit = p.max(axis=1), (p.argmax(axis=1) == truth).tolist()
    expected = reliability_by_loop(confidence.tolist(), hit, 15)[3]
    given = Answered(calls=p.argmin(axis=1), probabilities=p)
    assert Scores.of(truth, given).ece == pytest.approx(expected, abs=1e-12)
    unlikeliest = reliability_by_loop(p.min(axis=1).tolist(), (p.argmin(axis=1) == truth).tolist(), 15)[3]
    assert abs(expected - unlikeliest) > 0.05  # another class gives another number
