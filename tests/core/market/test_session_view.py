"""The states of a feed's day, against a count minute by minute."""

from collections import Counter
from itertools import pairwise

import numpy as np

from core.market.feeds.situations import LIVE, SILENT
from core.market.grid import DAY_MS
from core.market.session_view import MINUTE_MS, DayOfStates

NOON = 20_000 * DAY_MS + DAY_MS // 2


def by_minute(day: DayOfStates) -> list[str]:
    until, runs = day.known
    ends = [begin for begin, _state in runs[1:]] + [until]
    return [state for (begin, state), end in zip(runs, ends, strict=True) for _ in range((end - begin) // MINUTE_MS)]


def test_a_minute_has_the_state_that_lasted_longest_of_those_that_are_not_live() -> None:
    rng = np.random.default_rng(3)
    day, seen = DayOfStates(), dict[int, Counter[str]]()
    state = LIVE
    assert day.known == (0, ())
    for step in range(240 * 40):
        now = NOON + 15_000 + 250 * step  # begins within a minute, which does not count
        if rng.random() < 0.01:
            state = str(rng.choice([LIVE, LIVE, "locked", "lagging"]))
        day.enter(now, state)
        seen.setdefault(now // MINUTE_MS, Counter())[state] += 1
    expected = []
    for minute in sorted(seen)[1:-1]:
        live = seen[minute].pop(LIVE, 0)
        expected.append(LIVE if live >= 0.98 * 240 else seen[minute].most_common(1)[0][0])
    assert by_minute(day) == expected and {LIVE, "locked", "lagging"} <= set(expected)
    assert all(one[1] != two[1] for one, two in pairwise(day.known[1]))


def test_a_computer_that_slept_heard_nothing_and_another_day_begins_anew() -> None:
    day = DayOfStates()
    for second in range(-90, 130):
        day.enter(NOON + 1_000 * second, LIVE)
    woken = NOON + 10 * MINUTE_MS + 20_000
    for second in range(100):
        day.enter(woken + 1_000 * second, LIVE)
    # -1 to 2 whole; of the minute in which it fell asleep, and of that in which it woke, most or a third is missing
    assert by_minute(day) == [LIVE] * 3 + [SILENT] * 9
    midnight = NOON + DAY_MS // 2
    for second in range(-70, 70):
        day.enter(midnight + 1_000 * second, "asked")
    assert day.known == (midnight + MINUTE_MS, ((midnight, "asked"),))
    day.enter(midnight + DAY_MS + 5 * MINUTE_MS, LIVE)
    assert day.known == (midnight + DAY_MS + 5 * MINUTE_MS, ((midnight + DAY_MS, SILENT),))
