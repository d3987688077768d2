"""Letters of American Sign Language's manual alphabet: a hand as numbers for IIGA, files of hands, and how well letters are read.

A hand is described by its shape alone: place and size are taken out, tilt is kept (U and H, K and P, I and J differ by it), and
pairs of points give distances, which neither a mirror nor a turn changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.messages import BadValue
from core.models.iiga import IIGA
from core.signs.hands.tracker import LANDMARKS
from core.signs.vocabulary import Vocabulary

Floats = NDArray[np.floating]
LETTERS: Final = tuple(ascii_uppercase)
VOCABULARY: Final = Vocabulary(LETTERS)
"""Index 1 is A."""
MOVING: Final = ("J", "Z")
"""Letters that a signer draws in the air; here they are read by the hand's shape, as stills show it."""
BEFORE: Final = np.array([0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19])
"""Landmark before each one on the way from the wrist."""
KEYS: Final = (0, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20)
"""Landmarks whose distances from each other are features."""
PAIRS: Final = tuple(np.array(KEYS)[side] for side in np.triu_indices(len(KEYS), 1))
FEATURES: Final = 2 * LANDMARKS + len(PAIRS[0]) + 2 * 15 + 3
"""Of a frame: points, distances, cosine and sine at 15 joints, the hand's step right and down, and whether it is seen."""
LARGEST_STEP: Final = 1.0
SLIDES: Final = 0.2
"""Step a frame, in hand sizes, from which a hand is on its way: two sizes a second."""
SOURCES: Final = {"asl_ai": 16 / 9, "insitee": 1.0}
"""Files of letters that are learnt from, and width over height of the pictures that their coordinates are shares of."""
ASPECTS: Final = (9 / 16, 3 / 4, 1.0, 4 / 3, 16 / 9)
"""Width over height of the pictures that a file's coordinates may be shares of."""
PALM_RATIO: Final = -0.39
"""Median logarithm of a palm's width over its length: -0.35, -0.36 and -0.46 in three sets of hands of known aspect."""
UPRIGHT: Final = 0.8
MIN_PALMS: Final = 20
"""Tangent within which a palm points up or down, and fewest of them to tell an aspect by."""
HELD: Final = 3
"""Frames for which a still is held before the model."""


def hand_features(points: Floats) -> Floats:
    """Hands (n, 21, 2), right and down in one unit -> (n, FEATURES - 3)."""
    centred = points - points.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=2).mean(axis=1)).clip(1e-6)
    shape = centred / size[:, None, None]
    bones = shape[:, 1:] - shape[:, BEFORE[1:]]
    ways = (bones / np.linalg.norm(bones, axis=2, keepdims=True).clip(1e-4)).reshape(-1, 5, 4, 2)
    before, after = ways[:, :, :-1], ways[:, :, 1:]
    cosines = (before * after).sum(axis=3)
    sines = after[..., 0] * before[..., 1] - after[..., 1] * before[..., 0]
    distances = np.linalg.norm(shape[:, PAIRS[0]] - shape[:, PAIRS[1]], axis=2)
    count = len(points)
    parts = [1.4 * shape.reshape(count, -1), 1.7 * (distances - 1.2), 2 * (cosines.reshape(count, -1) - 0.6)]
    parts.append(2.5 * sines.reshape(count, -1))  # each kind is brought to about a mean of 0 and a deviation of 1
    return np.concatenate(parts, axis=1).astype(np.float32)


