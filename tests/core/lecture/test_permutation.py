"""Shuffled tokens: each claim of D21, with PyTorch's own layer as witness."""

import numpy as np
import pytest
import torch
from torch import nn

from core.lecture import activations, attention_steps, permutation, tokens
from core.lecture.permutation import shuffle

X = tokens.embed(["one", "two", "three", "four", "five"], 8)
WEIGHTS = attention_steps.random_weights(8)
ORDER = [3, 0, 4, 1, 2]


def test_the_permutation_matrix_moves_rows() -> None:
    p = permutation.permutation_matrix(ORDER)
    np.testing.assert_array_equal(p @ X, X[ORDER])
    np.testing.assert_array_equal(p @ p.T, np.eye(5))
    with pytest.raises(ValueError, match="no order of 3 tokens"):
        permutation.permutation_matrix([0, 0, 1])


def test_softmax_commutes_with_a_permutation() -> None:
    p = permutation.permutation_matrix(ORDER)
    m = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moved = permutation.permute_map(m.numpy(), p)
    np.testing.assert_array_equal(moved, m[ORDER][:, ORDER])  # rows and columns alike, as indexing moves them
    expected = m.softmax(dim=-1)[ORDER][:, ORDER]
    np.testing.assert_allclose(activations.softmax(torch.tensor(moved)), expected, atol=1e-14)
    np.testing.assert_allclose(permutation.permute_map(m.softmax(dim=-1).numpy(), p), expected, atol=1e-14)


def test_pytorchs_layer_is_equivariant_too() -> None:
    x, layer = torch.tensor(X)[None], nn.MultiheadAttention(8, 2, bias=False, batch_first=True).double()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.tensor(np.concatenate([WEIGHTS[name].T for name in ("W_Q", "W_K", "W_V")])))
        layer.out_proj.weight.copy_(torch.tensor(WEIGHTS["W_O"].T))
        (z, a), (z_moved, a_moved) = (layer(y, y, y, average_attn_weights=False) for y in (x, x[:, ORDER]))
    found = shuffle(X, WEIGHTS, ORDER, heads=2)
    np.testing.assert_allclose(found.before.output, z[0], atol=1e-12)
    np.testing.assert_allclose(found.after.output, z_moved[0], atol=1e-12)
    np.testing.assert_allclose(found.moved @ WEIGHTS["W_O"], z[0][ORDER], atol=1e-12)
    np.testing.assert_allclose(found.after.weights, a_moved[0], atol=1e-12)
    np.testing.assert_allclose(permutation.permute_map(found.before.weights, found.p), a[0][:, ORDER][:, :, ORDER], atol=1e-12)
    for name, moved, still in (("W_Q", found.after.q, found.before.q), ("W_K", found.after.k, found.before.k)):
        np.testing.assert_allclose(moved, still[:, ORDER], atol=1e-12)
        np.testing.assert_allclose(np.concatenate(list(moved), axis=1), X[ORDER] @ WEIGHTS[name], atol=1e-12)
    np.testing.assert_allclose(np.concatenate(list(found.after.v), axis=1), X[ORDER] @ WEIGHTS["W_V"], atol=1e-12)
    np.testing.assert_allclose(permutation.pooled(found.after.joined) @ WEIGHTS["W_O"], z[0].mean(dim=0), atol=1e-12)


@pytest.mark.parametrize(
    ("positions", "causal", "equivariant", "invariant"),
    [
        (False, "none", True, True),
        (True, "none", False, False),
        (False, "fixed", False, False),
        (False, "permuted", True, True),
        (True, "permuted", False, False),
    ],
)
@pytest.mark.parametrize("heads", [1, 2])
def test_what_holds_when(positions: bool, causal: permutation.Causal, equivariant: bool, invariant: bool, heads: int) -> None:
    found = shuffle(X, WEIGHTS, ORDER, heads=heads, positions=positions, causal=causal)
    assert found.equivariant is equivariant and found.invariant is invariant
    assert (found.rows > 0.01) is not equivariant
    np.testing.assert_allclose(found.moved, found.before.joined[ORDER])
    assert found.rows == np.abs(found.after.joined - found.before.joined[ORDER]).max()


def test_the_original_order_changes_nothing() -> None:
    found = shuffle(X, WEIGHTS, range(5), positions=True, causal="fixed")
    assert found.rows == 0 and found.pool == 0 and found.maps == 0


def test_a_shuffle_is_never_the_order_it_began_with() -> None:
    orders = [permutation.random_order(3, seed) for seed in range(20)]
    assert all(sorted(order) == [0, 1, 2] and order != [0, 1, 2] for order in orders)
    assert permutation.random_order(1, 0) == [0] and permutation.random_order(2, 0) == [1, 0]


def test_operands_are_those_of_head_one() -> None:
    found = shuffle(X, WEIGHTS, ORDER, heads=2)
    got = found.operands
    weights = torch.tensor(got["S'"]).softmax(dim=-1).numpy()
    np.testing.assert_allclose(got["map_after"], weights, atol=1e-12)
    np.testing.assert_allclose(weights @ got["V'"], got["after"][:, : got["V'"].shape[1]], atol=1e-12)
    np.testing.assert_allclose(got["p"] @ got["Z"], got["pz"], atol=1e-12)


def test_orders_as_people_write_them() -> None:
    assert permutation.read_order("3, 1 2", 3) == [2, 0, 1]
    assert permutation.read_order(permutation.write_order(ORDER), 5) == ORDER
    assert permutation.read_order("1 2 " + "3" * 4_400, 3) is None, "more digits than Python's int takes"
    for text in ("", None, "1 2", "1 1 2", "0 1 2", "a b c", "1 2 4", "-1 2 3"):
        assert permutation.read_order(text, 3) is None
