"""Facts of the machine and of others for the System page, as a visitor may have them."""

from core.market.hub import RunningFeed, hub
from core.models.vit import ViTConfig
from core.runs.epoch_time import EpochTime, epoch_times
from core.service.access import Action, closed


@closed(Action.READ_FEEDS)
def feeds() -> list[RunningFeed]:
    """The running feeds."""
    return hub().watched()


@closed(Action.MEASURE)
def epoch(config: ViTConfig) -> list[EpochTime]:
    """The time of an epoch of training on each device."""
    return list(epoch_times(config))
