"""The network that sees anything, beside what onnxruntime gives for the published graph (`python -m lab.bundle.sight`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from core.messages import BadValue
from core.vision import sight
from core.vision.pictures import Picture, from_pixels
from core.vision.sight import SeenPicture, SightReader, sight_reader, square
from core.vision.sight_files import SIGHT_FILES

KEPT = load_file(Path(__file__).parents[2] / "fixtures" / "sight.safetensors")
THERE = pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
BESIDE = (100, 150)
"""Middle of the disc, rows and columns of 256."""


def made_picture(side: int) -> np.ndarray:
    """A bright disc with stripes on a slope of colours, as the kept numbers were made from."""
    row, column = np.indices((side, side)) * 256 // side
    inside = (row - BESIDE[0]) ** 2 + (column - BESIDE[1]) ** 2 < 60**2
    ground = np.stack([row // 3, 40 + column // 4, 90 + (row + column) // 8], axis=-1)
    disc = np.stack([230 - (row // 8 % 2) * 60, 200 - column // 4, 40 + row // 8], axis=-1)
    return np.where(inside[..., None], disc, ground).astype(np.uint8)


@pytest.fixture(scope="module")
def reader() -> SightReader:
    return sight_reader()


@pytest.fixture(scope="module")
def seen(reader: SightReader) -> SeenPicture:
    return reader.read(from_pixels(made_picture(224), name="disc"), side=224)


@THERE
@pytest.mark.parametrize("side", [112, 224])
def test_tokens_maps_and_salience_equal_onnxruntimes(reader: SightReader, side: int) -> None:
    found = reader.read(from_pixels(made_picture(side), name="disc"), side=side)
    np.testing.assert_array_equal(found.pixels, made_picture(side))
    np.testing.assert_allclose(found.tokens[:, ::32], KEPT[f"tokens {side}"], atol=2e-4)
    np.testing.assert_allclose(found.salience[::8, ::8], KEPT[f"salience {side}"], atol=1e-4)
    np.testing.assert_allclose(found.weights[:, :, 0], KEPT[f"rows {side}"], atol=1e-4)
    np.testing.assert_allclose(found.rows(0), KEPT[f"rows {side}"], atol=1e-4)


@THERE
def test_the_disc_stands_out_and_its_patches_are_alike(seen: SeenPicture) -> None:
    assert seen.grid == (16, 16) and seen.tokens.shape == (257, 384) and seen.weights.shape == (12, 6, 257, 257)
    np.testing.assert_allclose(seen.weights.sum(axis=-1), 1, atol=1e-5)
    row, column = np.indices((16, 16)) * 16 + 8
    apart = np.hypot(row - BESIDE[0], column - BESIDE[1])
    assert seen.patch_salience[apart < 50].mean() > 0.5 + seen.patch_salience[apart > 80].mean()
    at = int(np.flatnonzero(apart.ravel() < 12)[0])
    likeness = seen.likeness(1 + at)
    assert likeness.ravel()[at] == pytest.approx(1, abs=1e-5)
    assert likeness[apart < 50].mean() > likeness[apart > 80].mean() + 0.2


@THERE
def test_the_scene_is_lit_by_what_stands_out(seen: SeenPicture) -> None:
    scene = seen.scene()
    ((name, share),) = scene.measures.items()
    assert name == "what stands out" and share[0] == 0
    np.testing.assert_allclose(share[1:] * seen.patch_salience.sum(), seen.patch_salience.ravel(), rtol=1e-4, atol=1e-6)


@THERE
@pytest.mark.parametrize("side", [98, 300, 532, 0])
def test_another_side_is_refused(reader: SightReader, side: int) -> None:
    with pytest.raises(BadValue, match=f"a side of {side} pixels: a multiple of 14 from 112 to 518 is right"):
        reader.read(from_pixels(made_picture(112), name="disc"), side=side)


def test_a_picture_is_centred_on_black_and_white_shows_through() -> None:
    wide = np.full((50, 100, 3), 200, dtype=np.uint8)
    pixels, inside = square(from_pixels(wide, name="wide"), 140)
    assert inside == (0, 35, 140, 105)
    assert (pixels[35:105] == 200).all() and not pixels[:35].any() and not pixels[105:].any()
    clear = Picture(
        name="clear", id="", rgb=wide, alpha=np.zeros((50, 100), np.uint8), width=100, height=50, kind="PNG", mode="RGBA"
    )
    assert (square(clear, 140)[0][35:105] == 255).all()


def test_the_network_reads_the_published_range_of_colours() -> None:
    found = sight.normalised(np.array([[[255, 0, 127]]], dtype=np.uint8))[0, :, 0, 0]
    np.testing.assert_allclose(found, [(1 - 0.485) / 0.229, -0.456 / 0.224, (127 / 255 - 0.406) / 0.225], rtol=1e-5)
