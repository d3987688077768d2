"""Three shipped models on bundled things: their own weights again, and temperature by PyTorch's softmax and by powers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from core.explain.summaries import effective_keys
from core.lecture import three_models
from core.lecture.three_models import ModelLook
from core.nn import scaled_dot_product_attention


@pytest.fixture(scope="module")
def looks() -> tuple[ModelLook, ModelLook, ModelLook]:
    return three_models.looks()


def test_at_temperature_one_the_weights_are_the_models_own(looks: tuple[ModelLook, ModelLook, ModelLook]) -> None:
    assert [look.thing for look in looks] == ["book", "garment", "hand"]
    assert three_models.deviation(looks) < 1e-4
    for look in looks:
        n = len(look.places)
        assert all(one.weights.shape == (n, n) for layer in look.heads for one in layer) and 0 <= look.query < n
        assert look.heads[0][0].weights.tolist() != look.heads[1][0].weights.tolist()
    book, garment, hand = looks
    assert len(book.seen) == 128 and book.places[-1] == 0 and np.diff(book.places) == pytest.approx(0.25)
    assert (len(garment.seen) // garment.patch) ** 2 + 1 == len(garment.places) and len(hand.seen) == len(hand.places)


@pytest.mark.parametrize("tau", [0.02, 0.5, 1.0, 3.0, 100.0])
def test_temperature_is_pytorchs_softmax_of_the_scores_over_it(looks: tuple[ModelLook, ModelLook, ModelLook], tau: float) -> None:
    for look in looks:
        for one in (head for layer in look.heads for head in layer):
            q, k = torch.from_numpy(one.q), torch.from_numpy(one.k)
            _mixed, weights = scaled_dot_product_attention(q / tau, k, k, return_weights=True)
            assert weights is not None
            np.testing.assert_allclose(one.at(tau), weights.numpy(), rtol=1e-9, atol=1e-12)
            powers = np.exp((logs := np.log(np.maximum(one.at(1.0), 1e-300)) / tau) - logs.max(axis=1, keepdims=True))
            np.testing.assert_allclose(one.at(tau), powers / powers.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-12)


def test_the_spread_is_scipys_entropy_and_grows_with_the_temperature(looks: tuple[ModelLook, ModelLook, ModelLook]) -> None:
    for look in looks:
        rows = [look.head(True, 4).at(tau)[look.query] for tau in (0.02, 0.5, 1.0, 5.0, 1e4)]
        spreads = [three_models.spread(look, row) for row in rows]
        assert [one.entropy for one in spreads] == pytest.approx([float(stats.entropy(row)) for row in rows], abs=1e-9)
        assert (np.diff([one.entropy for one in spreads]) >= 0).all() and spreads[-1].share == pytest.approx(1, abs=1e-3)
        assert spreads[2].effective == pytest.approx(effective_keys(stats.entropy(rows[2])))
        assert look.head(True, 4) is look.heads[1][-1]
