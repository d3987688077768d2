"""Masks against the sentence that defines each, cell by cell."""

import pytest
import torch

from core.nn import causal_mask, padding_mask, window_mask


@pytest.mark.parametrize("length", [1, 2, 9])
def test_causal(length: int) -> None:
    assert causal_mask(length).tolist() == [[j <= i for j in range(length)] for i in range(length)]


@pytest.mark.parametrize("window", [0, 1, 3, 5, 6, 100])
def test_window(window: int) -> None:
    assert window_mask(7, window).tolist() == [[abs(i - j) <= window for j in range(7)] for i in range(7)]


def test_negative_window_is_refused() -> None:
    with pytest.raises(ValueError, match="window of -1"):
        window_mask(4, -1)


def test_padding() -> None:
    mask = padding_mask(torch.tensor([2, 0, 4]), 4)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[True, True, False, False], [False] * 4, [True] * 4]
