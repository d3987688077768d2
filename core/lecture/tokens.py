"""Words as vectors for pages about mechanics: fixed draws, untrained, the same word always the same vector.

Source: attention-notebook "What is imput enbedding" (a word is an id, and an id a vector that training will change).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST: Final = 12
"""Tokens a page takes: more would not be read."""


class TokenError(ValueError):
    """Words or numbers that a page cannot use; the message says what was wrong and what would be right."""


def split(sentence: str, *, most: int = MOST) -> list[str]:
    """Words between blanks.

    Raises:
        TokenError: for none, or for more than `most`.
    """
    words = sentence.split()
    if not 1 <= len(words) <= most:
        raise TokenError(f"there are {len(words)} words: write 1 to {most} of them, with blanks between")
    return words


def draw(name: str, shape: tuple[int, ...], *, std: float = 1.0, digits: int = 2) -> Array:
    """Numbers from N(0, std^2) that depend on nothing but a name, rounded so that what is shown is what is computed with."""
    seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    return np.round(np.random.default_rng(seed).normal(scale=std, size=shape), digits) + 0.0


def embed(words: Sequence[str], width: int, *, seed: int = 0) -> Array:
    """(words, width), rows from N(0, 1). Upper and lower case are one word."""
    return np.stack([draw(f"word {seed} {word.lower()}", (width,)) for word in words])


def numbered(words: Sequence[str]) -> list[str]:
    """The words as names of their places: one that comes again is counted, so that all are different ("a", "cat", "a·2")."""
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(word if seen[word] == 1 else f"{word}·{seen[word]}")
    return names
