"""Glosses and their indices; index 0 is CTC's blank (D18)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from core.messages import BadValue, compose

BLANK = 0
"""The blank's index in every vocabulary and every model's output."""
BLANK_NAME = "∅"
"""Sign that stands for the blank."""


@dataclass(frozen=True)
class Vocabulary:
    """The glosses that a model knows, without the blank; the first has index 1.

    >>> words = Vocabulary(("HOUSE", "JOHN"))
    >>> words.encode(["JOHN", "HOUSE"]), words.decode([2, 1]), len(words)
    ([2, 1], ['JOHN', 'HOUSE'], 3)
    """

    glosses: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.glosses or len(set(self.glosses)) != len(self.glosses):
            raise ValueError(compose("a vocabulary holds one or more glosses, each of them once"))

    def __len__(self) -> int:
        """With the blank: V."""
        return len(self.glosses) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """One name an index, the blank's first."""
        return (BLANK_NAME, *self.glosses)

    @cached_property
    def index(self) -> dict[str, int]:
        """Gloss -> index."""
        return {gloss: place for place, gloss in enumerate(self.glosses, start=1)}

    def encode(self, sentence: Sequence[str]) -> list[int]:
        """Indices of a sentence's glosses.

        Raises:
            ValueError: for a gloss that is not in the vocabulary.
        """
        unknown = [gloss for gloss in sentence if gloss not in self.index]
        if unknown:
            raise BadValue(
                "the vocabulary of {count} glosses does not hold {labels}", count=len(self.glosses), labels=", ".join(unknown)
            )
        return [self.index[gloss] for gloss in sentence]

    def decode(self, indices: Iterable[int]) -> list[str]:
        """Glosses of indices, none of them the blank."""
        return [self.glosses[index - 1] for index in indices]


def in_order(glosses: Iterable[str]) -> list[str]:
    """Glosses in natural order: numbers by their size, then words by their letters.

    >>> in_order(["LOVE", "10", "9", "APPLE"])
    ['9', '10', 'APPLE', 'LOVE']
    """
    return sorted(glosses, key=lambda gloss: (not gloss.isdigit(), int(gloss) if gloss.isdigit() else 0, gloss))
