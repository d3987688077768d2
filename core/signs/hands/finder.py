"""Hands found in pictures by MediaPipe's two models, run with LiteRT."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.signs.hands import palms, regions
from core.signs.hands.model_files import HAND_FILES
from core.signs.hands.palms import Floats
from core.signs.hands.regions import Region
from core.signs.hands.tracker import LANDMARKS, MARGINS, SURE, Hand, Window, same_hand

SIDE: Final = 224
"""Height and width of the landmark model's input, pixels."""
MIN_PRESENCE: Final = 0.5
"""Of a hand that is followed."""


class HandFinder:
    """The two models, ready to run. Not for several threads at once.

    Raises:
        MissingModels: where the set-up step has not been run.
    """

    def __init__(self, folder: Path = HAND_FILES.folder) -> None:
        paths = HAND_FILES.checked(folder)
        self._palm = _Model(paths["palm_detection_full.tflite"])
        self._hand = _Model(paths["hand_landmark_full.tflite"])

    def opened(self, frame: NDArray[np.uint8]) -> Image.Image:
        """A frame (H, W, 3) as the other methods take it."""
        return Image.fromarray(frame)

    def palm_regions(self, picture: Image.Image, window: Window = (1.0, 0.5, 0.5)) -> list[Region]:
        """Regions in which hands are to be looked for, surest first."""
        share, x, y = window
        side = max(picture.size) * share
        square = Region(x=x * picture.width, y=y * picture.height, side=side, angle=0.0)
        left, top = square.x - side / 2, square.y - side / 2
        outputs = self._palm.run(cut(picture, square, palms.SIDE))
        boxes, scores = sorted(outputs, key=lambda one: -one.shape[-1])
        decoded = palms.decode(boxes[0], scores[0, :, 0])
        return [regions.of_palm(palm, side, (left, top)) for palm in decoded]

    def landmarks(self, picture: Image.Image, region: Region) -> Hand | None:
        """The hand in a region, None where the model sees none."""
        points, presence, *_others = self._hand.run(cut(picture, region, SIDE))
        if float(presence.item()) < MIN_PRESENCE:
            return None
        placed = region.to_picture(points.reshape(LANDMARKS, 3)[:, :2] / SIDE)
        return Hand(points=placed, presence=float(presence.item()))

    def find(self, picture: Image.Image, *, most: int = 1, windows: Iterable[Window] = MARGINS) -> list[Hand]:
        """Up to `most` hands of one picture, surest palm first."""
        for window in windows:
            hands: list[Hand] = []
            for region in self.palm_regions(picture, window):
                hand = self.landmarks(picture, region)
                # a second look, from the landmarks: the first region comes from the palm alone
                hand = (self.landmarks(picture, regions.of_landmarks(hand.points)) or hand) if hand else None
                sure = hand is not None and hand.presence >= SURE
                if hand is not None and sure and not any(same_hand(hand, other) for other in hands):
                    hands.append(hand)
                if len(hands) == most:
                    break
            if hands:
                return hands
        return []


def cut(picture: Image.Image, region: Region, size: int) -> NDArray[np.uint8]:
    """A turned square's pixels, (size, size, 3) upright; black outside the picture."""
    if (factor := int(region.side // size)) > 1:  # bilinear sampling alone would skip pixels
        picture = picture.reduce(factor)
        region = Region(x=region.x / factor, y=region.y / factor, side=region.side / factor, angle=region.angle)
    right, down = region.axes() / size
    corner = region.to_picture(np.zeros((1, 2), np.float32))[0]
    matrix = (right[0], down[0], corner[0], right[1], down[1], corner[1])
    turned = picture.transform((size, size), Image.Transform.AFFINE, tuple(map(float, matrix)), Image.Resampling.BILINEAR)
    return np.asarray(turned)


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
