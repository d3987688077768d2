"""Hands found in pictures and followed through films, by MediaPipe's two models run with LiteRT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from core.signs.hands import model_files, palms, regions
from core.signs.hands.palms import Floats
from core.signs.hands.regions import Region

if TYPE_CHECKING:  # a machine that only trains has no Pillow
    from PIL import Image

LANDMARKS: Final = 21
"""Of a hand: the wrist, then four for each finger from the thumb on, base to tip."""
SIDE: Final = 224
"""Height and width of the landmark model's input, pixels."""
LEAST_PRESENCE: Final = 0.5
MARGINS: Final = (1.0, 1.7)
"""Sizes of the square in which palms are sought, in the picture's longer sides: a hand that fills the picture needs a margin."""
SAME: Final = 0.35
"""Two regions whose centres are nearer than this share of a side are of one hand."""


@dataclass(frozen=True, kw_only=True)
class Hand:
    """One hand in one picture.

    Attributes:
        points: (21, 2) pixels, right and down. world: (21, 3) metres from the hand's middle. presence: 0 to 1.
        right: probability that it is a right hand, in a picture that is not mirrored. region: where it was looked for.
    """

    points: Floats
    world: Floats
    presence: float
    right: float
    region: Region


class HandFinder:
    """The two models, ready to run. Not for several threads at once.

    Raises:
        MissingModels: where the set-up step has not been run.
    """

    def __init__(self, folder: Path = model_files.FOLDER) -> None:
        paths = model_files.checked(folder)
        self._palm = _Model(paths["palm_detection_full.tflite"])
        self._hand = _Model(paths["hand_landmark_full.tflite"])

    def palm_regions(self, picture: Image.Image, *, margin: float = 1.0) -> list[Region]:
        """Where hands are to be looked for, surest first.

        Args:
            margin: side of the square that is searched, in the picture's longer sides; 1 or more.
        """
        side = max(picture.size) * margin
        left, top = (picture.width - side) / 2, (picture.height - side) / 2
        square = Region(x=picture.width / 2, y=picture.height / 2, side=side, angle=0.0)
        source = picture
        if (factor := int(side // palms.SIDE)) > 1:  # bilinear sampling alone would skip pixels
            source = picture.reduce(factor)
            square = Region(x=square.x / factor, y=square.y / factor, side=square.side / factor, angle=0.0)
        outputs = self._palm.run(square.cut(source, palms.SIDE))
        boxes, scores = sorted(outputs, key=lambda one: -one.shape[-1])
        found = palms.decode(boxes[0], scores[0, :, 0])
        return [regions.of_palm(palm, side, (left, top)) for palm in found]

    def landmarks(self, picture: Image.Image, region: Region) -> Hand | None:
        """The hand in a region, None where the model sees none."""
        source, square = picture, region
        if (factor := int(region.side // SIDE)) > 1:
            source = picture.reduce(factor)
            square = Region(x=region.x / factor, y=region.y / factor, side=region.side / factor, angle=region.angle)
        points, presence, right, world = self._hand.run(square.cut(source, SIDE))
        if float(presence.item()) < LEAST_PRESENCE:
            return None
        placed = region.to_picture(points.reshape(LANDMARKS, 3)[:, :2] / SIDE)
        # the world's landmarks are upright in the region: turned back as the picture is
        axes = region.axes() / region.side
        metres = world.reshape(LANDMARKS, 3).copy()
        metres[:, :2] = metres[:, :2] @ axes
        return Hand(points=placed, world=metres, presence=float(presence.item()), right=float(right.item()), region=region)

    def find(self, picture: Image.Image, *, most: int = 1, margins: Iterable[float] = MARGINS) -> list[Hand]:
        """Up to `most` hands of one picture, surest palm first."""
        for margin in margins:
            found: list[Hand] = []
            for region in self.palm_regions(picture, margin=margin):
                hand = self.landmarks(picture, region)
                # a second look, from the landmarks: the first region comes from the palm alone
                hand = (self.landmarks(picture, regions.of_landmarks(hand.points)) or hand) if hand else None
                if hand is not None and not any(same_hand(hand, other) for other in found):
                    found.append(hand)
                if len(found) == most:
                    break
            if found:
                return found
        return []


class HandTracker:
    """Hands followed from frame to frame: the landmarks of one say where to look in the next, palms are sought where none is.

    Args:
        most: hands at once. every: frames between two searches for a further hand while one is followed.
    """

    def __init__(self, finder: HandFinder, *, most: int = 2, every: int = 6) -> None:
        self.finder, self.most, self.every = finder, most, every
        self._followed: list[Region] = []
        self._frame = self._alone = 0

    def step(self, frame: NDArray[np.uint8]) -> list[Hand]:
        """The hands in the next frame (H, W, 3), longest followed first."""
        from PIL import Image

        picture = Image.fromarray(frame)
        found: list[Hand] = []
        for region in self._followed:
            hand = self.finder.landmarks(picture, region)
            if hand is not None and not any(same_hand(hand, other) for other in found):
                found.append(hand)
        self._alone = self._alone + 1 if found else 0
        if not found or (len(found) < self.most and self._alone % self.every == 1):
            # one margin a frame, in turn, so that a frame without a hand costs one search
            margin = 1.0 if found else MARGINS[self._frame % len(MARGINS)]
            for hand in self.finder.find(picture, most=self.most, margins=(margin,)):
                if len(found) < self.most and not any(same_hand(hand, other) for other in found):
                    found.append(hand)
        self._followed = [regions.of_landmarks(hand.points) for hand in found]
        self._frame += 1
        return found


def same_hand(one: Hand, other: Hand) -> bool:
    """Whether two finds are of one hand."""
    a, b = regions.of_landmarks(one.points), regions.of_landmarks(other.points)
    return bool(np.hypot(a.x - b.x, a.y - b.y) < SAME * max(a.side, b.side) / 2)


class _Model:
    """One model file: a picture in, its outputs in the order of their names."""

    def __init__(self, path: Path) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._net: Any = Interpreter(model_path=str(path), num_threads=1)
        self._net.allocate_tensors()
        self._input = self._net.get_input_details()[0]["index"]
        self._outputs = [one["index"] for one in sorted(self._net.get_output_details(), key=lambda one: one["name"])]

    def run(self, picture: NDArray[np.uint8]) -> list[Floats]:
        """Outputs for one picture (side, side, 3)."""
        self._net.set_tensor(self._input, (picture[None] / 255).astype(np.float32))
        self._net.invoke()
        return [self._net.get_tensor(index) for index in self._outputs]
