"""The grid: one row every 250 ms, the last book known then, nothing past the limit and nothing into a pause."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.market.book import OrderBookSnapshot
from core.market.events import BookLost, Confirmation, Confirmed, Gap, Row
from core.market.feeds.clock import SteadyClock
from core.market.feeds.protocol import FeedEvent, Status, StatusChange
from core.market.feeds.sampling import Grid, next_step
from core.market.grid import MAX_CARRY_MS, RowTimes, carry_ms, count_pauses, grid_rows, sampling_interval, segments, stalled

START = 1_700_000_000_000


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms, self.jumps = START, 0

    def now_ms(self) -> int:
        return self.ms

    def now_ns(self) -> int:
        return self.ms * 1_000_000


CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr("core.market.feeds.sampling.CLOCK", CLOCK)
    CLOCK.ms, CLOCK.jumps = START, 0
    return CLOCK


class Sampler:
    """The rows alone of a grid whose feed is live."""

    def __init__(self, clock: Literal["wall", "event"] = "event", *, carry_ms: int = MAX_CARRY_MS) -> None:
        self.grid = Grid(clock)
        self.grid._times = RowTimes(carry_ms, holds=self.grid.wall)
        self.grid.on_event(StatusChange(state=Status.LIVE))

    def push(self, event: FeedEvent) -> list[Row]:
        return [item for item in self.grid.on_event(event) if isinstance(item, Row)]

    def advance(self, now_ms: int) -> list[Row]:
        CLOCK.ms = now_ms
        return [item for item in self.grid.on_tick() if isinstance(item, Row)]


def book(number: int, at_ms: int) -> OrderBookSnapshot:
    return OrderBookSnapshot(levels=np.full(40, float(number)), exchange_ms=at_ms, received_ns=at_ms * 1_000_000)


def numbers(rows: list[Row]) -> list[tuple[int, int]]:
    """(milliseconds since the start, which book)."""
    return [(row.timestamp - START, int(row.levels[0])) for row in rows]


def pushed(sampler: Sampler, times: list[int]) -> list[tuple[int, int]]:
    return numbers([row for i, at in enumerate(times) for row in sampler.push(book(i, START + at))])


def expected_rows(times: list[int], carry_ms: int) -> list[tuple[int, int]]:
    """The sentence, grid moment by grid moment, for books in order: a row lies on a book, or between two that are near enough."""
    rows = []
    for moment in range(-(-times[0] // 250) * 250, times[-1] + 1, 250):
        last = bisect_right(times, moment) - 1
        if times[last] == moment or times[last + 1] - times[last] <= carry_ms:
            rows.append((moment, last))
    return rows


def on_file_grid(times: list[int], carry_ms: int | None = None) -> list[tuple[int, int]]:
    """The same of a file's books."""
    stamps, index = grid_rows(START + np.array(times, dtype=np.int64), carry_ms)
    return list(zip((stamps - START).tolist(), index.tolist(), strict=True))


def test_a_book_within_a_rows_millisecond_is_not_in_the_row() -> None:
    early, late = (replace(book(number, 0), received_ns=(START + 250) * 1_000_000 + ns) for number, ns in ((1, 0), (2, 400_000)))
    sampler = Sampler("wall")
    rows = [*sampler.push(early), *sampler.push(late)]
    assert numbers(rows + sampler.advance(START + 501)) == [(250, 1), (500, 2)]


