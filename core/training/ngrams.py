"""Character n-grams with interpolated Witten-Bell smoothing: the baselines of a model of text, in closed form.

p_n(c | h) = (count(h c) + T(h) p_(n-1)(c | h')) / (count(h) + T(h)), with T(h) the different symbols seen after h, h' the history
without its first symbol, and p_0 = 1 / V (Witten and Bell 1991; Chen and Goodman 1999, section 2.6). It has nothing to tune.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class WittenBell:
    """Counts of every history up to `order` - 1 symbols.

    Args:
        sequences: of symbol numbers; histories do not reach across them. order: n; 1 is the unigram.
        vocabulary: V.

    >>> round(WittenBell([[0, 1, 1]], order=1, vocabulary=2).probability([], 1), 4)
    0.6
    """

    def __init__(self, sequences: Iterable[Sequence[int]], *, order: int, vocabulary: int) -> None:
        self.order, self.vocabulary = order, vocabulary
        self._counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for sequence in sequences:
            for place, symbol in enumerate(sequence):
                for length in range(min(order - 1, place) + 1):
                    self._counts[tuple(sequence[place - length : place])][symbol] += 1

    def probability(self, history: Sequence[int], symbol: int) -> float:
        """p(symbol | history), of whose symbols the last `order` - 1 count."""
        p = 1 / self.vocabulary
        longest = min(self.order - 1, len(history))
        for length in range(longest + 1):
            seen = self._counts.get(tuple(history[len(history) - length :]))
            if seen is None:
                break
            p = (seen[symbol] + len(seen) * p) / (seen.total() + len(seen))
        return p

    def bits(self, sequence: Sequence[int], *, first: int = 0) -> NDArray[np.float64]:
        """-log2 p of each symbol from place `first` on, given those before it."""
        return -np.log2(
            [self.probability(sequence[max(0, i - self.order + 1) : i], sequence[i]) for i in range(first, len(sequence))]
        )
