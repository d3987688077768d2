"""What several tests of sessions share; those that are coroutines run in virtual time."""

from collections.abc import Iterator

import pytest

from core.market.feeds.background import BackgroundLoop
from core.market.predictor import MarketCard, Predictor
from tests.conftest import in_a_loop
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.helpers import real_rows, tiny_predictor


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    in_a_loop(pyfuncitem, virtually)


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
