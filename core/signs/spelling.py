"""Words spelled by recorded hands: a film of landmarks put together from bundled hands, and the answer that IIGA gives to it."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from core.signs.hands.tracker import LANDMARKS
from core.signs.hands.tracks import HANDS, HandTracks
from core.signs.letters import VOCABULARY, Floats, LetterHands
from core.signs.samples import FOLDER

BUNDLED: Final = "letters.parquet"
HOLD: Final = 5
"""Frames that a letter is held: half a second."""
CHANGE: Final = 2
"""Frames from one letter to the next, and of the slide aside before a doubled one."""
SLIDE: Final = 0.5
"""Of that slide: hand sizes a frame."""
MAX_LETTERS: Final = 12


@cache
def bundled_hands() -> LetterHands:
    """A few recorded hands of each letter, about their middles and of size 1 (`scripts/bundle_clips.py`)."""
    table = pd.read_parquet(FOLDER / BUNDLED)
    flat = np.stack(table["points"].to_list()).reshape(-1, LANDMARKS, 2).astype(np.float32)
    points = np.concatenate([flat, np.zeros_like(flat[..., :1])], axis=2)
    return LetterHands(points=points, letters=np.array(VOCABULARY.encode(table["letter"].to_list())))


def hand_of(letter: str, *, variant: int = 0, hands: LetterHands | None = None) -> Floats:
    """(21, 2): one of the bundled hands of a letter, another for each variant."""
    hands = hands or bundled_hands()
    places = np.flatnonzero(hands.letters == VOCABULARY.index[letter])
    return np.asarray(hands.points[places[variant % len(places)], :, :2])


def film_of(word: str, *, variant: int = 0, hands: LetterHands | None = None) -> tuple[HandTracks, list[int]]:
    """A hand that spells a word, as a tracker would follow it, and the middle frame of each letter.

    Args:
        word: of A to Z. variant: which of each letter's hands; a doubled letter keeps its own and slides aside.
    """
    frames: list[Floats] = []
    middles: list[int] = []
    shown: Floats = np.zeros((LANDMARKS, 2), np.float32)
    aside = 0.0
    for letter in word:
        shape = hand_of(letter, variant=variant, hands=hands)
        doubled = len(middles) and word[len(middles) - 1] == letter
        for step in range(1, CHANGE + 1 if len(middles) else 1):
            if doubled:
                aside += SLIDE
                frames.append(shape + np.array([aside, 0]))
            else:
                share = step / (CHANGE + 1)
                frames.append(shown * (1 - share) + shape * share + np.array([aside, 0]))
        middles.append(len(frames) + HOLD // 2)
        frames += [shape + np.array([aside, 0])] * HOLD
        shown = shape
    points = np.zeros((len(frames), HANDS, LANDMARKS, 2), np.float32)
    points[:, 0] = np.stack(frames) if frames else points[:, 0]
    seen = np.zeros((len(frames), HANDS), np.bool_)
    seen[:, 0] = True
    return HandTracks(points=points, seen=seen), middles
