"""Turned squares in a picture, where the landmark model looks for a hand."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from core.signs.hands.palms import MIDDLE_KNUCKLE, WRIST, Floats, Palm

FROM_PALM: Final = (2.6, -0.5)
"""Size of the region round a palm's box, and its shift along the hand, both in box sides (MediaPipe's graph)."""
FROM_LANDMARKS: Final = (2.0, -0.1)
"""The same round the landmarks of the frame before."""
STABLE: Final = (0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18)
"""Landmarks that span the region: without finger tips, which move most."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """A turned square, pixels.

    Attributes:
        x, y: centre. side: length. angle: radians, clockwise on screen; 0 for a hand that points upwards.
    """

    x: float
    y: float
    side: float
    angle: float

    def axes(self) -> Floats:
        """(2, 2), rows: the square's own right and down, in the picture's pixels, of its side's length."""
        cos, sin = np.cos(self.angle) * self.side, np.sin(self.angle) * self.side
        return np.array([[cos, sin], [-sin, cos]], np.float32)

    def to_picture(self, points: Floats) -> Floats:
        """Points (n, 2) in shares of the square, from its top left corner, -> pixels of the picture."""
        return (points - 0.5) @ self.axes() + np.array([self.x, self.y], np.float32)


def of_palm(palm: Palm, scale: float, offset: tuple[float, float]) -> Region:
    """The region of the hand that a palm belongs to.

    Args:
        scale, offset: pixels of the picture for the detector's input, and where its top left corner lies.
    """
    points = palm.points * scale + np.array(offset, np.float32)
    box = palm.box * scale
    side = float(max(box[2] - box[0], box[3] - box[1]))
    centre = (box[:2] + box[2:]) / 2 + np.array(offset, np.float32)
    angle = upright_angle(points[WRIST], points[MIDDLE_KNUCKLE])
    return _shifted(centre, side, angle, *FROM_PALM)


def of_landmarks(points: Floats) -> Region:
    """The region in which the next frame's hand is sought, from this frame's landmarks (21, 2), pixels."""
    knuckles = ((points[5] + points[13]) / 2 + points[9]) / 2
    angle = upright_angle(points[0], knuckles)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, sin], [-sin, cos]], np.float32)
    own = points[list(STABLE)] @ turn.T  # along the hand's own right and down
    low, high = own.min(axis=0), own.max(axis=0)
    centre = ((low + high) / 2) @ turn
    return _shifted(centre, float((high - low).max()), angle, *FROM_LANDMARKS)


def upright_angle(wrist: Floats, knuckle: Floats) -> float:
    """Radians, clockwise on screen, by which the line from wrist to knuckle departs from upwards."""
    right, down = knuckle - wrist
    return float(np.arctan2(right, -down))


def _shifted(centre: Floats, side: float, angle: float, scale: float, shift: float) -> Region:
    along = np.array([-np.sin(angle), np.cos(angle)]) * shift * side
    return Region(x=float(centre[0] + along[0]), y=float(centre[1] + along[1]), side=side * scale, angle=angle)
