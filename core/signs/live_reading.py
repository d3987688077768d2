"""Signs read as they are made: frames come one by one, hands are followed, and a rolling window of them is read anew each time.

A gloss in the window may still change while its frames are new; one whose frames have come near the window's old end is kept.
"""

import time
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.signs.decoding import gloss_spans
from core.signs.hands import tracks
from core.signs.hands.tracker import Finder, Hand, HandTracker
from core.signs.recogniser import Recogniser

WINDOW: Final = 48
"""Frames that are read at a time: about five seconds."""
SETTLED: Final = 8
"""Frames at the window's old end whose glosses change no more, as what came before them is out of sight."""
MIN_PROBABILITY: Final = 0.5
MAX_SAID: Final = 200
TILES_A_FRAME: Final = 1
"""Tiles in which a frame without a hand is searched for a small one: five frames go through all."""


@dataclass(frozen=True, kw_only=True)
class SaidGloss:
    """One gloss: its name, the frames it takes (counted from the first one read) and the probability of its surest frame."""

    gloss: str
    first: int
    last: int
    probability: float


@dataclass(frozen=True, kw_only=True)
class LiveReading:
    """Reading after a frame.

    Attributes:
        frame: its number, from 0. hands: landmarks of each hand (21, 2) in shares of the picture's width and height.
        glosses: the glosses, oldest first. now: the label of this frame, None for none. probability: of that label.
        log_probabilities: (n, V) of the newest n frames, oldest first.
        attention: (n,) how much this frame attends to each of the newest n frames, oldest first; sums to 1.
        took_s: seconds that finding and reading took.
    """

    frame: int
    hands: tuple[NDArray[np.floating], ...]
    glosses: tuple[SaidGloss, ...]
    now: str | None
    probability: float
    log_probabilities: NDArray[np.float32]
    attention: NDArray[np.float32]
    took_s: float


class LiveReader:
    """Reads one person's frames in order. Not for several threads at once.

    Args:
        recogniser: a model of landmarks.

    Raises:
        ValueError: for a model of anything else.
    """

    def __init__(self, recogniser: Recogniser, finder: Finder) -> None:
        if not recogniser.reads_hands:
            raise ValueError(f"{recogniser.name} does not read the landmarks of hands")
        self._recogniser = recogniser
        self._tracker = HandTracker(finder, most=tracks.HANDS, tiles=TILES_A_FRAME)
        self._hands: deque[list[Hand]] = deque(maxlen=WINDOW)
        self._said: list[SaidGloss] = []
        self._frame = -1

    def step(self, picture: NDArray[np.uint8]) -> LiveReading:
        """Read the next frame (H, W, 3)."""
        began = time.perf_counter()
        self._frame += 1
        hands = self._tracker.step(picture)
        self._hands.append(hands)
        window = tracks.of_hands(list(self._hands))
        with torch.no_grad():
            encoded = self._recogniser.encode(self._recogniser.landmark_inputs(window))
            logits, maps = self._recogniser.attend(encoded)
        log_probabilities = self._recogniser.silenced(logits[0].log_softmax(dim=-1).numpy(), window)
        self._said = self._updated(log_probabilities)
        label = int(log_probabilities[-1].argmax())
        size = np.array([picture.shape[1], picture.shape[0]], np.float32)
        return LiveReading(
            frame=self._frame,
            hands=tuple(hand.points / size for hand in hands),
            glosses=tuple(self._said),
            now=self._recogniser.vocabulary.names[label] if label else None,
            probability=float(np.exp(log_probabilities[-1, label])),
            log_probabilities=log_probabilities,
            attention=list(maps.values())[-1][0, :, -1].mean(dim=0).numpy(),
            took_s=time.perf_counter() - began,
        )

    def _updated(self, log_probabilities: NDArray[np.float32]) -> list[SaidGloss]:
        """The glosses said: those of the window, after those that were settled before."""
        start = self._frame + 1 - len(log_probabilities)
        border = start + SETTLED if start else 0
        kept = [one for one in self._said if one.last < border]
        least = max(MIN_PROBABILITY, self._recogniser.least_probability)
        for span in gloss_spans(log_probabilities):
            first, last = start + span.first, start + span.last
            sure = span.counts(least, self._recogniser.min_frames)
            gloss = self._recogniser.vocabulary.names[span.label]
            if not sure or last < border or (kept and kept[-1].last >= first):
                continue
            # a gloss whose beginning is out of sight keeps the one that was known
            known = next((one for one in self._said if one.gloss == gloss and one.last >= first - 1 and one.first < first), None)
            kept.append(SaidGloss(gloss=gloss, first=known.first if known else first, last=last, probability=span.probability))
        return kept[-MAX_SAID:]
