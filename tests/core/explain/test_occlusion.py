"""Occlusion against closed forms and against painting the input by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from core.explain.occlusion import NEVER, answers_without, occlusion, without

WEIGHT = torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]], dtype=torch.float64)


def linear(x: Tensor) -> Tensor:
    return (x * WEIGHT).sum(dim=(1, 2))


def test_a_linear_function_loses_each_parts_own_share() -> None:
    x, base = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    by_columns = occlusion(linear, x, base, torch.arange(3)[None])
    np.testing.assert_allclose(by_columns, ((x - base) * WEIGHT).sum(dim=0).numpy(), atol=1e-12)
    by_rows = occlusion(linear, x, base, torch.arange(2)[:, None])
    np.testing.assert_allclose(by_rows, ((x - base) * WEIGHT).sum(dim=1).numpy(), atol=1e-12)


def test_a_product_loses_all_by_any_factor() -> None:
    x = torch.tensor([2.0, 3.0, 4.0])
    found = occlusion(lambda z: z.prod(dim=1), x, torch.zeros(3), torch.arange(3))
    np.testing.assert_array_equal(found, [24, 24, 24])


def test_hidden_parts_hold_the_baseline_and_nothing_else_changes() -> None:
    x, base = torch.arange(6.0).reshape(2, 3), -torch.ones(2, 3)
    parts = torch.tensor([[0, 0, 1], [NEVER, 1, 2]])
    hidden = np.array([[True, False, False], [False, True, True], [True, True, True]])
    copies = without(x, base, parts, hidden)
    np.testing.assert_array_equal(
        copies.numpy(), [[[-1, -1, 2], [3, 4, 5]], [[0, 1, -1], [3, -1, -1]], [[-1, -1, -1], [3, -1, -1]]]
    )


def test_batches_change_nothing() -> None:
    x, base, parts = torch.randn(2, 3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64), torch.arange(6).reshape(2, 3)
    hidden = np.random.default_rng(0).random((11, 6)) < 0.5
    whole, small = (answers_without(linear, x, base, parts, hidden, batch=size) for size in (64, 2))
    np.testing.assert_array_equal(whole, small)


def test_a_baseline_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        without(torch.zeros(2, 3), torch.zeros(3, 2), torch.zeros(1, 1, dtype=torch.int64), np.zeros((1, 1), dtype=bool))
