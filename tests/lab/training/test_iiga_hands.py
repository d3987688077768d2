"""Material for the landmarks' training: parted by signer and recording, refused in a sentence where that leaves nothing."""

import numpy as np
import pytest

from core.signs.hands.tracker import LANDMARKS
from core.signs.hands.tracks import HANDS
from lab.signs.photo_landmarks import VIEWS, PhotoLandmarks
from lab.training.iiga_hands import Material, Sign, part


def material(signers: int, recordings: int) -> Material:
    """Two photographs a signer, and some recordings of two signs in turn."""
    photos = PhotoLandmarks(
        points=np.ones((2 * signers, VIEWS, LANDMARKS, 2), np.float32),
        digits=np.tile([0, 1], signers),
        signers=np.repeat(np.arange(signers), 2),
    )
    signs = [
        Sign(points=np.full((5, HANDS, LANDMARKS, 2), place, np.float32), seen=np.ones((5, HANDS), bool), label=11 + place % 2)
        for place in range(2 * recordings)
    ]
    return Material(photos=photos, signs=signs, others=np.zeros((40, LANDMARKS, 2), np.float32))


def test_the_last_signers_and_the_last_recordings_of_each_sign_are_held_out() -> None:
    learnt, held = part(material(10, 10), 0.12)
    assert set(learnt.photos.signers) == set(range(9)) and set(held.photos.signers) == {9}
    assert [(int(one.points[0, 0, 0, 0]), one.label) for one in held.signs] == [(18, 11), (19, 12)]
    assert len(learnt.signs) == 18 and len(learnt.others) + len(held.others) == 40


@pytest.mark.parametrize(("signers", "recordings"), [(10, 2), (1, 10), (10, 0)])
def test_too_few_recordings_are_refused_in_a_sentence(signers: int, recordings: int) -> None:
    with pytest.raises(ValueError, match=f"{signers} signers and {2 * recordings} recorded signs .* 12% of the signers"):
        part(material(signers, recordings), 0.12)
