"""Words as vectors: random but fixed, untrained, the same vector for the same word.

Source: attention-notebook "What is imput enbedding" (a word is an id, and an id a vector that training will change).
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.messages import Refusal

Array = NDArray[np.float64]

MAX_TOKENS: Final = 12
"""Tokens that a page takes, so that its matrices stay readable."""


class TokenError(Refusal, ValueError):
    """Words or numbers that a page cannot use; the message says what was wrong and what is right."""


def split_words(sentence: str) -> list[str]:
    """The words of a sentence, separated by blanks.

    Raises:
        TokenError: for none, or for more than `MAX_TOKENS`.
    """
    words = sentence.split()
    if not 1 <= len(words) <= MAX_TOKENS:
        raise TokenError(f"there are {len(words)} words: write 1 to {MAX_TOKENS} of them, with blanks between")
    return words


def random_numbers(name: str, shape: tuple[int, ...], *, std: float = 1.0, digits: int = 2) -> Array:
    """Numbers from N(0, std^2), seeded by the name, rounded so that a page shows exactly what it computes with."""
    seed = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    return np.round(np.random.default_rng(seed).normal(scale=std, size=shape), digits) + 0.0


def embed(words: Sequence[str], width: int, *, seed: int = 0) -> Array:
    """(words, width), rows from N(0, 1). Case makes no difference."""
    return np.stack([random_numbers(f"word {seed} {word.lower()}", (width,)) for word in words])


def unique_names(words: Sequence[str]) -> list[str]:
    """The words as names of their places; a repeated word gets its count ("a", "cat", "a·2")."""
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(word if seen[word] == 1 else f"{word}·{seen[word]}")
    return names
