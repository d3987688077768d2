"""Growth of cost with what is made larger: measured times over sizes, and the exponent beside that of the operations counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch

from core.bench.networks import shipped
from core.bench.pieces import window_rows
from core.bench.ratio import Work
from core.bench.viewers import watched
from core.lecture import cost
from core.market.predictor import load_predictor, windows_of
from core.messages import compose
from core.models.tlob import BTC, TLOB, TLOBConfig

TURNS: Final = 5
"""Measurements of each size, in turns, of which the shortest counts: what disturbs only adds."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Times over sizes.

    Attributes:
        ms: of each size. operations: counted for each size, in any unit.
    """

    what: str
    sizes: tuple[int, ...]
    ms: tuple[float, ...]
    operations: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """b of the fitted a size^b."""
        return exponent(self.sizes, self.ms)

    @property
    def theory(self) -> float:
        """The same of the operations."""
        return exponent(self.sizes, self.operations)


@dataclass(frozen=True, kw_only=True)
class Enlarged:
    """Work that is made larger, and the operations that grow with it.

    Attributes:
        make: a size's work. operations: of a size.
    """

    what: str
    sizes: tuple[int, ...]
    make: Callable[[int], Work]
    operations: Callable[[int], float]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log value over log size by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _network(config: TLOBConfig) -> Work:
    model, window = TLOB(config).eval(), torch.randn(1, config.steps, config.features)

    def run() -> object:
        with torch.inference_mode():
            return model(window)

    return run


def _macs(config: TLOBConfig) -> float:
    return float(cost.total(cost.tlob_parts(config)).macs)


def _together(count: int) -> Work:
    model, windows = shipped(count)

    def run() -> object:
        with torch.inference_mode():
            return model(windows)

    return run


def _rows(count: int) -> Work:
    predictor = load_predictor()
    entry = next(iter(predictor.markets.values()))
    rows = window_rows(predictor.window - 1 + count)
    ends = np.arange(predictor.window - 1, len(rows))
    return lambda: predictor.predict(windows_of(rows, ends, predictor.window), entry)


GROWTHS: Final[Mapping[str, Enlarged]] = {
    "steps": Enlarged(
        what=compose("steps in a window, the document's TLOB"),
        sizes=(64, 128, 256, 512),
        make=lambda n: _network(replace(BTC, steps=n)),
        operations=lambda n: _macs(replace(BTC, steps=n)),
    ),
    "levels": Enlarged(
        what=compose("levels a side, each with its own channels"),
        sizes=(10, 20, 40, 80),
        make=lambda n: _network(replace(BTC, features=4 * n, width=4 * n)),
        operations=lambda n: _macs(replace(BTC, features=4 * n, width=4 * n)),
    ),
    "markets": Enlarged(what=compose("markets that share one pass"), sizes=(1, 2, 4, 8, 16), make=_together, operations=float),
    "viewers": Enlarged(what=compose("viewers of one market"), sizes=(4, 16, 64, 256), make=watched, operations=float),
    "rows": Enlarged(what=compose("rows of a recording"), sizes=(16, 32, 64, 128), make=_rows, operations=float),
}


def measured(growth: Enlarged) -> Curve:
    """Measure one curve; some seconds."""
    works = [growth.make(size) for size in growth.sizes]
    times = [[_time(work) for work in works] for _ in range(TURNS + 1)][1:]  # the first warms up
    return Curve(
        what=growth.what,
        sizes=growth.sizes,
        ms=tuple(float(one) for one in np.min(times, axis=0)),
        operations=tuple(growth.operations(size) for size in growth.sizes),
    )


def all_measured() -> Iterator[Curve]:
    """Every curve."""
    for growth in GROWTHS.values():
        yield measured(growth)


def _time(work: Work) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
