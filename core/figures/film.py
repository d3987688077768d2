"""Frames of a clip as they are looked at: photographs with the hands that were followed, and tracked hands as small pictures."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from core.figures.hands import CHAINS
from core.figures.style import BLUE, GREY, ORANGE
from core.signs.hands.tracks import HandTracks

Frames = NDArray[np.uint8]
COLOURS: Final = (BLUE, ORANGE, GREY)
"""Of what is tracked: left hand, right hand, nose."""
SIDE: Final = 200
"""Pixels of a picture of tracked hands."""
TRAIL: Final = 20
"""Frames of the past that a hand drags behind it."""
NIGHT: Final = (22, 28, 36)


def hands_of_frames(hands: HandTracks, side: int) -> list[list[list[list[float]]]]:
    """For each frame the hands that are seen, each 21 points in shares of the picture.

    Args:
        side: height and width of the frames, pixels.
    """
    shares = np.round(hands.points / side, 4)
    return [[shares[at, slot].tolist() for slot in np.flatnonzero(seen)] for at, seen in enumerate(hands.seen)]


def with_hands(frames: Frames, hands: HandTracks) -> Frames:
    """The frames (T, S, S, 3) with the hands that were followed in them drawn over."""
    drawn = []
    for frame, points, seen in zip(frames, hands.points, hands.seen, strict=True):
        picture = Image.fromarray(frame)
        pen = ImageDraw.Draw(picture)
        for slot, colour in zip(np.flatnonzero(seen), (ORANGE, BLUE), strict=False):
            for chain in CHAINS:
                pen.line([tuple(point) for point in points[slot, list(chain)].tolist()], colour, width=2)
        drawn.append(np.asarray(picture))
    return np.stack(drawn)


def track_frames(tracks: NDArray[np.floating], at: Iterable[int]) -> Frames:
    """Both hands and the nose in some frames, each with the way that it came: (n, SIDE, SIDE, 3).

    Args:
        tracks: (T, 6), columns as `core.signs.tracks.COLUMNS`; all of it sets the scale, so that the pictures can be compared.
        at: indices of the frames.
    """
    x, y = tracks[:, 0::2], tracks[:, 1::2]
    wide = 1.15 * max(float(np.ptp(x)), float(np.ptp(y)), 20.0)
    middle = np.array([(float(axis.min()) + float(axis.max())) / 2 for axis in (x, y)])
    places = (tracks.reshape(len(tracks), 3, 2) - middle) * (SIDE / wide) + SIDE / 2
    return np.stack([_hands_picture(places[max(0, index - TRAIL) : index + 1]) for index in at])


def _hands_picture(ways: NDArray[np.floating]) -> Frames:
    """The ways (n, 3, 2) of what is tracked, in pixels, and where each is at the end."""
    picture = Image.new("RGB", (SIDE, SIDE), NIGHT)
    pen = ImageDraw.Draw(picture)
    for part, colour in enumerate(COLOURS):
        way: Sequence[tuple[float, ...]] = [tuple(place) for place in ways[:, part].tolist()]
        if len(way) > 1:
            pen.line(way, colour, width=3, joint="curve")
        (cx, cy), reach = way[-1], 9 if part < 2 else 6
        pen.ellipse((cx - reach, cy - reach, cx + reach, cy + reach), fill=colour)
    return np.asarray(picture)