def features(points: Floats, seen: NDArray[np.bool_]) -> Floats:
    """One hand through a film, (T, 21, 2) and (T,) -> (T, FEATURES), zeros where it is not seen."""
    size = np.sqrt(((points - points.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1)).clip(1e-6)
    step = np.zeros((len(points), 2), np.float32)
    step[1:] = (points[1:, (0, 5, 17)].mean(axis=1) - points[:-1, (0, 5, 17)].mean(axis=1)) / size[1:, None]
    both = seen.copy()
    both[1:] &= seen[:-1]
    both[:1] = False
    step = 4 * step.clip(-LARGEST_STEP, LARGEST_STEP) * both[:, None]  # so that a slide is not lost among two hundred features
    return (np.concatenate([hand_features(points), step, np.ones((len(points), 1))], axis=1) * seen[:, None]).astype(np.float32)


def slides(points: Floats, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(T,) the frames of a film, as `features` takes it, in which the hand goes `SLIDES` of its size or more."""
    return np.asarray(np.linalg.norm(features(points, seen)[:, -3:-1] / 4, axis=1) >= SLIDES)


# -- files of hands ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LetterHands:
    """Hands that spell letters.

    Attributes:
        points: (n, 21, 3), right, down and away from the camera in one unit; z is 0 where the source has none.
        letters: (n,) index of each one's letter in `VOCABULARY`.
    """

    points: Floats
    letters: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.letters)


def read_hands(path: Path, *, aspect: float = 1.0) -> LetterHands:
    """Read an .npz file with `points` (n, 21, 2 or 3) and `letter` (n,).

    Args:
        aspect: width over height of the pictures that the points are shares of.

    Raises:
        ValueError: for a file without these, or with other shapes, numbers or letters.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            points, letters = np.asarray(arrays["points"], np.float32), np.asarray(arrays["letter"]).astype(str)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise BadValue("{file} is no .npz file with the arrays points and letter", file=path.name) from error
    if points.ndim != 3 or points.shape[1] != LANDMARKS or points.shape[2] not in (2, 3) or letters.shape != points.shape[:1]:
        raise BadValue(
            "{file}: points of shape (n, 21, 2 or 3) and n letters are right, not {points} and {letters}",
            file=path.name,
            points=points.shape,
            letters=letters.shape,
        )
    if not len(points) or not np.isfinite(points).all():
        raise BadValue("{file} holds no hand, or a point that is no number", file=path.name)
    names = [letter.strip().upper() for letter in letters]
    if unknown := sorted(set(names) - set(LETTERS)):
        raise BadValue("{file} holds letters that are not A to Z: {names}", file=path.name, names=", ".join(unknown))
    if points.shape[2] == 2:
        points = np.concatenate([points, np.zeros_like(points[..., :1])], axis=2)
    return LetterHands(points=points * np.array([aspect, 1, aspect], np.float32), letters=np.array(VOCABULARY.encode(names)))


def stretched(points: Floats, aspect: float) -> Floats:
    """Hands (n, 21, 2) whose x is taken as a share of a picture that is `aspect` times as wide as high."""
    return points * np.array([aspect, 1], points.dtype)


# -- reading stills ------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def still_log_probabilities(model: IIGA, points: Floats) -> NDArray[np.float64]:
    """Log-probabilities (n, 26) of the letters for stills (n, 21, 2), each held before the model and seen in a mirror too."""
    views = []
    for mirror in (1.0, -1.0):
        seen = points * np.array([mirror, 1.0], np.float32)
        inputs = np.concatenate([hand_features(seen), np.zeros((len(seen), 2)), np.ones((len(seen), 1))], axis=1)
        for some in np.array_split(inputs.astype(np.float32), -(-len(inputs) // 512)):
            held = torch.from_numpy(some)[:, None].expand(-1, HELD, -1)
            logits = model(held)[:, HELD // 2, 1:]  # without the blank: a letter is shown
            views.append(logits.double().log_softmax(dim=-1).numpy())
    half = len(views) // 2
    both = np.stack([np.concatenate(views[:half]), np.concatenate(views[half:])])
    return np.asarray(np.logaddexp(*both) - np.log(2))


def set_upright(points: Floats) -> tuple[Floats, int]:
    """A file's hands (n, 21, 2) turned back by quarters so that most point upwards, and the quarters turned clockwise, 0 to 3.

    Of a picture that lies on its side, or whose y counts upwards.
    """
    up = points[:, 9] - points[:, 0]
    way = (up / np.linalg.norm(up, axis=1, keepdims=True).clip(1e-6)).mean(axis=0)
    quarters = round(float(np.arctan2(way[0], -way[1])) / (np.pi / 2)) % 4
    back = np.linalg.matrix_power(np.array([[0, -1], [1, 0]]), quarters)
    return (points @ back).astype(points.dtype), quarters


def likeliest_aspect(points: Floats) -> float:
    """Width over height of the pictures that a file's coordinates are shares of: one of `ASPECTS`, by the shape of upright palms.

    Args:
        points: (n, 21, 2). Where fewer than `MIN_PALMS` hands are upright, 1.
    """
    ratios = {aspect: _palm_ratio(stretched(points, aspect)) for aspect in ASPECTS}
    known = {aspect: abs(ratio - PALM_RATIO) for aspect, ratio in ratios.items() if ratio is not None}
    return min(known, key=lambda aspect: known[aspect]) if 1.0 in known else 1.0


def _palm_ratio(points: Floats) -> float | None:
    """Median logarithm of the knuckles' width over the palm's length, of the hands that point upwards or downwards."""
    up = points[:, 9] - points[:, 0]
    upright = np.abs(up[:, 0]) < UPRIGHT * np.abs(up[:, 1])
    if upright.sum() < MIN_PALMS:
        return None
    across, along = points[upright, 5] - points[upright, 17], up[upright]
    lengths = [np.linalg.norm(one, axis=1).clip(1e-6) for one in (across, along)]
    return float(np.median(np.log(lengths[0] / lengths[1])))


def word_scores(log_probabilities: Floats, words: Sequence[str]) -> dict[str, float]:
    """Words as long as the stills are many -> the sum of their letters' log-probabilities.

    Args:
        log_probabilities: (letters of the word, 26).
    """
    fitting = [word for word in words if len(word) == len(log_probabilities)]
    if not fitting:
        return {}
    places = np.array([[VOCABULARY.index[letter] - 1 for letter in word] for word in fitting])
    return dict(zip(fitting, log_probabilities[np.arange(places.shape[1]), places].sum(axis=1).tolist(), strict=True))


def evaluate_letters(
    model: IIGA, hands: LetterHands, words: Sequence[str], *, count: int = 400, seed: int = 0, aspect: float | None = None
) -> dict[str, Any]:
    """Share of letters and of words read rightly; words are drawn from the list, each letter a random hand of that letter.

    Args:
        words: of A to Z, among all of which a word is sought; those with a letter that no hand shows are not drawn.
        aspect: of the pictures; `likeliest_aspect` where None.
    """
    flat, quarters = set_upright(hands.points[..., :2])
    aspect = likeliest_aspect(flat) if aspect is None else aspect
    read = still_log_probabilities(model, stretched(flat, aspect))
    right = read.argmax(axis=1) + 1 == hands.letters
    shown = {LETTERS[index - 1]: np.flatnonzero(hands.letters == index) for index in np.unique(hands.letters).tolist()}
    drawn = [word for word in words if len(word) > 1 and shown.keys() >= set(word)]
    answer: dict[str, Any] = {
        "samples": len(hands),
        "letters": round(float(right.mean()), 6),
        "by_letter": {letter: round(float(right[places].mean()), 4) for letter, places in shown.items()},
        "mean_by_letter": round(float(np.mean([right[places].mean() for places in shown.values()])), 6),
        "aspect": round(aspect, 4),
        "turned": 90 * quarters,
        "list": len(words),
        "list_shown": len(drawn),
    }
    if not drawn or count < 1:
        return {**answer, "words": None, "words_drawn": 0}
    random, hits = np.random.default_rng(seed), 0
    by_length = {length: [word for word in words if len(word) == length] for length in set(map(len, drawn))}
    for word in random.choice(drawn, count):
        rows = [int(random.choice(shown[letter])) for letter in word]
        scores = word_scores(read[rows], by_length[len(word)])
        hits += max(scores, key=scores.__getitem__) == word
    return {**answer, "words": round(hits / count, 6), "words_drawn": count}
