"""A word that grows as letters are shown to a camera: what was spelled so far, and the words of a list that it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.signs.lexicon import Lexicon, WordGuess
from core.signs.live_reading import LiveReading

PAUSE: Final = 15
"""Frames without a hand that end a word: a second and a half."""
MAX_FRAMES: Final = 400
"""Frames of a word: forty seconds. Older ones are forgotten."""
MAX_DONE: Final = 12
EVERY: Final = 5
"""Frames after which the list is searched anew even where the letters are the same."""
FLOOR: Final = 0.1
"""Share of every letter's probability that is spread evenly before the beam: no single frame rules a word out."""
SURE_BLANK: Final = 0.98
"""A frame whose blank is as probable, after another such frame, says nothing new to the beam."""


@dataclass(frozen=True, kw_only=True)
class Spelled:
    """State after a frame: the letters of the word that grows, the list's likeliest words for it, and the words before it."""

    letters: str
    guesses: tuple[WordGuess, ...]
    done: tuple[str, ...]


class LiveSpeller:
    """Collects the letters' probabilities of a live reading, frame by frame, until a pause ends the word."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._done: list[str] = []
        self._rows: dict[int, NDArray[np.floating]] = {}  # frame -> log-probabilities, the latest reading of it
        self._letters = ""
        self._guesses: list[WordGuess] = []
        self._first = self._empty = 0

    def clear(self) -> None:
        """Begin again: no word, and none before."""
        self._done.clear()
        self._begin()

    def _begin(self) -> None:
        self._rows.clear()
        self._letters, self._guesses = "", []
        self._first = -1  # set by the next frame

    def add(self, reading: LiveReading) -> Spelled:
        """Take one frame's reading."""
        if self._first < 0:
            self._first = reading.frame
        start = reading.frame + 1 - len(reading.log_probabilities)
        for place, row in enumerate(reading.log_probabilities):
            if start + place >= self._first:
                self._rows[start + place] = row
        for old in sorted(self._rows)[:-MAX_FRAMES]:
            del self._rows[old]
        letters = "".join(one.gloss for one in reading.said if one.first >= self._first)
        if letters != self._letters or reading.frame % EVERY == 0:
            self._letters = letters
            self._guesses = self.lexicon.guesses(spaced(list(self._rows.values()))) if letters else []
        guesses = self._guesses
        self._empty = 0 if reading.hands else self._empty + 1
        if self._empty >= PAUSE and letters:
            self._done = [*self._done, guesses[0].word if guesses else letters][-MAX_DONE:]
            self._begin()
            letters, guesses = "", []
        return Spelled(letters=letters, guesses=tuple(guesses), done=tuple(self._done))


def spaced(rows: list[NDArray[np.floating]]) -> NDArray[np.float64]:
    """(T, 27) of the rows, with no letter ruled out, and one frame for each run of frames that are surely blank."""
    table = np.exp(np.asarray(rows, dtype=np.float64))
    blank = table[:, 0] > SURE_BLANK
    kept = ~blank
    kept[1:] |= blank[1:] & ~blank[:-1]
    kept[:1] = True
    return np.asarray(np.log(table[kept] * (1 - FLOOR) + FLOOR / table.shape[1]))