def test_the_sampling_interval_is_blind_to_bursts_and_to_pauses() -> None:
    rng = np.random.default_rng(0)
    regular = START + 1_000 * np.arange(600)
    jittered = regular + rng.integers(-100, 100, 600)
    paused = jittered + 3_600_000 * (np.arange(600) // 100)  # five pauses of an hour
    bursts = np.sort(np.concatenate([jittered, *(jittered + i for i in range(1, 30))]))
    for times in (regular, jittered, paused, bursts):
        assert 1_000 <= sampling_interval(times) <= 1_250
    assert carry_ms(regular) == 4_000
    assert carry_ms(START + 250 * np.arange(50) + rng.integers(0, 90, 50)) in (1_000, 2_000)
    assert carry_ms(START + 60_000 * np.arange(50)) == 10_000  # however rarely a file was sampled


def test_a_book_counts_at_the_first_row_from_it_on() -> None:
    """Two books a second, a millisecond apart: the first is in the row of its own moment, the second in the next."""
    times = START + np.sort(np.concatenate([1_000 * np.arange(50), 1_000 * np.arange(50) + 1]))
    assert sampling_interval(times) == 750


def test_books_on_the_grid_are_the_rows_whatever_the_pauses() -> None:
    assert on_file_grid([0, 250, 750]) == [(0, 0), (250, 1), (750, 2)]
    assert on_file_grid([0, 250, 755]) == [(0, 0), (250, 1), (500, 1), (750, 1)]  # off the grid: books are carried


@pytest.mark.parametrize("pause_ms", [4_321, 61_013, 3_600_123])
def test_nothing_is_carried_into_a_pause(pause_ms: int) -> None:
    """Seven stretches of 128 books each, at any distance."""
    times = (np.arange(896) * 250 + np.arange(896) // 128 * pause_ms + 17).tolist()
    rows = on_file_grid(times)
    assert rows == expected_rows(times, 1_000)
    assert len(rows) <= 896 and max(moment - times[book] for moment, book in rows) < 250
    assert [piece.stop - piece.start for piece in segments(np.array([moment for moment, _ in rows]))] == [127] * 7
    assert count_pauses(START + np.array(times)) == 6


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 700), st.sampled_from([250, 250, 250, 500])), min_size=1, max_size=6))
def test_a_book_that_stands_still_for_two_minutes_is_stalled(runs: list[tuple[int, int]]) -> None:
    """Books that hold for so many rows each, after a step of 250 ms or a gap; against a count of the rows before."""
    times, numbers, expected, now = [], [], [], START
    for number, (rows, step) in enumerate(runs):
        for row in range(rows):
            now += step if row == 0 else 250
            times.append(now)
            numbers.append(number % 2)
            expected.append(row >= 480)  # two minutes of rows 250 ms apart before it
    levels = np.repeat(np.array(numbers, dtype=float)[:, None], 40, axis=1)
    assert stalled(np.array(times), levels).tolist() == expected


gaps = st.lists(st.integers(1, 1_500), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1_000), gaps, st.sampled_from([600, 1_000, 10_000]))
@example(0, [600], 600)
def test_rows_are_the_last_book_at_every_moment(first: int, steps: list[int], carry_ms: int) -> None:
    times = [first, *(first + np.cumsum(steps)).tolist()]
    rows = pushed(Sampler(carry_ms=carry_ms), times)
    assert rows == expected_rows(times, carry_ms) == on_file_grid(times, carry_ms)
    assert all(moment % 250 == 0 for moment, _ in rows)
    twice = sorted(times + times[::2])  # of several books at one moment the last counts
    assert on_file_grid(twice, carry_ms) == expected_rows(twice, carry_ms)


@settings(max_examples=100, deadline=None)
@given(gaps)
def test_the_clock_and_the_next_book_give_the_same_rows(steps: list[int]) -> None:
    """Asking by the clock in between, as a live feed does, changes when a row comes out and not what it is."""
    times = np.cumsum(steps).tolist()
    ticking, rows = Sampler(), []
    for i, at in enumerate(times):
        for clock in range(times[i - 1] + 37 if i else at, at, 101):
            rows += ticking.advance(START + clock)
        rows += ticking.push(book(i, START + at))
    assert numbers(rows) == pushed(Sampler(), times)


def test_nothing_stands_in_for_longer_than_the_limit() -> None:
    sampler = Sampler(carry_ms=1_000)
    sampler.push(book(0, START + 100))
    assert numbers(sampler.advance(START + 60_000)) == [(250, 0), (500, 0), (750, 0), (1_000, 0)]
    assert sampler.advance(START + 90_000) == []
    # the next book starts a new stretch at its own time: the hole is not filled in
    assert numbers(sampler.push(book(1, START + 90_010))) == []
    assert numbers(sampler.push(book(2, START + 90_400))) == [(90_250, 1)]


