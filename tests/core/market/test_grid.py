"""The grid: one row every 250 ms, the last book known then, nothing past the limit and nothing into a pause."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.market.book import OrderBookSnapshot
from core.market.grid import GridRow, GridSampler, carry_ms, count_pauses, grid_rows, sampling_interval, segments, stalled

START = 1_700_000_000_000


def book(number: int, at_ms: int) -> OrderBookSnapshot:
    return OrderBookSnapshot(levels=np.full(40, float(number)), exchange_ms=at_ms, received_ns=at_ms * 1_000_000)


def numbers(rows: list[GridRow]) -> list[tuple[int, int]]:
    """(milliseconds since the start, which book)."""
    return [(timestamp - START, int(levels[0])) for timestamp, levels in rows]


def pushed(sampler: GridSampler, times: list[int]) -> list[tuple[int, int]]:
    return numbers([row for i, at in enumerate(times) for row in sampler.push(book(i, START + at))])


def expected_rows(times: list[int], carry_ms: int) -> list[tuple[int, int]]:
    """The sentence, grid moment by grid moment, for books in order: a row lies on a book, or between two that are near enough."""
    rows = []
    for moment in range(-(-times[0] // 250) * 250, times[-1] + 1, 250):
        last = [i for i, at in enumerate(times) if at <= moment][-1]
        if times[last] == moment or min(at for at in times if at > moment) - times[last] <= carry_ms:
            rows.append((moment, last))
    return rows


def on_file_grid(times: list[int], carry_ms: int | None = None) -> list[tuple[int, int]]:
    """The same of a file's books."""
    stamps, index = grid_rows(START + np.array(times, dtype=np.int64), carry_ms)
    return list(zip((stamps - START).tolist(), index.tolist(), strict=True))


def test_a_book_within_a_rows_millisecond_is_not_in_the_row() -> None:
    early, late = (
        replace(book(number, 0), received_ns=(START + 250) * 1_000_000 + late) for number, late in ((1, 0), (2, 400_000))
    )
    sampler = GridSampler()
    rows = [*sampler.push(early, at_ms=early.received_ms), *sampler.push(late, at_ms=late.received_ms)]
    assert numbers(rows + sampler.advance(START + 501)) == [(250, 1), (500, 2)]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1_000), st.lists(st.integers(0, 1_500), max_size=40), st.sampled_from([600, 1_000, 10_000]))
def test_a_files_rows_lie_between_books_that_are_near_enough(first: int, steps: list[int], carry_ms: int) -> None:
    times = [first, *(first + np.cumsum(steps, dtype=int)).tolist()]
    assert on_file_grid(times, carry_ms) == expected_rows(times, carry_ms)


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


def test_rows_on_the_grid_keep_every_pause() -> None:
    """182 pauses of a few seconds, as a stock has them in a day."""
    times = 250 * np.arange(20_000)
    kept = times[~np.isin(np.arange(20_000) % 109, range(60, 77))]
    rows = on_file_grid(kept.tolist())
    assert [moment for moment, _ in rows] == kept.tolist()
    assert len(segments(START + kept)) - 1 == count_pauses(START + kept) == 183


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


def test_books_too_far_apart_make_no_rows() -> None:
    assert on_file_grid([17, 60_017, 120_017]) == []


gaps = st.lists(st.integers(1, 1_500), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1_000), gaps, st.sampled_from([600, 1_000, 10_000]))
def test_rows_are_the_last_book_at_every_moment(first: int, steps: list[int], carry_ms: int) -> None:
    times = [first, *(first + np.cumsum(steps)).tolist()]
    found = pushed(GridSampler(carry_ms=carry_ms), times)
    assert found == expected_rows(times, carry_ms)
    assert all(moment % 250 == 0 for moment, _ in found)


@settings(max_examples=100, deadline=None)
@given(gaps)
def test_the_clock_and_the_next_book_give_the_same_rows(steps: list[int]) -> None:
    """Asking by the clock in between, as a live feed does, changes when a row comes out and not what it is."""
    times = np.cumsum(steps).tolist()
    ticking, rows = GridSampler(), []
    for i, at in enumerate(times):
        for clock in range(times[i - 1] + 37 if i else at, at, 101):
            rows += ticking.advance(START + clock)
        rows += ticking.push(book(i, START + at))
    assert numbers(rows) == pushed(GridSampler(), times)


@settings(max_examples=60, deadline=None)
@given(gaps)
def test_files_are_sampled_as_feeds_are(steps: list[int]) -> None:
    times = np.cumsum(steps)
    assert pushed(GridSampler(carry_ms=900), times.tolist()) == on_file_grid(times.tolist(), 900)


def test_rows_on_the_grid_come_out_at_once() -> None:
    sampler = GridSampler()
    assert [numbers(sampler.push(book(i, START + 250 * i))) for i in range(3)] == [[(0, 0)], [(250, 1)], [(500, 2)]]


def test_nothing_stands_in_for_longer_than_the_limit() -> None:
    sampler = GridSampler(carry_ms=1_000)
    sampler.push(book(0, START + 100))
    assert numbers(sampler.advance(START + 60_000)) == [(250, 0), (500, 0), (750, 0), (1_000, 0)]
    assert sampler.advance(START + 90_000) == []
    # the next book starts a new stretch at its own time: the hole is not filled in
    assert numbers(sampler.push(book(1, START + 90_010))) == []
    assert numbers(sampler.push(book(2, START + 90_400))) == [(90_250, 1)]


