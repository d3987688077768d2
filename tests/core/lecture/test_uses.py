"""Published sizes, hand counts and PyTorch's own layers beside the numbers of the pages on uses and on matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.lecture import attention_steps, matrices, tokens, uses


def test_published_models_have_their_published_parameters() -> None:
    """Of the checkpoints bert-base-uncased, gpt2 and t5-base."""
    assert [uses.family_parameters(one) for one in uses.FAMILIES] == [109_482_240, 124_439_808, 222_903_552]


def test_peers_are_counted_with_their_lstm_and_their_attention() -> None:
    tlob, deeplob, translob = uses.peers()
    assert (tlob.parameters, tlob.macs) == (883_179, 48_379_264)
    assert deeplob.macs == 10_436_800 + 128 * 4 * 64 * (96 + 64)  # convolutions and head, then the LSTM by hand
    convolutions, blocks = 128 * 2 * 14 * (40 + 4 * 14), 2 * (12 * 128 * 15**2 + 2 * 128**2 * 15)
    assert translob.macs == convolutions + blocks + 128 * 15 * 64 + 64 * 3


@pytest.mark.parametrize("role", ["q", "k", "v"])
def test_only_values_leave_the_weights_alone(role: uses.Role) -> None:
    x, weights = tokens.embed(["a", "b", "c", "d"], 4), attention_steps.random_weights(4)
    moved, mixed = uses.role_study(x, weights, role=role, word=1, factor=3.0).moved
    assert (moved == 0) == (role == "v") and mixed > 1e-3


def test_the_notebooks_ids_tell_one_cat_from_the_other() -> None:
    assert len(set(uses.cat_ids(as_written=True))) == 6 and len(set(uses.cat_ids(as_written=False))) == 5


def test_layer_norm_needs_its_root() -> None:
    x = np.array([1.0, 2.0, 4.0, 9.0])
    right, written = uses.without_root(x)
    assert np.allclose(right, torch.nn.functional.layer_norm(torch.tensor(x), (4,)))
    assert np.allclose(uses.without_root(10 * x)[0], right, atol=1e-5) and np.allclose(
        uses.without_root(10 * x)[1], written / 10, atol=1e-5
    )


def test_matrices_are_what_numpy_says() -> None:
    for operation in matrices.OPERATIONS:
        a, b = matrices.operands(operation, first=1.5)
        made = {"product": lambda a=a, b=b: a @ b, "difference": lambda a=a, b=b: a - b, "scaled": lambda a=a, b=b: a * b}
        assert np.allclose(matrices.compute(operation, a, b), made.get(operation, lambda a=a, b=b: a + b)())
    x = matrices.example(level=2.0)
    assert np.allclose(matrices.standardised(x, "rows").mean(axis=1), 0)
    assert np.isclose(matrices.standardised(x, "whole").std(), 1)
    assert matrices.reshaped("concatenate", x[:3, :4]).shape == (3, 8)
