"""Tests of feeds that are coroutines run in virtual time."""

import pytest

from tests.conftest import in_a_loop
from tests.core.market.feeds.virtual_time import virtually


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    in_a_loop(pyfuncitem, virtually)
