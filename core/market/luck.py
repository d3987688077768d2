"""Could this be luck? An anytime-valid test of calls against a coin that knows how often each class comes.

The coin calls the classes in any fixed proportions, independently of what happens. Calls are taken once a horizon, so that
outcomes do not overlap, and in groups of `GROUP`. Had a coin made them, each of a group's cyclic shifts would have been as
likely as the order in which they came; so what exp(stake x hits) gains over its mean over the shifts is the gain of a fair bet.
The wealth of one who makes such bets, beginning with 1, is an e-process: by Ville's inequality it ever exceeds 1/a with
probability at most a, however often and whenever one looks (Ramdas, Gruenwald, Vovk and Shafer 2023). Nothing is assumed about
the market: its outcomes may depend on one another in any way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

GROUP: Final = 16
"""Calls that are compared with their own shifts."""
STAKES: Final = np.array([0.1, 0.25, 0.5, 1.0, 2.0])
"""Weights of a hit in the exponent; the wealth is the mean over them, so that none need be chosen."""


@dataclass(frozen=True, kw_only=True)
class Luck:
    """Comparison of the calls with the coin.

    Attributes:
        groups: whole groups of calls so far.
        wealth, best: of the e-process, now and at its best moment.
    """

    groups: int
    wealth: float
    best: float

    @property
    def chance(self) -> float:
        """The largest probability with which a coin would ever look this good: 1 over the best wealth, at most 1."""
        return min(1.0, 1.0 / self.best)


def spaced(steps: NDArray[np.int64], horizon: int) -> NDArray[np.int64]:
    """Indices of the first of these steps (rising), and of each next one at least a horizon later."""
    kept: list[int] = []
    values = steps.tolist()
    place = 0
    while place < len(values):
        kept.append(place)
        place = int(np.searchsorted(steps, values[place] + horizon))
    return np.array(kept, dtype=np.int64)


def wealth(calls: NDArray[np.integer], truth: NDArray[np.integer]) -> NDArray[np.float64]:
    """The e-process after each whole group, (groups,), of calls whose outcomes do not overlap."""
    groups = len(calls) // GROUP
    c, y = (np.asarray(values)[: groups * GROUP].reshape(groups, GROUP) for values in (calls, truth))
    hits = np.stack([(np.roll(c, shift, axis=1) == y).sum(axis=1) for shift in range(GROUP)], axis=1)
    beyond = hits - hits[:, :1]  # how many more hits each shift would have had
    gain = -np.log(np.exp(STAKES[:, None, None] * beyond).mean(axis=2))
    grown = np.logaddexp.reduce(np.cumsum(gain, axis=1), axis=0) - np.log(len(STAKES))
    return np.exp(np.minimum(grown, 700.0))


def luck(calls: NDArray[np.integer], truth: NDArray[np.integer]) -> Luck:
    """Test calls whose outcomes do not overlap (see `spaced`), in time order."""
    process = wealth(calls, truth)
    return Luck(
        groups=len(process),
        wealth=float(process[-1]) if len(process) else 1.0,
        best=max(1.0, float(process.max())) if len(process) else 1.0,
    )