def test_exactly_the_limit_still_counts() -> None:
    sampler = GridSampler(carry_ms=500)
    sampler.push(book(0, START))
    assert numbers(sampler.advance(START + 5_000)) == [(250, 0), (500, 0)]


def test_a_gap_starts_a_new_stretch() -> None:
    sampler = GridSampler()
    assert numbers(sampler.push(book(0, START))) == [(0, 0)]
    sampler.gap()
    assert sampler.advance(START + 700) == []
    assert sampler.push(book(1, START + 760)) == []
    assert numbers(sampler.push(book(2, START + 1_100))) == [(1_000, 1)]


def test_after_a_gap_time_may_start_anew() -> None:
    """A recording wound back."""
    sampler = GridSampler()
    sampler.push(book(0, START + 50_000))
    sampler.gap()
    assert numbers(sampler.push(book(1, START + 250))) == [(250, 1)]


def test_a_book_older_than_the_last_is_dropped() -> None:
    sampler = GridSampler()
    sampler.push(book(0, START + 100))
    assert sampler.push(book(1, START + 99)) == []
    assert numbers(sampler.push(book(2, START + 251))) == [(250, 0)]


def test_a_clock_set_back_starts_a_new_stretch() -> None:
    """Else nothing would come until the old time is reached again."""
    sampler = GridSampler(carry_ms=1_000)
    assert numbers(sampler.push(book(0, START + 10_000))) == [(10_000, 0)]
    assert sampler.push(book(1, START + 9_000)) == []
    assert numbers(sampler.push(book(2, START + 8_750))) == [(8_750, 2)]
    assert numbers(sampler.advance(START + 9_300)) == [(9_000, 2), (9_250, 2)]


def test_of_books_in_one_millisecond_the_last_is_carried() -> None:
    sampler = GridSampler()
    for number in (0, 1, 2):
        assert sampler.push(book(number, START + 100)) == []
    assert numbers(sampler.advance(START + 250)) == [(250, 2)]


def test_in_a_grid_moments_own_millisecond_the_first_is_taken_and_the_last_carried() -> None:
    """A row comes out as soon as it can: to wait for more in the same millisecond would cost a step."""
    sampler = GridSampler()
    assert numbers(sampler.push(book(0, START + 250))) == [(250, 0)]
    assert sampler.push(book(1, START + 250)) == []
    assert numbers(sampler.advance(START + 500)) == [(500, 1)]


def test_receive_time_rules_where_it_is_given() -> None:
    sampler = GridSampler()
    assert sampler.push(book(0, START + 999_999), at_ms=START + 10) == []
    assert numbers(sampler.push(book(1, START), at_ms=START + 300)) == [(250, 0)]


@pytest.mark.parametrize("before", [0, 249, 1])
def test_no_row_comes_before_the_first_book(before: int) -> None:
    sampler = GridSampler()
    assert sampler.advance(START + 10_000) == []
    rows = sampler.push(book(0, START + 250 - before))
    assert numbers(rows) == ([(250, 0)] if before == 0 else [])


# -- confirmation (D27) ---------------------------------------------------------------------------------------------------


def arrive(sampler: GridSampler, number: int, at: int, *, confirms: bool = True) -> list[tuple[int, int]]:
    snapshot = replace(book(number, 0), confirms=confirms)
    return numbers(sampler.push(snapshot, at_ms=START + at))


def test_a_row_is_confirmed_by_the_next_book() -> None:
    sampler = GridSampler()
    assert arrive(sampler, 0, 250) == [(250, 0)]
    assert numbers(sampler.advance(START + 500)) == [(500, 0)]
    assert sampler.confirmed_ms < START + 250  # nothing has come after either row
    assert arrive(sampler, 1, 600) == []
    assert START + 500 <= sampler.confirmed_ms < START + 600


def test_a_book_that_may_follow_a_lost_one_confirms_nothing() -> None:
    sampler = GridSampler()
    arrive(sampler, 0, 100)
    assert arrive(sampler, 1, 600, confirms=False) == [(250, 0), (500, 0)]
    assert sampler.confirmed_ms < START + 250
    sampler.confirm(START + 400)
    assert START + 250 <= sampler.confirmed_ms < START + 500


def test_a_row_on_the_very_moment_of_a_book_shows_it_and_is_provisional() -> None:
    sampler = GridSampler()
    arrive(sampler, 0, 100)
    assert arrive(sampler, 1, 250) == [(250, 1)]
    assert sampler.confirmed_ms < START + 250


def test_a_feed_with_its_own_time_confirms_its_rows_itself() -> None:
    sampler = GridSampler()
    for number, at in enumerate((250, 500, 60_000, 750)):  # wound back at the end
        sampler.push(book(number, START + at))
        assert sampler.confirmed_ms == START + at


def test_a_book_that_is_lost_leaves_the_grid_empty_until_the_next() -> None:
    sampler = GridSampler()
    arrive(sampler, 0, 100)
    assert numbers(sampler.lose(START + 600)) == [(250, 0), (500, 0)]
    assert sampler.advance(START + 5_000) == []
    assert arrive(sampler, 1, 5_100) == []
    assert numbers(sampler.advance(START + 5_250)) == [(5_250, 1)]


def test_a_book_that_is_lost_between_two_rows_leaves_no_hole() -> None:
    sampler = GridSampler()
    arrive(sampler, 0, 100)
    assert numbers(sampler.lose(START + 260)) == [(250, 0)]
    assert arrive(sampler, 1, 400) == []
    assert numbers(sampler.advance(START + 500)) == [(500, 1)]
