"""Adaptive conformal sets: which classes to name so that what happens is among them at a promised rate.

A class is in the set while 1 less its probability is at most a limit: the quantile of that score over recent outcomes, at a level
that rises after every miss and falls after every hit (adaptive conformal inference: Gibbs and Candes 2021, equation 2). So the
promise is kept in the long run whatever the market does; nothing is assumed about it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import Final

PROMISED: Final = 0.9
"""Share of outcomes that shall be among the classes named."""
PACE: Final = 0.03
"""Step by which one miss moves the level (Gibbs and Candes's gamma)."""
MEMORY: Final = 1_000
"""Outcomes whose scores the quantile is taken of."""
FEWEST: Final = 50
"""Outcomes before which all classes are named."""


class AdaptiveSets:
    """The limit of the sets of one head, moved by each outcome as it becomes known.

    Attributes:
        limit: a class is named where 1 less its probability is at most this; 1 names every class, -1 none.
    """

    def __init__(self, *, promised: float = PROMISED, pace: float = PACE, memory: int = MEMORY) -> None:
        self.promised, self.pace = promised, pace
        self.limit = 1.0
        self._missing_rate = 1 - promised
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []
        self._memory = memory

    def resolve(self, probability: float, limit: float) -> None:
        """An outcome that was given this probability, by a set of this limit."""
        score = 1 - probability
        self._missing_rate += self.pace * (1 - self.promised - (score > limit))
        insort(self._sorted, score)
        self._recent.append(score)
        if len(self._recent) > self._memory:
            self._sorted.pop(bisect_left(self._sorted, self._recent.popleft()))
        self.limit = self._quantile()

    def _quantile(self) -> float:
        n = len(self._sorted)
        if n < FEWEST or self._missing_rate <= 0:
            return 1.0
        rank = math.ceil((1 - self._missing_rate) * (n + 1))  # 1..n, or beyond the largest score
        return self._sorted[rank - 1] if 1 <= rank <= n else 1.0 if rank > n else -1.0


def named(probabilities: Sequence[float], limit: float) -> list[int]:
    """The classes of a set, in order."""
    return [label for label, p in enumerate(probabilities) if 1 - p <= limit]