def test_a_gap_starts_a_new_stretch() -> None:
    sampler = Sampler()
    assert numbers(sampler.push(book(0, START))) == [(0, 0)]
    sampler.grid.gap()
    assert sampler.advance(START + 700) == []
    assert sampler.push(book(1, START + 760)) == []
    assert numbers(sampler.push(book(2, START + 1_100))) == [(1_000, 1)]


def test_a_book_older_than_the_last_is_dropped() -> None:
    sampler = Sampler()
    sampler.push(book(0, START + 100))
    assert sampler.push(book(1, START + 99)) == []
    assert numbers(sampler.push(book(2, START + 251))) == [(250, 0)]


def test_a_clock_set_back_starts_a_new_stretch() -> None:
    """Else nothing would come until the old time is reached again."""
    sampler = Sampler(carry_ms=1_000)
    assert numbers(sampler.push(book(0, START + 10_000))) == [(10_000, 0)]
    assert sampler.push(book(1, START + 9_000)) == []
    assert numbers(sampler.push(book(2, START + 8_750))) == [(8_750, 2)]
    assert numbers(sampler.advance(START + 9_300)) == [(9_000, 2), (9_250, 2)]


def test_in_a_grid_moments_own_millisecond_the_first_is_taken_and_the_last_carried() -> None:
    """A row comes out as soon as it can: to wait for more in the same millisecond would cost a step."""
    sampler = Sampler()
    assert numbers(sampler.push(book(0, START + 250))) == [(250, 0)]
    assert sampler.push(book(1, START + 250)) == []
    assert numbers(sampler.advance(START + 500)) == [(500, 1)]


# -- confirmation (D27) ---------------------------------------------------------------------------------------------------


def at(number: int, ms: int, *, confirms: bool = True) -> OrderBookSnapshot:
    """A book that arrives then by this machine's clock."""
    return replace(book(number, 0), received_ns=(START + ms) * 1_000_000, confirms=confirms)


def told(items: Sequence[object]) -> list[object]:
    """Rows as (time, book, provisional), confirmations as their time; events left out."""
    return [
        (item.timestamp - START, int(item.levels[0]), item.provisional) if isinstance(item, Row) else item.until_ms - START
        for item in items
        if isinstance(item, Row | Confirmed)
    ]


def test_a_row_is_confirmed_by_the_next_book() -> None:
    sampler = Sampler("wall")
    assert told(sampler.grid.on_event(at(0, 250)))[-1] == (250, 0, True)
    assert [row.provisional for row in sampler.advance(START + 500)] == [True]
    assert told(sampler.grid.on_event(at(1, 600))) == [599]


def test_a_book_that_may_follow_a_lost_one_confirms_nothing() -> None:
    sampler = Sampler("wall")
    sampler.push(at(0, 100))
    assert told(sampler.grid.on_event(at(1, 600, confirms=False))) == [(250, 0, True), (500, 0, True)]
    assert told(sampler.grid.on_event(Confirmation(until_ns=(START + 400) * 1_000_000))) == [399]
    assert told(sampler.grid.on_event(Confirmation(until_ns=(START + 450) * 1_000_000))) == []  # no row lies between


def test_a_row_that_a_book_brings_with_it_is_confirmed_where_the_book_came_after_it() -> None:
    sampler = Sampler("wall")
    sampler.push(at(0, 100))
    assert told(sampler.grid.on_event(at(1, 250))) == [(250, 1, True)]  # of its very moment
    assert told(sampler.grid.on_event(at(2, 900))) == [899, (500, 1, False), (750, 1, False)]


def test_a_feed_with_its_own_time_confirms_its_rows_itself() -> None:
    sampler = Sampler()
    for number, ms in enumerate((250, 500, 60_000, 750)):  # wound back at the end
        assert told(sampler.grid.on_event(book(number, START + ms)))[-1] == (ms, number, False)


def test_a_book_that_is_lost_leaves_the_grid_empty_until_the_next() -> None:
    sampler = Sampler("wall")
    sampler.push(at(0, 100))
    assert numbers(sampler.push(BookLost(from_ns=(START + 600) * 1_000_000))) == [(250, 0), (500, 0)]
    assert sampler.advance(START + 5_000) == []
    assert sampler.push(at(1, 5_100)) == []
    assert numbers(sampler.advance(START + 5_250)) == [(5_250, 1)]


