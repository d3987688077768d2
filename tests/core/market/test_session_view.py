"""When a feed was good today, against a count of its rows."""

from __future__ import annotations

from collections import Counter

import numpy as np

from core.market.session_view import DAY_MINUTES, MINUTE_MS, DayOfRows

DAY_MS = DAY_MINUTES * MINUTE_MS


def test_whole_minutes_hold_the_rows_that_came_in_them_and_a_silent_one_none() -> None:
    rng = np.random.default_rng(3)
    start = 20_000 * DAY_MS + 600 * MINUTE_MS + 15_000  # within a minute, which does not count
    times = [start + 250 * i for i in range(240 * 30) if rng.random() > 0.1 and not 10 <= i // 240 < 13]
    day = DayOfRows()
    assert day.whole_minutes(start) == (0, ())
    for time in times:
        day.take(time)
    now = times[-1] + 2 * MINUTE_MS  # silent since
    first = 20_000 * DAY_MS + 601 * MINUTE_MS
    counted = Counter(time // MINUTE_MS for time in times)
    expected = [counted[minute] for minute in range(first // MINUTE_MS, now // MINUTE_MS)]
    assert day.whole_minutes(now) == (first, tuple(expected)) and 0 in expected
    assert sum(day.whole_minutes(first + 5 * MINUTE_MS)[1]) == sum(expected[:5])


def test_another_day_begins_anew() -> None:
    day = DayOfRows()
    for time in range(DAY_MS - 2 * MINUTE_MS, DAY_MS + MINUTE_MS, 250):
        day.take(time)
    assert day.whole_minutes(DAY_MS + MINUTE_MS) == (DAY_MS, (240,))
    assert len(day.whole_minutes(3 * DAY_MS)[1]) == DAY_MINUTES  # and ends with its last minute
