"""What is set aside, and that the rest is still collected."""

import gc
import sys
import types
import weakref
from collections.abc import Iterator

import pytest

from core import garbage_collection


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


class Knot:
    """Refers to itself: only the collector can free it."""

    def __init__(self) -> None:
        self.me = self


def test_what_is_loaded_is_set_aside_once_and_later_knots_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_freeze_count()
    monkeypatch.setitem(sys.modules, "a_new_one", types.ModuleType("a_new_one"))
    assert garbage_collection.freeze_loaded()
    kept = gc.get_freeze_count()
    assert kept > before + 10_000  # pytest alone has more
    assert not garbage_collection.freeze_loaded()  # nothing has come
    knot = Knot()
    seen = weakref.ref(knot)
    del knot
    gc.collect()
    assert seen() is None
    assert gc.get_freeze_count() <= kept  # what is set aside may still go with its last reference
