"""Augmentation: exact where it moves whole pixels, repeatable, and inside the frame."""

import torch

from lab.training.augment import Augmentation, PhotographAugmentation, augment, erased

NOTHING = Augmentation(flip=0, shift=0, warp=0)


def some(count: int = 64) -> torch.Tensor:
    return torch.rand(count, 1, 28, 28, generator=torch.Generator().manual_seed(1))


def changed(how: Augmentation, images: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return augment(images, how, torch.Generator().manual_seed(seed))


def test_with_everything_off_the_image_stays() -> None:
    torch.testing.assert_close(changed(NOTHING, some()), some(), atol=1e-5, rtol=0)


def test_a_flip_is_torchs_flip() -> None:
    torch.testing.assert_close(changed(Augmentation(flip=1, shift=0, warp=0), some()), some().flip(-1), atol=1e-5, rtol=0)


def test_shifts_are_whole_pixels_filled_with_background_and_all_occur() -> None:
    images = some(400)
    moved = changed(Augmentation(flip=0, shift=2, warp=0), images)
    padded = torch.nn.functional.pad(images, (2, 2, 2, 2))
    seen = set()
    for one, wide in zip(moved, padded, strict=True):
        fits = [
            (down, right)
            for down in range(5)
            for right in range(5)
            if torch.allclose(one, wide[:, down : down + 28, right : right + 28], atol=1e-4)
        ]
        assert len(fits) == 1
        seen.update(fits)
    assert len(seen) == 25


def test_a_warp_keeps_the_middle_in_the_middle() -> None:
    spot = torch.zeros(50, 1, 28, 28)
    spot[:, :, 12:16, 12:16] = 1
    warped = changed(Augmentation(shift=0, warp=1), spot)
    assert float(warped.min()) >= 0
    assert float(warped.max()) <= 1 + 1e-4
    rows = torch.arange(28.0)
    for axis in (2, 3):
        profile = warped.sum(dim=5 - axis)[:, 0]
        centre = (profile * rows).sum(dim=1) / profile.sum(dim=1)
        torch.testing.assert_close(centre, torch.full((50,), 13.5), atol=0.2, rtol=0)


def test_erasing_puts_one_grey_rectangle() -> None:
    how = PhotographAugmentation(erase=1.0, erase_side=10)
    images = erased(torch.full((80, 1, 28, 28), 2.0), how, torch.Generator().manual_seed(0))
    for one in images[:, 0]:
        hole = one < 1.5
        assert hole.any() and one[hole].unique().numel() == 1
        rows, columns = hole.any(dim=1), hole.any(dim=0)
        assert hole.sum() == rows.sum() * columns.sum()
        assert rows.sum() <= 10 and columns.sum() <= 10
