"""The encoding taken apart, against trigonometry and against what is known of it in closed form."""

import math

import numpy as np
import pytest
import torch
from safetensors import safe_open

from core import checkpoints
from core.lecture import positions
from core.lecture.positions import encoding
from core.models.vit import ViT, ViTConfig
from core.nn import SinusoidalPositions

WIDTH = 16


def test_the_doubled_exponent_is_the_base_squared() -> None:
    """D11: the identity that explains the report's listing, which `tests/core/nn/test_positions.py` writes out."""
    doubled = encoding(40, WIDTH, base=100.0, doubled_exponent=True)
    np.testing.assert_allclose(doubled, encoding(40, WIDTH, base=10_000.0), atol=1e-6)
    assert positions.still_channels(encoding(50, 64, doubled_exponent=True)) > positions.still_channels(encoding(50, 64))


def test_wavelengths_come_round() -> None:
    lengths = positions.wavelengths(WIDTH, base=100.0)
    assert lengths[0] == pytest.approx(2 * math.pi) and lengths[4] == pytest.approx(2 * math.pi * 100**0.5)


def test_dot_products_depend_on_the_shift_alone() -> None:
    products = positions.dot_products(encoding(40, WIDTH, base=300.0))
    by_shift = positions.dot_product_by_shift(np.arange(40), WIDTH, base=300.0)
    i, j = np.indices((40, 40))
    np.testing.assert_allclose(products, by_shift[np.abs(i - j)], atol=1e-5)
    np.testing.assert_allclose(products[7], positions.dot_product_by_shift(range(-7, 33), WIDTH, base=300.0), atol=1e-5)
    assert by_shift[0] == pytest.approx(WIDTH / 2)


def test_distances() -> None:
    matrix = encoding(12, WIDTH)
    products = positions.dot_products(matrix)
    squares = np.diag(products)[:, None] + np.diag(products)[None, :] - 2 * products
    np.testing.assert_allclose(positions.distances(matrix), np.sqrt(np.maximum(squares, 0)), atol=1e-6)


@pytest.mark.parametrize("shift", [1, 7])
def test_a_shift_is_a_rotation(shift: int) -> None:
    turn = positions.rotation(WIDTH, shift)
    np.testing.assert_allclose(turn @ turn.T, np.eye(WIDTH), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1)
    assert positions.shift_residual(encoding(50, WIDTH), shift, turn) < 1e-6
    assert positions.shift_residual(encoding(50, WIDTH), shift, np.eye(WIDTH)) > 0.1
    np.testing.assert_allclose(np.linalg.matrix_power(positions.rotation(WIDTH, 1), shift), turn, atol=1e-12)


def test_an_entry_is_the_closed_form() -> None:
    at = positions.entry(3, 2, 8)
    assert (at.frequency, at.angle, at.wavelength) == pytest.approx((0.01, 0.03, 2 * math.pi / 0.01))
    assert (at.sine, at.cosine) == pytest.approx((math.sin(0.03), math.cos(0.03)))
    assert positions.turned_pair(0, -1, 1, 0, 3, 4).tolist() == [-4, 3]  # a quarter turn


@pytest.mark.parametrize("shift", [0, 10, 11])
def test_impossible_shifts_are_refused(shift: int) -> None:
    with pytest.raises(ValueError, match="leaves no pair among 10 positions: take one from 1 to 9"):
        positions.shift_residual(encoding(10, 4), shift, positions.rotation(4, shift))
    with pytest.raises(ValueError, match="without its cosine"):
        positions.rotation(5, 1)


def test_scaled_positions_beside_what_they_are_added_to() -> None:
    """vit-report 1.5 and 2.1: X + 0.1 PE by the closed form, and the share of each in the sum by plain arithmetic."""
    x = np.random.default_rng(0).normal(size=(9, WIDTH))
    places = np.zeros_like(x)
    for pos, i in np.ndindex(places.shape):
        places[pos, i] = 0.1 * (math.cos if i % 2 else math.sin)(pos / 10_000 ** ((i - i % 2) / WIDTH))
    layer = SinusoidalPositions(12, WIDTH, scale=0.1)
    np.testing.assert_allclose(layer(torch.tensor(x)[None])[0], x + places, atol=1e-7)
    found = positions.balance(x, places)
    assert found.ratio == pytest.approx(math.sqrt((places**2).sum() / (x**2).sum()))
    for row in range(len(x)):
        assert found.content[row] == pytest.approx(np.linalg.norm(x[row]) / math.sqrt(WIDTH))
        assert found.position[row] == pytest.approx(0.1 / math.sqrt(2))  # sin^2 + cos^2 = 1 in every pair
        a, b = (x + places)[0], (x + places)[row]
        assert found.cosines[0, row] == pytest.approx(float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)))


def test_learned_positions_are_the_checkpoints() -> None:
    with safe_open(checkpoints.FOLDER / "tlob.safetensors", framework="np") as file:
        (wanted,) = (file.get_tensor(name) for name in file.keys() if name.endswith("positions.encoding"))  # noqa: SIM118
    found = positions.learned_positions("tlob")
    assert found.shape == (128, 40) and (found == wanted[0]).all()
    with pytest.raises(checkpoints.CheckpointError, match="the positions of the checkpoint 'vit' are not learned"):
        positions.learned_positions("vit")


def test_what_a_vit_adds_positions_to() -> None:
    torch.manual_seed(0)
    model, image = ViT(ViTConfig(side=12, patch=4, width=16, heads=2, layers=1, hidden=8)).eval(), torch.randn(1, 1, 12, 12)
    patches = [image[0, 0, row : row + 4, column : column + 4].reshape(-1) for row in (0, 4, 8) for column in (0, 4, 8)]
    wanted = torch.cat([model.class_token.reshape(1, -1), model.embedding(torch.stack(patches))])
    np.testing.assert_allclose(positions.vit_content(model, image), wanted.detach(), atol=1e-6)