def test_a_book_that_is_lost_at_a_rows_own_moment_is_not_in_that_row() -> None:
    for lost_ms, rows in ((500, [(250, 0)]), (501, [(250, 0), (500, 0)])):
        sampler = Sampler("wall")
        sampler.push(at(0, 100))
        assert numbers(sampler.push(BookLost(from_ns=(START + lost_ms) * 1_000_000))) == rows


# -- events ---------------------------------------------------------------------------------------------------------------


def test_a_jump_of_the_clock_is_a_gap_before_what_came_after_it(clock: Clock) -> None:
    sampler = Sampler("wall")
    sampler.push(at(0, 100))
    clock.jumps += 1
    gap, event, *_confirmed = sampler.grid.on_event(at(1, 400))
    assert isinstance(gap, Gap) and gap.kind == "clock" and isinstance(event, OrderBookSnapshot)
    assert numbers(sampler.advance(START + 500)) == [(500, 1)]  # nothing of the book before


def test_a_change_of_state_with_a_gap_is_one_and_says_why() -> None:
    sampler = Sampler("wall")
    sampler.push(at(0, 100))
    change = StatusChange(state=Status.RECONNECTING, gap=True, resync=True, message="why")
    gap, event = sampler.grid.on_event(change)
    assert gap == Gap("resync", START, "why") and event is change
    assert sampler.advance(START + 500) == []  # neither live nor with a book


def test_a_wall_clocks_grid_gives_no_rows_before_its_feed_is_live(clock: Clock) -> None:
    grid = Grid("wall")
    grid.on_event(book(1, START))
    clock.ms += 1_000
    assert grid.on_tick() == []
    grid.on_event(StatusChange(state=Status.LIVE))
    assert [one.timestamp for one in grid.on_tick() if isinstance(one, Row)] == [START + 250 * n for n in range(1, 5)]


def test_the_next_step_is_the_next_quarter_of_a_second(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("core.market.feeds.sampling.asyncio.sleep", sleep)
    for clock.ms in (START, START + 1, START + 249):
        asyncio.run(next_step())
    assert waited == [0.25, 0.249, 0.001]


# -- this machine's clock -------------------------------------------------------------------------------------------------


def test_a_steady_clock_never_runs_back_and_counts_jumps_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    now, wall = 50 * 10**9, 1_700_000_000 * 10**9
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    monkeypatch.setattr(time, "time_ns", lambda: wall)
    clock = SteadyClock()
    assert clock.now_ns() == wall
    now, wall = now + 10**9, wall - 3_600 * 10**9
    assert clock.now_ns() == 1_700_000_001 * 10**9
    assert clock.jumps == 0
    wall = 1_700_003_600 * 10**9
    assert clock.now_ns() == wall
    assert clock.jumps == 1
    now, wall = now + 10**9, wall + 10**9
    assert clock.now_ns() == wall
    assert clock.jumps == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_setting_the_clock_neither_wipes_nor_invents_rows(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    passed_ms = set_ms = 0
    monkeypatch.setattr(time, "monotonic_ns", lambda: passed_ms * 1_000_000)
    monkeypatch.setattr(time, "time_ns", lambda: (START + passed_ms + set_ms) * 1_000_000)
    monkeypatch.setattr("core.market.feeds.sampling.CLOCK", steady := SteadyClock())
    sampler, items = Sampler("wall"), list[FeedEvent]()
    for passed_ms in range(100, 6_000, 100):
        set_ms = hours * 3_600_000 if passed_ms > 3_000 else 0
        items += sampler.grid.on_tick()
        items += sampler.grid.on_event(replace(book(passed_ms, 0), received_ns=steady.now_ns()))
    rows, gaps = ([item for item in items if isinstance(item, kind)] for kind in (Row, Gap))
    steps = np.diff([row.timestamp for row in rows]).tolist()
    assert [gap.kind for gap in gaps] == ["clock"] * (hours > 0)
    if hours < 0:
        assert steps == [250] * 22  # and the grid goes on without a hole
    else:
        assert sorted(steps) == [*[250] * 21, 3_600_250]  # of the hour that was skipped nothing is made up
