"""Facts of others for the System page, as a visitor may have them."""

from core.market.hub import RunningFeed, hub
from core.service.access import Action, closed


@closed(Action.READ_FEEDS)
def feeds() -> list[RunningFeed]:
    """The running feeds."""
    return hub().watched()
