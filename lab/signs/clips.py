"""Clips put together from photos of one signer: synthetic sentences of real photos.

A signer holds each digit for some frames; between two the hand changes in place (crossfade), leaves and comes back, or
is away for a while (rest). Light, framing, turn and noise vary; for training they vary far more, the wall behind the hand
is replaced in half of the clips, and hands are mirrored. The same seed gives the same clips.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lab.signs.photo_set import PhotoSet
from lab.signs.render import Hands, Studio
from lab.signs.scenery import draw_views

FPS = 8.0
"""Frames a second that a clip stands for."""
SEED = 2024
"""Of the sentences by which a model is scored."""
SENTENCES = 500
"""Number of sentences by which a model is scored."""
DIGITS = (3, 8)
"""Fewest and most digits in one of them."""
EMPTY_KINDS = (0.2, 0.25, 0.55)
"""Of the stills that show no whole digit: an empty wall, a hand half out of sight, two digits at once."""
MIXED = (0.33, 0.67)
"""Bounds of the first digit's visibility, 0 to 1, where two digits are shown at once."""
BETWEEN = -1
"""Label of a frame that shows no whole digit."""


@dataclass(frozen=True, kw_only=True)
class Variety:
    """Ranges from which a clip's conditions are drawn.

    Attributes:
        hold: fewest and most frames that a digit is held. change: the same for a change from one to the next.
        scale: largest factor by which the framing zooms, either way. turn: largest turn, degrees.
        shift: largest shift, frames' sizes.
        sway: how far a hand strays while it is held, frames' sizes.
        light: strength of light, colour and camera variations, 1 the most. mirror: chance of a left hand for a right one.
        replace: chance that the wall is replaced.
        side: of the photo as a share of the frame's. Below 1 the photo lies anywhere within the frame, its border continued.
    """

    hold: tuple[int, int]
    change: tuple[int, int]
    scale: float
    turn: float
    shift: float
    sway: float
    light: float
    mirror: float
    replace: float
    side: float = 1.0


SCORING = Variety(hold=(4, 9), change=(2, 4), scale=1.2, turn=12, shift=0.06, sway=0.01, light=0.4, mirror=0.0, replace=0.0)
"""Conditions of the reported scores: the photos' own walls, moderate light and framing."""
TRAINING = Variety(hold=(3, 10), change=(1, 4), scale=1.4, turn=22, shift=0.14, sway=0.02, light=1.0, mirror=0.5, replace=0.5)
"""The hardest training conditions."""
PLAIN = Variety(hold=(3, 10), change=(1, 4), scale=1.3, turn=16, shift=0.1, sway=0.02, light=0.5, mirror=0.3, replace=0.0)
"""The easier training conditions, nearer to those of the scores."""


def framed(variety: Variety, *, side: float | None = None, tilt: float | None = None) -> Variety:
    """The variety with the hand's photo at a fixed size, placed anywhere in the frame, or with another largest turn.

    Args:
        side: of the photo as a share of the frame's height. tilt: largest turn either way, degrees. None leaves it as it is.

    Raises:
        ValueError: for a side outside 0.1 to 1, or a tilt outside 0 to 180.
    """
    if side is not None and not 0.1 <= side <= 1:
        raise ValueError(f"the hand's side is a share of the frame's height, from 0.1 to 1, not {side:g}")
    if tilt is not None and not 0 <= tilt <= 180:
        raise ValueError(f"the tilt is a number of degrees from 0 to 180, not {tilt:g}")
    if side is not None:
        variety = replace(variety, side=side, scale=1.0, shift=0.0)
    return variety if tilt is None else replace(variety, turn=tilt)


@dataclass(frozen=True, kw_only=True)
class SyntheticClip:
    """One clip.

    Attributes:
        frames: (T, S, S, 3) uint8. digits: what is signed. labels: (T,) the digit that a frame shows, or BETWEEN.
    """

    frames: NDArray[np.uint8]
    digits: list[int]
    labels: NDArray[np.int64]


@dataclass(kw_only=True)
class _Track:
    """The movement of one of two hands: columns that grow by one entry per frame."""

    photo: list[int]
    weight: list[float]
    place: list[tuple[float, float]]


