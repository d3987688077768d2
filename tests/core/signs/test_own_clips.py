"""The store of visitors' clips."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from core.signs.own_clips import KEPT, STORE
from core.signs.video import Footage


def test_a_store_keeps_the_newest_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STORE, "_entries", OrderedDict())  # what pages of this process keep lies elsewhere
    monkeypatch.setattr(STORE, "_bytes", 0)
    clips = [
        Footage(frames=np.full((1, 2, 2, 3), level, np.uint8), fps=8, seconds=np.zeros(1), width=2, height=2)
        for level in range(KEPT.total + 1)
    ]
    keys = [STORE.keep((f"clip {number}", clip)) for number, clip in enumerate(clips)]
    assert STORE.find(keys[0]) is None
    assert STORE.find(keys[2]) == ("clip 2", clips[2])
    assert STORE.keep(("again", clips[1])) == keys[1]
