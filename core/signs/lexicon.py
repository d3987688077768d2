"""Words that letters may spell: lists, a trie of them, and the beam that reads a stream of letters as one of its words.

The beam walks the trie instead of all strings of letters: a prefix that begins no word is never kept. As in `beam_search`, each
prefix carries the probability of the paths that end in the blank and of those that end in its last letter (Graves 2006).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.messages import BadValue
from core.signs.letters import LETTERS, VOCABULARY
from core.signs.vocabulary import BLANK

FOLDER: Final = Path(__file__).parents[2] / "assets" / "words"
LANGUAGES: Final = ("en", "es")
MAX_WORDS: Final = 50_000
MAX_LENGTH: Final = 40
WIDTH: Final = 30
LABELS: Final = 8
"""Prefixes that are kept after each frame, and labels of a frame that may extend them."""
COMMON: Final = 0.25
"""Power of a word's rank in its list by which commoner words are preferred: a hundred times rarer costs a factor of three."""


def spelled(text: str) -> str:
    """A word in the letters of the alphabet, without accents; empty where it holds anything else.

    >>> spelled("corazón"), spelled("Año"), spelled("x-ray")
    ('CORAZON', 'ANO', '')
    """
    bare = "".join(sign for sign in unicodedata.normalize("NFD", text.strip()) if not unicodedata.combining(sign)).upper()
    return bare if set(bare) <= set(LETTERS) and len(bare) <= MAX_LENGTH else ""


def words_of(lines: Iterable[str]) -> list[str]:
    """The words of some lines, each once, those that cannot be spelled left out; `MAX_WORDS` at most."""
    return list(dict.fromkeys(word for word in map(spelled, lines) if word))[:MAX_WORDS]


def read_words(path: Path) -> list[str]:
    """The words of a file, a word a line.

    Raises:
        ValueError: for a file that is no text, or holds no word of A to Z.
    """
    try:
        words = words_of(path.read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue("{file} is no text file with a word a line", file=path.name) from error
    if not words:
        raise BadValue("{file} holds no word of the letters A to Z", file=path.name)
    return words


@cache
def bundled(language: str) -> list[str]:
    """The commonest words of a language, the commonest first (`scripts/word_lists.py`)."""
    return read_words(FOLDER / f"{language}.txt")


@dataclass(frozen=True, kw_only=True)
class WordGuess:
    """A word of the list and its share of the probability of all that the beam kept."""

    word: str
    probability: float


class Lexicon:
    """A trie of words, the commonest first: children of each node by label, and the cost of the words that end there."""

    def __init__(self, words: Iterable[str]) -> None:
        self.children: list[dict[int, int]] = [{}]
        self.words: dict[int, str] = {}
        self.costs: dict[int, float] = {}
        for rank, word in enumerate(words, start=1):
            node = 0
            for label in VOCABULARY.encode(word):
                if label not in self.children[node]:
                    self.children[node][label] = len(self.children)
                    self.children.append({})
                node = self.children[node][label]
            self.words.setdefault(node, word)
            self.costs.setdefault(node, COMMON * log(rank))

    def __len__(self) -> int:
        return len(self.words)

    def guesses(self, log_probabilities: NDArray[np.floating], *, width: int = WIDTH, most: int = 5) -> list[WordGuess]:
        """The likeliest words for a stream of letters, best first.

        Args:
            log_probabilities: (T, 27), log of each frame's softmax, index 0 the blank.
        """
        kept = {0: (0.0, -inf)}  # node -> log-probability of paths that end in the blank, and in its last letter
        last = {0: BLANK}
        table = np.asarray(log_probabilities, dtype=np.float64)
        likely = [set(row) for row in (np.argsort(-table[:, 1:], axis=1)[:, :LABELS] + 1).tolist()]
        for frame, labels in zip(table.tolist(), likely, strict=True):
            ahead: dict[int, list[float]] = {}
            for node, (silent, spoken) in kept.items():
                both = _sum(silent, spoken)
                here = ahead.setdefault(node, [-inf, -inf])
                here[0] = _sum(here[0], both + frame[BLANK])
                if node:
                    here[1] = _sum(here[1], spoken + frame[last[node]])
                for label, child in self.children[node].items():
                    if label not in labels:
                        continue
                    came = silent if label == last[node] else both
                    last[child] = label
                    there = ahead.setdefault(child, [-inf, -inf])
                    there[1] = _sum(there[1], came + frame[label])
            best = sorted(ahead, key=lambda node: -_sum(*ahead[node]))[:width]
            kept = {node: (ahead[node][0], ahead[node][1]) for node in best}
        scores = {node: _sum(*kept[node]) - self.costs[node] for node in kept if node in self.words}
        if not scores:
            return []
        top = max(scores.values())
        total = sum(exp(score - top) for score in scores.values())
        ranked = sorted(scores, key=lambda node: -scores[node])[:most]
        return [WordGuess(word=self.words[node], probability=exp(scores[node] - top) / total) for node in ranked]


def _sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -inf else a + log(1 + exp(b - a))
