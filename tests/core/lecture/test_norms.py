"""Normalisations, dropout and the depth study against PyTorch's layers."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from core.lecture import norms as n
from core.nn import BiN
from pages.shared.language import prose_section

X = n.example_batch()
ACROSS = X.transpose(1, 2)
THEIRS: dict[n.Norm, torch.Tensor] = {
    "layer": F.layer_norm(X, X.shape[-1:]),
    "batch": nn.BatchNorm1d(X.shape[-1]).double()(ACROSS).transpose(1, 2).detach(),
    "instance": F.instance_norm(ACROSS).transpose(1, 2),
    "bin": BiN(X.shape[-1]).double()(ACROSS).transpose(1, 2).detach(),
    "none": X,
}
"""The example by PyTorch's layers, and by TLOB's."""


def test_shifted_scores_are_pytorchs() -> None:
    scores, safe, plain = n.softmax_pair(1.5)
    assert scores.tolist() == [1.5, 2.5, 3.5, 2.0, 0.5]
    for weights in (safe, plain):
        np.testing.assert_allclose(weights, torch.tensor(scores).softmax(dim=0), atol=1e-6)


def test_each_norm_is_pytorchs() -> None:
    for name in get_args(n.Norm):
        torch.testing.assert_close(n.normalise(X, name), THEIRS[name])
    gamma, beta = torch.rand(2, X.shape[-1], dtype=torch.float64)
    torch.testing.assert_close(n.layer_norm(X), THEIRS["layer"])
    torch.testing.assert_close(n.layer_norm(X, gamma, beta), F.layer_norm(X, X.shape[-1:], gamma, beta))


@pytest.mark.parametrize("norm", get_args(n.Norm))
def test_one_entry_by_its_own_numbers_is_the_layers(norm: n.Norm) -> None:
    """Mean and variance of the members that `group` names, by NumPy; the entry by PyTorch's layer."""
    sample, step, channel = 1, 5, 2
    cell = n.example_cell(norm, level=3.0, sample=sample, step=step, channel=channel)
    wanted = float(THEIRS[norm][sample, step, channel])
    assert cell.x == X[sample, step, channel] and cell.y == pytest.approx(wanted, abs=1e-9)
    members = np.concatenate(
        [X[one, low : high + 1, left : right + 1].flatten() for one, (left, right, low, high) in cell.group.items()]
    )
    assert cell.count == len(members)
    assert (cell.means[0], cell.variances[0]) == (pytest.approx(members.mean()), pytest.approx(members.var()))
    if norm != "none":
        assert n.normalised_entry(cell.x, *np.ravel([cell.means, cell.variances], "F")) == pytest.approx(cell.y, abs=1e-9)
    assert len(cell.means) == len(cell.variances) == (2 if norm == "bin" else 1)


def test_the_dropout_example_is_what_it_says() -> None:
    example = n.dropout_example(0.4)
    np.testing.assert_allclose(example.after, example.kept * example.before / 0.6)
    assert example.before.shape == (5, 8) and set(np.unique(example.kept)) == {0, 1}
    whole = n.dropout_example(0.0)
    assert (whole.before == 0).any() and whole.kept.mean() == 1, "an entry that is 0 is kept like any other"


def test_moments_and_the_whole_matrix() -> None:
    mean, variance = n.moments(X, (2,))
    torch.testing.assert_close(mean[..., 0], X.mean(dim=2))
    torch.testing.assert_close(variance[..., 0], X.var(dim=2, unbiased=False))
    whole = n.normalise_matrix(X[0])
    assert float(whole.mean()) == pytest.approx(0, abs=1e-12) and float(whole.std(unbiased=False)) == pytest.approx(1)
    assert not n.normalise_matrix(torch.full((2, 3), 7.0)).any()


def test_a_constant_channel_stays_finite() -> None:
    flat = torch.zeros(2, 5, 3, dtype=torch.float64)
    for name in get_args(n.Norm):
        assert torch.isfinite(n.normalise(flat, name)).all()


def test_dropout_is_pytorchs_with_the_same_draws() -> None:
    x = torch.randn(50, 40)
    torch.manual_seed(3)
    theirs = F.dropout(x, 0.3)
    draws = torch.where(theirs == 0, 0.99, 0.0)
    torch.testing.assert_close(n.dropout(x, 0.3, draws), theirs)
    assert n.dropout(x, 0.0, draws).equal(x)
    with pytest.raises(ValueError, match="must be 0 or more and below 1"):
        n.dropout(x, 1.0, draws)
    assert "PyTorch's `nn.Dropout(p)`, p is the probability of dropping" in prose_section("learn_norms", "dropout")


def test_dropout_keeps_the_expectation() -> None:
    means = n.dropout_means(0.4, values=200, draws=2000)
    assert means.mean() == pytest.approx(1, abs=0.005)
    assert means.std() == pytest.approx(np.sqrt(0.4 / 0.6 / 200), rel=0.1)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_last_gradient_is_that_of_the_whole_stack(pre_norm: bool) -> None:
    from core.nn import EncoderLayer

    found = n.last_gradient(2, pre_norm=pre_norm, width=8, heads=2, tokens=4, seed=5)
    torch.manual_seed(5)
    stack = nn.Sequential()
    layers = [EncoderLayer(8, 2, 32, pre_norm=pre_norm) for _ in range(2)]
    for layer in layers:
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
    x, read = torch.randn(8, 4, 8), torch.randn(8, 10) / 8**0.5
    stack.extend(layers)
    for layer in layers:
        x = layer(x)[0]
    ((F.layer_norm(x, (8,)) if pre_norm else x) @ read).square().mean().backward()
    total = torch.sqrt(sum((p.grad.square().sum() for p in layers[-1].parameters() if p.grad is not None), torch.tensor(0.0)))
    assert found == pytest.approx(float(total), rel=1e-4)


def test_the_last_gradient_grows_with_depth_in_post_norm_alone() -> None:
    """Xiong et al. 2020, theorem 1: the ratio of both bounds is the root of the number of layers."""
    post, pre = (n.last_gradients(pre_norm=flag).mean(axis=0) for flag in (False, True))
    assert (np.diff(post) > 0).all() and post[0] == pytest.approx(1.1, abs=0.05) and post[-1] == pytest.approx(3.7, abs=0.1)
    assert abs(pre - 0.8).max() < 0.1
    np.testing.assert_allclose(post / pre, np.sqrt(n.DEPTHS), rtol=0.3)
