"""Integrated gradients: completeness, closed forms and captum; inputs that were planted are found in `core.market`."""

import numpy as np
import pytest
import torch
from torch import Tensor

from core.explain.attribution import GradientError, class_probability, integrated_gradients, tlob_baseline
from core.market.calibration import MOVING, CallRule
from core.models.tlob import TLOB, TLOBConfig


def small_tlob(seed: int, *, outputs: int = 1, sharp: float = 1.0) -> TLOB:
    torch.manual_seed(seed)
    model = TLOB(TLOBConfig(steps=16, width=8, pairs=1, outputs=outputs, qkv="single", dropout=0.0))
    with torch.no_grad():
        model.bin_norm.batch_norm.running_mean.uniform_(-0.5, 0.5)
        for parameter in model.parameters():
            parameter.mul_(sharp)
    return model.eval()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_attributions_sum_to_the_difference_within_one_percent(seed):
    model = small_tlob(seed, sharp=1.5)
    x = torch.randn(16, 40) * 2
    for label in range(3):
        found = integrated_gradients(class_probability(model, label=label), x, tlob_baseline(x))
        assert abs(found.gap) <= 0.01 * abs(found.difference)
        assert found.values.shape == (16, 40)


def test_what_the_instance_norm_does_at_the_baseline_is_not_missed():
    # x / sqrt(x^2 + 1e-5) is all but finished after the first hundredth of the way.
    def jump(x: Tensor) -> Tensor:
        return (x / (x.square() + 1e-5).sqrt()).sum(dim=-1)

    x, zero = torch.tensor([2.0, -0.5, 1.0], dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    found = integrated_gradients(jump, x, zero)
    np.testing.assert_allclose(found.values, [1, -1, 1], atol=0.005)


def test_closed_forms():
    weight = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    x, base = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64), torch.tensor([1.0, 0.0, -2.0], dtype=torch.float64)
    linear = integrated_gradients(lambda z: z @ weight, x, base)
    np.testing.assert_allclose(linear.values, (weight * (x - base)).numpy(), atol=1e-6)
    product = integrated_gradients(lambda z: z[:, 0] * z[:, 1] * z[:, 2], x, torch.zeros_like(x))
    np.testing.assert_allclose(product.values, np.full(3, 6.0 / 3), atol=1e-6)
    assert product.output == 6.0
    assert product.baseline_output == 0.0


def test_against_captum():
    from captum.attr import IntegratedGradients  # here, as it loads matplotlib

    def steep(x: Tensor) -> Tensor:
        return torch.tanh(3 * x).prod(dim=-1)

    x, base = torch.tensor([0.9, -0.4, 0.7], dtype=torch.float64), torch.tensor([0.1, 0.3, -0.2], dtype=torch.float64)
    wanted = IntegratedGradients(steep).attribute(x[None], base[None], n_steps=64, method="gausslegendre")[0]
    found = integrated_gradients(steep, x, base)
    np.testing.assert_allclose(found.values, wanted.detach().numpy(), atol=1e-4)


def test_the_probability_is_the_one_the_rule_gives():
    model = small_tlob(4, outputs=3)
    rule = CallRule(temperature=1.7, bias=-0.4)
    x = torch.randn(5, 16, 40)
    with torch.no_grad():
        for output in range(3):
            wanted = rule.probabilities(model(x)[:, output].numpy())
            for label in range(3):
                function = class_probability(
                    model, label=label, output=output, temperature=rule.temperature, offsets=rule.bias * MOVING
                )
                np.testing.assert_allclose(function(x).numpy(), wanted[:, label], atol=1e-6)


def test_the_baseline_stands_still():
    x = torch.randn(16, 40)
    np.testing.assert_allclose(tlob_baseline(x).numpy(), np.tile(x.numpy().mean(axis=0), (16, 1)), atol=1e-6)


def test_a_cliff_on_the_way_is_cut_until_it_fits():
    # A logistic step a thousandth wide at 0.3 of the way: no rule of a few nodes sees it, the known ends of the pieces do.
    def cliff(x: Tensor) -> Tensor:
        return torch.sigmoid((x.mean(dim=-1) - 0.3) * 1000)

    x, zero = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    found = integrated_gradients(cliff, x, zero)
    assert abs(found.gap) <= 0.005
    np.testing.assert_allclose(found.values, 0.25, atol=0.002)


def test_a_baseline_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="does not fit"):
        integrated_gradients(lambda z: z.sum(dim=(1, 2)), torch.zeros(4, 3), torch.zeros(3, 4))


def test_gradients_that_are_no_numbers_are_said_to_be_none():
    # 0 * inf: a model far outside of its training range, whose softmax is saturated and whose scale has overflown.
    def overflown(x: Tensor) -> Tensor:
        return (x.sum(dim=-1) * 1e38).exp().reciprocal()

    with pytest.raises(GradientError, match="no finite gradients"):
        integrated_gradients(overflown, torch.full((3,), 50.0), torch.full((3,), 40.0))
