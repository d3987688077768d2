"""What the tests of formats share."""

from collections.abc import Iterator

import pytest

from core.market.formats import bounded


@pytest.fixture
def one_process() -> Iterator[pytest.MonkeyPatch]:
    """One process reads all files of a test, where the app begins one for each; undone, it does so again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded._pool, "rest", lambda: None)
        yield patch
    bounded._pool.rest()
