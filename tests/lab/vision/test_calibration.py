"""Temperature scaling against torch's own minimiser and against data made with a known temperature."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from core.scores import softmax
from lab.vision.calibration import fit_slope, fit_temperature, slope_of_typical


def overconfident(scale: float, count: int = 4_000) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Logits whose true probabilities are softmax(logits / scale)."""
    random = np.random.default_rng(2)
    honest = random.normal(size=(count, 6)) * 2
    labels = (softmax(honest).cumsum(axis=1) > random.random((count, 1))).argmax(axis=1)
    return honest * scale, labels


@pytest.mark.parametrize("scale", [0.04, 0.4, 1.0, 3.0, 30.0])
def test_it_finds_the_minimum_that_lbfgs_finds(scale: float) -> None:
    logits, labels = overconfident(scale)
    found = fit_temperature(logits, labels)
    assert found == pytest.approx(scale, rel=0.06)
    log_t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    minimiser = torch.optim.LBFGS([log_t], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        minimiser.zero_grad()
        loss = F.cross_entropy(torch.from_numpy(logits) / log_t.exp(), torch.from_numpy(labels))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    minimiser.step(closure)  # type: ignore[arg-type, no-untyped-call]
    assert found == pytest.approx(float(log_t.detach().exp()), rel=1e-4)


def test_softmax_neither_overflows_nor_changes_under_a_shift() -> None:
    logits = np.array([[1_000.0, 1_001.0], [-5.0, -4.0]])
    np.testing.assert_allclose(softmax(logits), softmax(logits - 500), atol=1e-12)
    np.testing.assert_allclose(softmax(logits)[0], torch.tensor([0.0, 1.0]).double().softmax(0).numpy(), atol=1e-12)


def test_the_slope_of_none_is_scikit_learns() -> None:
    """A logistic regression through the even point, with classes that weigh the same and next to no penalty."""
    random = np.random.default_rng(0)
    inside, outside, even = random.normal(-6, 1, 300), random.normal(-3, 2, 90), -4.5
    x, y = np.concatenate([inside, outside])[:, None] - even, np.repeat([0, 1], [300, 90])
    model = LogisticRegression(fit_intercept=False, C=1e9, class_weight="balanced", tol=1e-10).fit(x, y)
    assert fit_slope(inside, outside, even) == pytest.approx(float(model.coef_[0, 0]), rel=1e-4)
    assert fit_slope(inside, np.array([]), even) == 1


def test_none_is_as_rare_at_the_median_as_images_lie_beyond_the_limit() -> None:
    inside = np.array([1.0, 2.0, 7.0])
    slope = slope_of_typical(inside, even=5.0, beyond=0.02)
    assert 1 / (1 + np.exp(-slope * (2.0 - 5.0))) == pytest.approx(0.02)
