"""Facts of the machine and of others for the System page, as a visitor may have them."""

from __future__ import annotations

from core.bench import cuda
from core.bench.benchmarks import Benchmark
from core.bench.ratio import Ratio
from core.market.hub import RunningFeed, hub
from core.models.vit import ViTConfig
from core.runs.epoch_time import EpochTime, epoch_times
from core.service.access import Action, Visitor


def feeds(by: Visitor) -> list[RunningFeed]:
    """The running feeds.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.READ_FEEDS)
    return hub().watched()


def epoch(by: Visitor, config: ViTConfig) -> list[EpochTime]:
    """The time of an epoch of training on each device.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.MEASURE)
    return list(epoch_times(config))


def benchmark(by: Visitor, one: Benchmark, seconds: float) -> Ratio:
    """A benchmark, measured for so many seconds.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.MEASURE)
    return one.make().measure(seconds)


def card(by: Visitor) -> list[cuda.CardFigure]:
    """The models' speed on a CUDA card.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.MEASURE)
    return list(cuda.measured())
