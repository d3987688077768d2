"""Hands to copy: how far a hand is from the examples of a sign."""

import numpy as np

from core.signs.examples import DIFFERS, examples, finger_distances, fingers_that_differ


def test_a_hand_is_compared_with_the_nearest_example_of_a_sign() -> None:
    digits = {name: one.stills for name, one in examples().items() if name.isdigit()}
    apart = np.concatenate([finger_distances(hands[0], hands[1:]).min(axis=0) for hands in digits.values()])
    assert (apart > DIFFERS).mean() < 0.05
    five = digits["5"][0]
    assert fingers_that_differ(five * [-1, 1] * 40 + 300, "5") == []
    assert len(fingers_that_differ(five, "0")) >= 3 and fingers_that_differ(five, "APPLE") is None