def sentences(photos: PhotoSet, count: int, *, seed: int, digits: tuple[int, int] = DIGITS) -> list[list[int]]:
    """Sentences, each the indices of one signer's photos in order.

    A signer comes as often as they have photos, and signs only the digits they have.

    Raises:
        ValueError: for no photos.
    """
    if not len(photos):
        raise ValueError("clips are put together from photos: there are none")
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        theirs = np.flatnonzero(photos.signers == random.choice(photos.signers))
        length = int(random.integers(digits[0], digits[1] + 1))
        found.append([int(i) for i in random.choice(theirs, length)])
    return found


def make_clip(studio: Studio, chosen: list[int], variety: Variety, *, seed: int) -> SyntheticClip:
    """Draw one clip of the photos `chosen`, in order."""
    random = np.random.default_rng(seed)
    photos = studio.photos
    a, b, labels = _choreography(photos, chosen, variety, random)
    frames = len(labels)
    # one framing a clip, a little of its own a photo, and a slow sway
    zoom = variety.side * np.exp(random.uniform(-1, 1) * np.log(variety.scale))
    turn = np.radians(random.uniform(-variety.turn, variety.turn))
    centre = random.uniform(-variety.shift, variety.shift, 2)
    mirrored = -1.0 if random.random() < variety.mirror else 1.0
    shear = random.uniform(-0.004, 0.004) * variety.turn
    own = {
        i: (random.normal(0, 0.04), random.normal(0, variety.turn / 250), random.normal(0, variety.shift / 4, 2))
        for i in sorted(set(chosen))
    }
    if variety.side < 1:
        centre += random.uniform(-(1 - variety.side) / 2, (1 - variety.side) / 2, 2)
    sway = _sway(frames, variety.sway, random)
    hands = [
        Hands(
            photo=np.array(one.photo),
            weight=np.array(one.weight, np.float32),
            place=(np.array(one.place) + centre + sway[:, :2] + np.array([own[i][2] for i in one.photo])).astype(np.float32),
            scale=(zoom * np.exp([own[i][0] for i in one.photo] + sway[:, 2])).astype(np.float32),
            turn=(turn + np.array([own[i][1] for i in one.photo]) + sway[:, 3] * 2).astype(np.float32),
            shear=np.full(frames, shear, np.float32),
            mirrored=np.full(frames, mirrored, np.float32),
        )
        for one in (a, b)
    ]
    views = draw_views(studio.layers.backgrounds[chosen[:1]], variety.light, variety.replace, studio.size, random)
    drawn = studio.draw(hands, views, np.zeros(frames, np.int64), seed=int(random.integers(2**31)))
    return SyntheticClip(frames=drawn, digits=[int(photos.digits[i]) for i in chosen], labels=np.array(labels))


def make_clips(studio: Studio, count: int, *, seed: int, variety: Variety) -> Iterator[SyntheticClip]:
    """`count` clips, the same for the same photos, seed and size."""
    for place, chosen in enumerate(sentences(studio.photos, count, seed=seed)):
        yield make_clip(studio, chosen, variety, seed=seed * 1_000_003 + place)


