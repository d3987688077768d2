"""Positional encodings against their closed forms, a number at a time."""

import math

import pytest
import torch

from core.nn import LearnedPositions, SinusoidalPositions, sinusoidal_encoding


def closed_form(position: int, channel: int, width: int, base: float, doubled: bool) -> float:
    pair = channel // 2
    exponent = (4 if doubled else 2) * pair / width
    angle = position / base**exponent
    return math.sin(angle) if channel % 2 == 0 else math.cos(angle)


@pytest.mark.parametrize("width", [8, 7, 1])
@pytest.mark.parametrize("base", [10_000.0, 50.0])
@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_encoding_equals_the_closed_form(width: int, base: float, doubled: bool, scale: float) -> None:
    found = sinusoidal_encoding(130, width, base=base, scale=scale, doubled_exponent=doubled)
    expected = [[scale * closed_form(p, c, width, base, doubled) for c in range(width)] for p in range(130)]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.tensor(expected), atol=2e-7, rtol=0)


def test_sinusoidal_positions_add_the_first_rows_and_hold_nothing() -> None:
    layer = SinusoidalPositions(12, 4)
    x = torch.randn(2, 5, 4)
    torch.testing.assert_close(layer(x) - x, sinusoidal_encoding(12, 4)[:5].expand(2, 5, 4))
    assert list(layer.parameters()) == []
    assert layer.state_dict() == {}


def test_learned_positions_add_a_trained_vector_a_step() -> None:
    layer = LearnedPositions(6, 3)
    layer(torch.zeros(4, 5, 3)).sum().backward()
    gradient = layer.encoding.grad
    assert gradient is not None
    assert gradient[0].tolist() == [[4.0] * 3] * 5 + [[0.0] * 3]  # once a batch entry; the sixth step was not there
    torch.testing.assert_close(layer(torch.zeros(1, 6, 3)), layer.encoding)


def test_learned_positions_start_at_the_documents_spread() -> None:
    torch.manual_seed(0)
    assert LearnedPositions(200, 50).encoding.std().item() == pytest.approx(1, abs=0.03)
