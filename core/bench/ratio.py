"""The ratio of two functions' times, measured in turns, so that a busy machine slows both alike."""

from __future__ import annotations

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
        candidate_ms, reference_ms: median times of one unit of work.
    """

    ratio: float
    low: float
    high: float
    candidate_ms: float
    reference_ms: float

    def as_dict(self) -> dict[str, float]:
        """For JSON, rounded."""
        return {name: round(value, 4) for name, value in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A candidate and its reference.

    Attributes:
        units: of work in one call of either.
        long: whether one call takes a second or more: then each is called three times, without a warm-up.
    """

    candidate: Work
    reference: Work
    units: tuple[float, float] = (1.0, 1.0)
    long: bool = False

    def measure(self, seconds: float) -> Ratio:
        """See `measure`."""
        both, units = (self.candidate, self.reference), self.units
        if self.long:
            turns = [[_time(work, 1) * 1e3 / unit for work, unit in zip(both, units, strict=True)] for _ in range(3)]
            return spread(*zip(*turns, strict=True))
        return measure(*both, seconds=seconds, units=units)


def measure(
    candidate: Work, reference: Work, *, seconds: float, units: tuple[float, float] = (1.0, 1.0), min_turns: int = 5
) -> Ratio:
    """Time both in turns, each turn about 20 ms or one call.

    Args:
        seconds: of measurement in all, after a warm-up. units: units of work in one call of either.
        min_turns: also where they take longer.
    """
    calls = [_calls(work) for work in (candidate, reference)]
    turns: list[list[float]] = []
    end = time.perf_counter() + seconds
    collects = gc.isenabled()
    gc.disable()
    try:
        while len(turns) < min_turns or time.perf_counter() < end:
            turns.append([_time(work, n) / unit for work, n, unit in zip((candidate, reference), calls, units, strict=True)])
    finally:
        if collects:
            gc.enable()
    candidates, references = zip(*turns, strict=True)
    return spread([1e3 * one for one in candidates], [1e3 * one for one in references])


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


def _calls(work: Work) -> int:
    work()
    return max(1, int(0.02 / max(_time(work, 1), 1e-7)))


def _time(work: Work, calls: int) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - began) / calls
