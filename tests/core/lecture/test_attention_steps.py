"""The steps against PyTorch's multi-head layer, a loop, and what masks and temperatures must do."""

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from torch import nn
from torch.nn import functional as F

from core.lecture import attention_steps, tokens
from core.lecture.attention_steps import Mask, build_mask, steps
from core.lecture.tokens import TokenError
from core.nn import MultiHeadAttention

X = tokens.embed(["the", "cat", "is", "a", "lovely", "cat"], 8)
WEIGHTS = attention_steps.random_weights(8, seed=2)


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("mask", get_args(Mask))
def test_the_steps_end_where_pytorchs_layer_ends(heads: int, mask: attention_steps.Mask) -> None:
    allowed = build_mask(mask, len(X), window=1, kept=4)
    found = steps(X, WEIGHTS, heads=heads, mask=allowed)
    twin = nn.MultiheadAttention(8, heads, bias=False, batch_first=True).double()
    ours = MultiHeadAttention(8, heads).double()
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.tensor(np.concatenate([WEIGHTS[name].T for name in ("W_Q", "W_K", "W_V")])))
        twin.out_proj.weight.copy_(torch.tensor(WEIGHTS["W_O"].T))
        for part, name in ((ours.q, "W_Q"), (ours.k, "W_K"), (ours.v, "W_V"), (ours.out, "W_O")):
            part.weight.copy_(torch.tensor(WEIGHTS[name].T))
            part.bias.zero_()
    x = torch.tensor(X)[None]
    wanted, weights = twin(x, x, x, attn_mask=torch.tensor(~allowed), average_attn_weights=False)
    np.testing.assert_allclose(found.weights, weights[0].detach(), atol=1e-12)
    np.testing.assert_allclose(found.output, wanted[0].detach(), atol=1e-12)
    shared, maps = ours(x, mask=torch.tensor(allowed), return_attention=True)
    np.testing.assert_allclose(found.output, shared[0].detach(), atol=1e-12)
    np.testing.assert_allclose(found.weights, maps[0].detach(), atol=1e-12)


def test_every_step_follows_from_the_one_before() -> None:
    found = steps(X, WEIGHTS, heads=2, mask=build_mask("causal", len(X)), temperature=0.7)
    for head in range(2):
        for i in range(len(X)):
            scores = [sum(found.q[head, i, c] * found.k[head, j, c] for c in range(4)) for j in range(len(X))]
            np.testing.assert_allclose(found.raw[head, i], scores, atol=1e-12)
            exponentials = [math.exp(score / (0.7 * math.sqrt(4))) if j <= i else 0.0 for j, score in enumerate(scores)]
            weights = np.array(exponentials) / sum(exponentials)
            np.testing.assert_allclose(found.weights[head, i], weights, atol=1e-12)
            mixed = sum(weights[j] * found.v[head, j] for j in range(len(X)))
            np.testing.assert_allclose(found.mixed[head, i], mixed, atol=1e-12)
            np.testing.assert_allclose(found.weighted_values(head, i).sum(axis=0), mixed, atol=1e-12)
            np.testing.assert_allclose(found.weighted_values(head, i)[-1], weights[-1] * found.v[head, -1], atol=1e-12)
            np.testing.assert_allclose(found.joined[i, 4 * head : 4 * head + 4], mixed, atol=1e-12)
            wanted = -sum(w * math.log(w) for w in weights if w > 0)
            assert found.entropy[head, i] == pytest.approx(wanted)
    np.testing.assert_allclose(torch.tensor(found.masked).softmax(dim=-1), found.weights, atol=1e-12)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(attention_steps.concatenate_heads(attention_steps.split_heads(X, 4)), X)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_deviation_from_torch_is_that_of_the_output(temperature: float) -> None:
    allowed = build_mask("causal", len(X))
    allowed[0] = False  # sees nothing: left out
    found = steps(X, WEIGHTS, heads=2, mask=allowed, temperature=temperature)
    assert attention_steps.deviation_from_torch(found, WEIGHTS) < 1e-12
    for by in (0.25, -0.5):
        moved = replace(found, output=found.output + by * np.eye(len(X), 8, -2))
        assert attention_steps.deviation_from_torch(moved, WEIGHTS) == pytest.approx(abs(by))


