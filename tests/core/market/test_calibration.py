"""Calibration and calls: planted answers found again, and scipy's minimum."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.special import softmax as scipy_softmax
from sklearn.metrics import f1_score, matthews_corrcoef

from core.market.calibration import CallRule, answers_of, fit_class_biases, fit_rule
from core.scores import softmax

MOVING = np.array([1.0, 0.0, 1.0])


def drawn(logits: NDArray[np.float64], temperature: float, bias: float, seed: int) -> NDArray[np.int64]:
    """Truth drawn from what the logits say once they are tempered and biased."""
    p = scipy_softmax(logits / temperature + bias * MOVING, axis=1)
    u = np.random.default_rng(seed).random((len(p), 1))
    return (u > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)


@pytest.fixture(scope="module")
def logits() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(0, 2, (40_000, 3))


@pytest.mark.parametrize(("spread", "temperature", "bias"), [(1, 1.0, 0.0), (1, 2.5, -0.7), (1, 0.5, 1.2), (15, 20.0, 0.3)])
def test_planted_calibration_is_found_again(logits: NDArray[np.float64], spread: float, temperature: float, bias: float) -> None:
    """The last is so far from the start that a whole Newton step leads astray."""
    logits = spread * logits
    rule = fit_rule(logits, drawn(logits, temperature, bias, 1), maximise="macro_f1")
    assert rule.temperature == pytest.approx(temperature, rel=0.04)
    assert rule.bias == pytest.approx(bias, abs=0.06)


@pytest.mark.parametrize("seed", range(4))
def test_calibration_is_scipys_minimum_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1 + seed, (400, 3))
    truth = drawn(logits, 1.7, -0.4, seed)

    def loss(x: NDArray[np.float64]) -> float:
        return float(-log_softmax(logits * x[0] + x[1] * MOVING, axis=1)[np.arange(len(truth)), truth].mean())

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 5_000})
    rule = fit_rule(logits, truth, maximise="macro_f1")
    assert 1 / rule.temperature == pytest.approx(best.x[0], abs=1e-4)
    assert rule.bias == pytest.approx(best.x[1], abs=1e-4)
    assert loss(np.array([1 / rule.temperature, rule.bias])) <= best.fun + 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_class_biases_are_scipys_maximum_of_the_weighted_likelihood_and_the_prior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, weights = rng.normal(0, 1.5, (300, 3)), rng.random(300) / 5
    truth = drawn(logits + np.array([0.8, 0, -0.5]), 1.7, 0, seed)

    def loss(x: NDArray[np.float64]) -> float:
        given = log_softmax(logits * x[0] + np.array([x[1], 0, x[2]]), axis=1)[np.arange(300), truth]
        return float(-(weights * given).sum() + (5 * (x[0] - 1) ** 2 + x[1] ** 2 + x[2] ** 2) / 2)

    best = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5_000})
    for start in ((1.0, (0.0, 0.0, 0.0)), (0.5, (-1.0, 0.0, 2.0))):
        scale, biases = fit_class_biases(logits, truth, weights, start=start)
        assert [scale, biases[0], biases[2]] == pytest.approx(best.x, abs=1e-5) and biases[1] == 0


def test_calibration_survives_a_model_that_knows_nothing() -> None:
    """Logits that are noise, or one class alone: the answer stays finite and says so little."""
    rng = np.random.default_rng(3)
    noise = fit_rule(rng.normal(0, 1, (2_000, 3)), rng.integers(0, 3, 2_000), maximise="matthews")
    assert noise.temperature > 5
    for truth in (np.ones(500, dtype=np.int64), np.full(500, 2)):
        rule = fit_rule(rng.normal(0, 1, (500, 3)), truth, maximise="macro_f1")
        assert all(np.isfinite([rule.temperature, rule.bias, rule.lean]))
        assert np.isfinite(rule.probabilities(rng.normal(0, 5, (10, 3)))).all()


@pytest.mark.parametrize("score", ["macro_f1", "matthews"])
def test_the_lean_gains_what_it_was_fitted_for(score: str) -> None:
    """Rare moves, faintly foreseen: the likeliest class is nearly always STATIONARY, and a lean scores better."""
    rng = np.random.default_rng(4)
    truth = rng.choice(3, 6_000, p=[0.1, 0.8, 0.1])
    logits = rng.normal(0, 1, (6_000, 3)) + 1.2 * np.eye(3)[truth] + np.log([0.1, 0.8, 0.1])
    rule = fit_rule(logits, truth, maximise=score)  # type: ignore[arg-type]
    p = rule.probabilities(logits)
    measure = (lambda y: f1_score(truth, y, average="macro")) if score == "macro_f1" else (lambda y: matthews_corrcoef(truth, y))
    plain, leaning = measure(p.argmax(axis=1)), measure(rule.call(p))
    assert rule.lean > 0.2
    assert leaning > plain + 0.03
    every = pd.Series([measure(CallRule(lean=lean).call(p)) for lean in np.linspace(-1.5, 4, 111)])
    assert leaning > every.max() - 0.01  # the smoothed peak costs next to nothing
    padded = pd.concat([every.iloc[[0] * 3], every, every.iloc[[-1] * 3]], ignore_index=True)
    smooth = padded.rolling(7, center=True).mean().dropna().to_numpy()
    assert rule.lean == pytest.approx(np.linspace(-1.5, 4, 111)[smooth.argmax()])


rows = st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=20)


@settings(max_examples=80, deadline=None)
@given(rows, st.floats(0.1, 10), st.floats(-5, 5))
def test_probabilities_equal_scipys(values: list[list[float]], temperature: float, bias: float) -> None:
    logits = np.array(values)
    p = CallRule(temperature=temperature, bias=bias).probabilities(logits)
    np.testing.assert_allclose(p, scipy_softmax(logits / temperature + bias * MOVING, axis=-1), atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(rows, st.floats(-1.5, 4))
def test_a_lean_weighs_the_moving_classes(values: list[list[float]], lean: float) -> None:
    p = scipy_softmax(np.array(values), axis=1)
    weighed = np.maximum(p, 1e-12) * np.exp(lean * MOVING)
    called = CallRule(lean=lean).call(p)
    assert (weighed[np.arange(len(p)), called] >= weighed.max(axis=1) * (1 - 1e-9)).all()


def test_softmax_of_large_numbers_is_finite() -> None:
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4]])), [[1, 0, 0], [1 / 3] * 3])


@pytest.mark.parametrize("seed", range(3))
def test_the_likeliest_class_is_called_where_the_second_half_of_validation_prefers_it(seed: int) -> None:
    """Moves foreseen in both halves: a threshold pays. In the first half alone: it costs in the second, and is not kept (D25)."""
    rng = np.random.default_rng(seed)

    def half(moves: float, foreseen: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        truth = rng.choice(3, 3_000, p=[moves / 2, 1 - moves, moves / 2])
        return rng.normal(0, 1, (3_000, 3)) + foreseen * np.eye(3)[truth] + np.log([0.1, 0.8, 0.1]), truth

    first, alike, unlike = half(0.2, 1.2), half(0.2, 1.2), half(0.02, 0.0)
    for second, kind in ((alike, "threshold"), (unlike, "likeliest")):
        logits, truth = (np.concatenate(pair) for pair in zip(first, second, strict=True))
        assert fit_rule(logits, truth, maximise="macro_f1").kind == kind


def test_where_both_score_alike_the_likeliest_class_is_called() -> None:
    assert fit_rule(np.zeros((1, 3)), np.array([1]), maximise="macro_f1").kind == "likeliest"


def test_rules_of_several_heads_at_once_are_each_rule_alone() -> None:
    rules = [CallRule(temperature=t, bias=b, lean=lean) for t, b, lean in ((1.0, 0.0, 0.0), (0.6, -1.2, 2.0), (1.8, 0.4, 0.3))]
    p = np.random.default_rng(3).dirichlet(np.ones(3), size=3)
    p[2] = 0, 1, 0
    calibrated, calls = answers_of(rules, np.log(np.maximum(p, 1e-12)))
    for rule, row, found, call in zip(rules, p, calibrated, calls, strict=True):
        alone = rule.probabilities(np.log(np.maximum(row, 1e-12)))
        np.testing.assert_allclose(found, alone, rtol=1e-12)
        assert call == rule.call(alone)
    assert answers_of([], np.empty((0, 3)))[1].shape == (0,)
