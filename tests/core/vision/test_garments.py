"""Several garments in one picture: boxes of drawn shapes, what counts as one, and the order."""

import numpy as np
import pytest

from core.vision.garments import Edges, regions, several_garments
from core.vision.pictures import Bytes

GROUND = (180, 150, 120)


def scene(*boxes: Edges, seed: int = 0) -> Bytes:
    """200 x 300 pixels: boxes (percent) of dark cloth on a floor with the noise of a photograph."""
    image = np.full((200, 300, 3), GROUND, np.float64)
    for left, top, right, bottom in boxes:
        image[2 * top : 2 * bottom, 3 * left : 3 * right] = (40, 50, 110)
    return (image + np.random.default_rng(seed).normal(0, 4, image.shape)).clip(0, 255).astype(np.uint8)


def kinds(labels: dict[Edges, int], *, flagged: int = -1, unsure: int = -1):  # type: ignore[no-untyped-def]  # the fake model
    """A model that names a box by the drawn one nearest to it."""

    def answer(edges: Edges) -> tuple[int, float, bool]:
        near = min(labels, key=lambda one: sum(abs(a - b) for a, b in zip(one, edges, strict=True)))
        return labels[near], 0.3 if labels[near] == unsure else 0.9, labels[near] == flagged

    return answer


SHIRT, TROUSERS, SHOE, OTHER_SHOE = (8, 10, 48, 90), (58, 15, 84, 75), (60, 80, 68, 95), (72, 80, 80, 95)


def test_boxes_lie_around_what_stands_apart_from_the_ground_the_largest_first() -> None:
    found = regions(scene(TROUSERS, SHIRT))
    assert len(found) == 2
    for box, drawn in zip(found, (SHIRT, TROUSERS), strict=True):
        assert max(abs(one - other) for one, other in zip(box, drawn, strict=True)) <= 4


@pytest.mark.parametrize("boxes", [(), (SHIRT,), ((0, 0, 100, 100),)])
def test_one_garment_or_none_is_not_several(boxes: tuple[Edges, ...]) -> None:
    def never(_edges: Edges) -> tuple[int, float, bool]:
        raise AssertionError("the model is asked only where there are two regions")

    assert several_garments(scene(*boxes), never) == ()


def test_only_what_the_model_takes_for_a_garment_counts() -> None:
    labels = {SHIRT: 1, TROUSERS: 2}
    both = several_garments(scene(SHIRT, TROUSERS), kinds(labels))
    assert [one.label for one in both] == [1, 2] and both[0].area > both[1].area
    assert several_garments(scene(SHIRT, TROUSERS), kinds(labels, flagged=2)) == ()
    assert several_garments(scene(SHIRT, TROUSERS), kinds(labels, unsure=1)) == ()


def test_two_shoes_are_a_pair() -> None:
    shirt = (8, 5, 48, 60)
    large = [(60, 60, 70, 95), (76, 60, 86, 95)]
    found = several_garments(scene(shirt, *large), kinds({shirt: 1, large[0]: 6, large[1]: 6}))
    assert [one.label for one in found] == [1, 6]
    left, _top, right, _bottom = found[1].edges
    assert left < 62 and right > 84
