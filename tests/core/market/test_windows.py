"""Frozen windows: what they refuse, and which rows of a recording can end one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.market.windows import FrozenWindow, RecordedWindows, WindowError, window_ends
from tests.core.market.helpers import random_book, with_hole


def window(count: int = 12, seed: int = 0, **changes: Any) -> FrozenWindow:
    rows = random_book(count, seed)
    about = {"timestamps": rows.timestamps, "levels": rows.levels, "market": "live/binance/BTC/USDT", "predictor": "tlob"}
    return FrozenWindow(**about | changes)


def test_bad_content_is_named():
    good = window()
    late = good.timestamps.copy()
    late[6:] += 250
    with pytest.raises(WindowError, match="has a gap"):
        window(timestamps=late)
    crossed = good.levels.copy()
    crossed[3, 0] = crossed[3, 2]
    with pytest.raises(WindowError, match="locked: .* .row 3."):
        window(levels=crossed)
    with pytest.raises(WindowError, match=r"\(n, 40\)"):
        window(levels=good.levels[:, :39])


def test_nothing_outside_can_change_a_frozen_window():
    source = random_book(12, 0)
    one = RecordedWindows(source, 12, market="m").window(99, predictor="p")
    before = one.levels[0, 0]
    source.levels[:] = 7
    assert one.levels[0, 0] == before
    with pytest.raises(ValueError, match="read-only"):
        one.levels[0, 0] = 1


def test_the_id_names_the_content():
    assert window().id == window().id
    assert len({window().id, window(seed=1).id, window(market="other").id}) == 3


def test_the_axis_ends_now():
    one = window(128)
    np.testing.assert_allclose(one.seconds[[0, -1]], [-31.75, 0])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 6))
def test_ends_are_those_of_whole_windows(gaps, steps):
    timestamps = np.cumsum([1000 if gap else 250 for gap in gaps])
    naive = [
        end
        for end in range(len(timestamps))
        if end >= steps - 1 and all(timestamps[i] - timestamps[i - 1] == 250 for i in range(end - steps + 2, end + 1))
    ]
    assert window_ends(timestamps, steps).tolist() == naive


HOLED = with_hole(random_book(40, 0), 20, 8)
"""40 rows, with two seconds missing after the 20th."""


def test_a_recordings_windows_by_the_second():
    windows = RecordedWindows(HOLED, 12, market="m")
    assert (windows.first, windows.last) == (2.75, 39 * 0.25 + 2)
    for second, ends in ((0, 2.75), (2.75, 2.75), (3.1, 3.0), (4.75, 4.75), (6.0, 4.75), (9.5, 4.75), (9.75, 9.75), (99, 11.75)):
        assert windows.nearest(second) == ends
        one = windows.window(second, predictor="p")
        assert one.timestamps[-1] == HOLED.timestamps[0] + ends * 1000
        end = int(np.searchsorted(HOLED.timestamps, one.timestamps[-1]))
        np.testing.assert_array_equal(one.levels, HOLED.levels[end - 11 : end + 1])


def test_a_recording_that_is_too_short_is_refused():
    with pytest.raises(WindowError, match="no stretch of 21 rows"):
        RecordedWindows(HOLED[0:20], 21, market="m")
