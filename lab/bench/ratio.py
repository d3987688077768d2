"""The ratio of two functions' times, measured in turns, so that a busy machine slows both alike."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Work = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Median and spread over the turns.

    Attributes:
        ratio: median of the candidate's time by the reference's. low, high: its 10th and 90th percentile.
        candidate_ms, reference_ms: median times of a call.
    """

    ratio: float
    low: float
    high: float
    candidate_ms: float
    reference_ms: float


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A candidate and its reference; `long`: one call takes a second or more, so that each is called three times, cold."""

    candidate: Work
    reference: Work
    long: bool = False

    def measure(self, seconds: float, *, min_turns: int = 5) -> Ratio:
        """Time both in turns, each turn about 20 ms or one call.

        Args:
            seconds: of measurement in all, after a warm-up. min_turns: also where they take longer.
        """
        both = (self.candidate, self.reference)
        if self.long:
            return spread(*zip(*([_time_ms(work, 1) for work in both] for _ in range(3)), strict=True))
        for work in both:
            work()
        calls = [max(1, int(20 / max(_time_ms(work, 1), 1e-4))) for work in both]
        turns: list[list[float]] = []
        end = time.perf_counter() + seconds
        collects = gc.isenabled()
        gc.disable()
        try:
            while len(turns) < min_turns or time.perf_counter() < end:
                turns.append([_time_ms(work, n) for work, n in zip(both, calls, strict=True)])
        finally:
            if collects:
                gc.enable()
        return spread(*zip(*turns, strict=True))


def spread(candidates_ms: Sequence[float], references_ms: Sequence[float]) -> Ratio:
    """Median and percentiles of the ratios of times that were measured side by side, turn by turn."""
    candidate, reference = np.array(candidates_ms), np.array(references_ms)
    low, middle, high = np.percentile(candidate / reference, [10, 50, 90])
    return Ratio(
        ratio=float(middle),
        low=float(low),
        high=float(high),
        candidate_ms=float(np.median(candidate)),
        reference_ms=float(np.median(reference)),
    )


def _time_ms(work: Work, calls: int) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - began) / calls * 1e3