def test_operands_are_the_matrices_of_a_head() -> None:
    found = steps(X, WEIGHTS, heads=2, mask=build_mask("causal", len(X)), temperature=0.7)
    got = found.operands(1, 3)
    assert got["root"].tolist() == [[pytest.approx(0.7 * 2)]]
    np.testing.assert_allclose(got["Q"] @ got["K"].T / got["root"], got["scaled"], atol=1e-12)
    np.testing.assert_allclose(np.sum(got["row"] * got["V"], axis=0), found.mixed[1, 3], atol=1e-12)
    np.testing.assert_allclose(got["masked"], np.where(got["mask"] > 0, got["scaled"], -np.inf))


def test_weights_drawn_are_of_the_size_that_keeps_a_vectors_length() -> None:
    assert attention_steps.random_weights(64)["W_K"].std() == pytest.approx(1 / 8, rel=0.05)


def test_masks() -> None:
    assert build_mask("none", 3).all()
    np.testing.assert_array_equal(build_mask("causal", 3), np.tril(np.ones((3, 3))) > 0)
    np.testing.assert_array_equal(build_mask("padding", 3, kept=2), [[True, True, False]] * 3)
    for window in (0, 2):
        near = [[abs(i - j) <= window for j in range(6)] for i in range(6)]
        assert build_mask("window", 6, window=window).tolist() == near, "to both sides"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        steps(X, WEIGHTS, temperature=0)
    with pytest.raises(ValueError, match="cannot be shared"):
        steps(X, WEIGHTS, heads=3)


def test_a_word_is_its_row_of_a_table() -> None:
    """Against PyTorch's own look-up in a table with one row for each different word."""
    words, vocabulary = ["A", "cat", "is", "a", "Cat"], ["a", "cat", "is"]
    table = torch.tensor(np.stack([tokens.random_numbers(f"word 3 {word}", (8,)) for word in vocabulary]))
    numbers = torch.tensor([vocabulary.index(word.lower()) for word in words])
    np.testing.assert_array_equal(tokens.embed(words, 8, seed=3), F.embedding(numbers, table).numpy())


def test_words() -> None:
    np.testing.assert_array_equal(X[1], X[5])  # the same word, the same vector
    assert tokens.unique_names(["a", "b", "a"]) == ["a", "b", "a·2"]
    np.testing.assert_array_equal(np.round(X, 2), X)
    assert tokens.random_numbers("any", (4000,)).std() == pytest.approx(1, abs=0.05)
    for sentence in ("", "a " * 13):
        with pytest.raises(TokenError, match="write 1 to 12"):
            tokens.split_words(sentence)


@pytest.mark.parametrize("role", get_args(attention_steps.Role))
def test_only_values_leave_the_weights_alone(role: attention_steps.Role) -> None:
    looks, output = attention_steps.role_study(X, WEIGHTS, role=role, word=1, factor=3.0)
    assert (looks.largest == 0) == np.array_equal(looks.before, looks.after) == (role == "v") and output.largest > 1e-3
    given = {one: torch.tensor(X @ WEIGHTS[f"W_{one.upper()}"]) for one in "qkv"}
    np.testing.assert_allclose(output.before, F.scaled_dot_product_attention(*given.values()), atol=1e-12)
    given[role][1] *= 3.0
    np.testing.assert_allclose(output.after, F.scaled_dot_product_attention(*given.values()), atol=1e-12)


def test_an_even_look_has_the_entropy_of_its_weights_in_nats() -> None:
    mask = np.array([[True, False, False], [True, True, True], [False, False, False]])
    assert [attention_steps.even_weights(row).tolist() for row in mask] == [[1, 0, 0], [1 / 3] * 3, [0, 0, 0]]
    np.testing.assert_allclose(attention_steps.even_entropies(mask)[:2], entropy([[1, 0, 0], [1 / 3] * 3], axis=1), atol=1e-12)
    assert attention_steps.even_entropies(mask)[2] == 0
