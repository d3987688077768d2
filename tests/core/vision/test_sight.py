"""The network that sees anything, beside what onnxruntime gives for the published graph, its constants rounded to float16."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.decomposition import PCA

from core.messages import BadValue
from core.vision import sight
from core.vision.pictures import Picture, from_pixels
from core.vision.sight import SeenPicture, SightReader, live_seen, main_directions, pair_scene, sight_reader, square
from core.vision.sight_files import SIGHT_FILES
from core.vision.walkthrough import tiles

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
    ((name, found),) = scene.measures.items()
    assert name == sight.MEASURE and found[0] == 0
    np.testing.assert_allclose(found[1:], [one.mean() for one in tiles(seen.salience[..., None], 14)], rtol=1e-4)
    np.testing.assert_allclose(scene.layers[3].weights[2], seen.weights[3, 2], atol=1e-6)
    assert len(scene.packed()) < 1_000_000


@THERE
def test_a_patch_of_the_disc_is_like_the_disc_of_the_other_photograph(reader: SightReader, seen: SeenPicture) -> None:
    mirrored = reader.read(from_pixels(np.ascontiguousarray(made_picture(224)[:, ::-1]), name="mirrored"), side=224)
    scene = pair_scene(seen, mirrored)
    (weights,) = scene.layers[0].weights
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    row, column = np.divmod(np.arange(16 * 32), 32)
    first = 2 + np.flatnonzero(column < 16)
    other = 2 + np.flatnonzero(column >= 16)
    assert not weights[np.ix_(first, other)].any() and not weights[1, first].any()
    np.testing.assert_allclose(weights[np.ix_(first, first)], seen.weights[-1].mean(axis=0)[1:, 1:], atol=1e-6)
    vectors = scene.stage.vectors / np.linalg.norm(scene.stage.vectors, axis=1, keepdims=True)
    at = np.hypot(16 * row + 8 - BESIDE[0], 16 * (column % 16) + 8 - np.where(column < 16, BESIDE[1], 256 - BESIDE[1]))
    like = vectors[2:] @ vectors[2 + int(np.argmin(np.where(column < 16, at, np.inf)))]
    assert like[(column >= 16) & (at < 50)].mean() > like[(column >= 16) & (at > 80)].mean() + 0.2


@THERE
def test_what_is_rubbed_out_is_read_as_the_mean_colour(reader: SightReader, seen: SeenPicture) -> None:
    row, column = np.indices((16, 16)) * 16 + 8
    disc = (1 + np.flatnonzero(np.hypot(row - BESIDE[0], column - BESIDE[1]).ravel() < 80)).tolist()
    rest = reader.read(from_pixels(made_picture(224), name="disc"), side=224, erased=disc)
    (colour,) = {tuple(map(int, one.reshape(-1, 3).mean(axis=0))) for one in tiles(rest.pixels, 14)[[i - 1 for i in disc]]}
    np.testing.assert_allclose(colour, made_picture(224).mean(axis=(0, 1)), atol=1)
    assert np.abs(rest.salience - seen.salience).max() > 0.1


@THERE
def test_a_camera_is_lit_by_what_stands_out_or_by_one_head(reader: SightReader) -> None:
    frame = made_picture(196)[49:147]  # wide: it stands in the middle of a square
    seen = reader.read(from_pixels(frame, name="frame"), side=196)
    found = live_seen(reader, frame, None)
    np.testing.assert_allclose(found.light.ravel(), [one.mean() for one in tiles(seen.salience[..., None], 7)], atol=1e-5)
    assert found.share == pytest.approx(seen.standing_out, abs=1e-3) and not seen.pixels[:49].any()
    row = seen.weights[8, 2, 0, 1:]
    head = live_seen(reader, frame, (9, 3))
    np.testing.assert_allclose(head.light.ravel(), row / row.max(), atol=1e-4)
    assert head.share == pytest.approx(row.max(), abs=1e-5)
    for wrong in ((0, 1), (13, 1), (12, 7)):
        with pytest.raises(BadValue, match="one of 6 in one of 12 layers"):
            live_seen(reader, frame, wrong)


def test_main_directions_are_the_principal_components() -> None:
    tokens = np.random.default_rng(3).normal(size=(80, 12)).astype(np.float32) * np.arange(12, 0, -1)
    inside = np.arange(80) < 60
    colours, share = main_directions(tokens, inside)
    known = PCA(3).fit(tokens[inside])
    assert share == pytest.approx(known.explained_variance_ratio_.sum(), rel=1e-4)
    for colour, direction in zip(colours.T, known.transform(tokens).T, strict=True):
        middle = (colour > 0) & (colour < 255)
        assert abs(np.corrcoef(colour[middle], direction[middle])[0, 1]) > 0.999


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
