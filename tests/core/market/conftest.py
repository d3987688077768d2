"""What several tests of sessions share."""

from collections.abc import Iterator

import pytest

from core.market.feeds.background import BackgroundLoop
from core.market.predictor import MarketCard, Predictor
from tests.core.market.helpers import real_rows, tiny_predictor


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A small one, with constants of the fifth excerpt."""
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(4))


@pytest.fixture(scope="module")
def entry(predictor: Predictor) -> MarketCard:
    """The market that it knows by name."""
    return predictor.markets["testville"]


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    """A background loop that is stopped afterwards."""
    loop = BackgroundLoop("test")
    yield loop
    loop.stop()
