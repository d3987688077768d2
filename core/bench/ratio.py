"""The ratio of two functions' times, measured in turns, so that a busy machine slows both alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def measure(
    candidate: Work, reference: Work, *, seconds: float, units: tuple[float, float] = (1.0, 1.0), least_turns: int = 5
) -> Ratio:
    """Time both in turns, each turn about 20 ms or one call.

    Args:
        seconds: of measurement in all, after a warm-up. units: units of work in one call of either.
        least_turns: also where they take longer.
    """
    calls = [_calls(work) for work in (candidate, reference)]
    turns: list[list[float]] = []
    end = time.perf_counter() + seconds
    collects = gc.isenabled()
    gc.disable()
    try:
        while len(turns) < least_turns or time.perf_counter() < end:
            turns.append([_time(work, n) / unit for work, n, unit in zip((candidate, reference), calls, units, strict=True)])
    finally:
        if collects:
            gc.enable()
    times: Any = np.array(turns)
    ratios = times[:, 0] / times[:, 1]
    low, middle, high = np.percentile(ratios, [10, 50, 90])
    of_candidate, of_reference = np.median(times, axis=0) * 1e3
    return Ratio(
        ratio=float(middle), low=float(low), high=float(high), candidate_ms=float(of_candidate), reference_ms=float(of_reference)
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