def make_stills(
    studio: Studio, chosen: NDArray[np.int64], variety: Variety, *, seed: int, empty: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """One frame each of the photos `chosen`, every one in its own clip's light and framing.

    A share `empty` of the frames shows no whole digit: an empty wall, a hand half out of sight, or two digits at once.

    Returns:
        Frames (n, S, S, 3) and labels (n,), BETWEEN for the latter.
    """
    random = np.random.default_rng(seed)
    n = len(chosen)
    labels = studio.photos.digits[chosen].copy()
    others = random.integers(0, len(studio.photos), n)
    weight, place = np.ones(n), random.uniform(-variety.shift, variety.shift, (n, 2))
    between = random.random(n) < empty
    kind = random.choice(3, n, p=EMPTY_KINDS)
    weight[between & (kind == 0)] = 0
    away = between & (kind == 1)
    place[away] += _away(random, int(away.sum())) * random.uniform(0.5, 0.9, (int(away.sum()), 1))
    mixed = between & (kind == 2) & (studio.photos.digits[others] != labels)
    weight[mixed] = random.uniform(*MIXED, int(mixed.sum()))
    labels[between & ((kind != 2) | mixed)] = BETWEEN
    common = {
        "scale": np.exp(random.uniform(-1, 1, n) * np.log(variety.scale)).astype(np.float32),
        "turn": np.radians(random.uniform(-variety.turn, variety.turn, n)).astype(np.float32),
        "shear": (random.uniform(-0.006, 0.006, n) * variety.turn).astype(np.float32),
        "mirrored": np.where(random.random(n) < variety.mirror, -1, 1).astype(np.float32),
        "place": place.astype(np.float32),
    }
    hands = [
        Hands(photo=chosen, weight=weight.astype(np.float32), **common),
        Hands(photo=others, weight=np.where(mixed, 1 - weight, 0).astype(np.float32), **common),
    ]
    views = draw_views(studio.layers.backgrounds[chosen], variety.light, variety.replace, studio.size, random)
    return studio.draw(hands, views, np.arange(n), seed=int(random.integers(2**31))), labels


def _choreography(
    photos: PhotoSet, chosen: list[int], variety: Variety, random: np.random.Generator
) -> tuple[_Track, _Track, list[int]]:
    """The movements frame by frame: of the hand shown, of the next one, and the label of each frame."""
    a, b = _Track(photo=[], weight=[], place=[]), _Track(photo=[], weight=[], place=[])
    labels: list[int] = []

    def frame(first: int, weight: float, shift: NDArray[np.float64], label: int, *, second: int | None = None) -> None:
        other, rest = (first, 0.0) if second is None else (second, 1 - weight)
        for track, photo, share in ((a, first, weight), (b, other, rest)):
            track.photo.append(photo)
            track.weight.append(share)
            track.place.append((float(shift[0]), float(shift[1])))
        labels.append(label)

    def moves(photo: int, towards: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
        for share in shares:
            frame(photo, 1.0, towards * share, BETWEEN)

    def rests(photo: int, count: int) -> None:
        for _ in range(count):
            frame(photo, 0.0, here, BETWEEN)

    here = np.zeros(2)
    rests(chosen[0], int(random.integers(0, 4)))
    if random.random() < 0.5:
        moves(chosen[0], _away(random, 1)[0], _shares(random, variety)[::-1])
    for place, photo in enumerate(chosen):
        for _ in range(int(random.integers(variety.hold[0], variety.hold[1] + 1))):
            frame(photo, 1.0, here, int(photos.digits[photo]))
        if place + 1 == len(chosen):
            break
        following = chosen[place + 1]
        # the same digit twice needs the hand to go: a crossfade would show nothing
        same = photos.digits[photo] == photos.digits[following]
        how = random.random()
        if not same and how < 0.5:
            for share in _shares(random, variety):
                frame(photo, float(1 - share), here, BETWEEN, second=following)
        elif how < 0.8:
            away = _away(random, 1)[0]
            moves(photo, away, _shares(random, variety))
            moves(following, away, _shares(random, variety)[::-1])
        else:
            rests(photo, int(random.integers(variety.change[0], variety.change[1] + 1)))
    if random.random() < 0.5:
        moves(chosen[-1], _away(random, 1)[0], _shares(random, variety))
    rests(chosen[-1], int(random.integers(0, 4)))
    return a, b, labels


def _shares(random: np.random.Generator, variety: Variety) -> NDArray[np.float64]:
    """Progress of a change in each of its frames, strictly between 0 and 1."""
    count = int(random.integers(variety.change[0], variety.change[1] + 1))
    return np.linspace(0, 1, count + 2)[1:-1]


def _away(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Directions in which hands leave the frame: down, aslant to either side."""
    return np.stack([random.uniform(-0.6, 0.6, count), np.full(count, 1.0)], axis=1)


def _sway(frames: int, size: float, random: np.random.Generator) -> NDArray[np.float64]:
    """(frames, 4) smooth drift of place right and down, log scale and turn."""
    steps = random.normal(0, size, (frames, 4))
    drift = np.zeros((frames, 4))
    for t in range(1, frames):
        drift[t] = 0.8 * drift[t - 1] + steps[t]
    return drift
