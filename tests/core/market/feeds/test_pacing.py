import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.feeds.playback import CHUNK, MAX_LATE_S, SPEEDS, Pacer
from tests.core.market.feeds_for_tests import SetClock


def begun(speed: float | None = 1.0) -> tuple[Pacer, SetClock]:
    clock = SetClock()
    pacer = Pacer(clock)
    pacer.set_speed(speed)
    pacer.restart()
    return pacer, clock


@given(st.sampled_from(SPEEDS), st.lists(st.floats(0.0, 0.9), min_size=20, max_size=200))
def test_no_row_is_lost_or_gained_however_late_each_wake_up_is(speed: float, delays: list[float]) -> None:
    pacer, clock = begun(speed)
    started, rows = clock.now, 0
    for delay in delays:
        due = pacer.due()
        rows += due.rows
        assert due.wait_s is not None
        clock.now += due.wait_s + delay * 0.25 / speed
    rows += pacer.due().rows
    passed = (clock.now - started) * speed / 0.25
    assert abs(rows - math.floor(passed)) <= (abs(passed - round(passed)) < 1e-4)


def test_a_burst_comes_in_chunks_and_a_long_absence_is_let_go() -> None:
    pacer, clock = begun(50.0)
    clock.now += MAX_LATE_S
    due = pacer.due()
    assert (due.rows, due.wait_s) == (CHUNK, 0.0)
    pacer, clock = begun(1.0)
    clock.now += 8 * 3600
    assert pacer.due().rows == 1
    assert pacer.due().rows == 0


@pytest.mark.parametrize("speed", [None, math.inf])
def test_as_fast_as_it_goes_never_waits(speed: float | None) -> None:
    pacer, _ = begun(speed)
    assert pacer.speed is None
    assert [(due.rows, due.wait_s) for due in (pacer.due(), pacer.due())] == [(CHUNK, 0.0)] * 2


def test_paused_rows_come_by_step_alone_and_playing_on_starts_one_step_later() -> None:
    pacer, clock = begun()
    pacer.step()  # means nothing while playing
    pacer.pause()
    clock.now += 10
    assert (pacer.due().rows, pacer.due().wait_s) == (0, None)
    pacer.step()
    pacer.step()
    assert pacer.due().rows == 2
    assert pacer.due().rows == 0
    pacer.resume()
    due = pacer.due()
    assert (due.rows, due.wait_s) == (0, 0.25)


def test_a_change_of_speed_keeps_what_has_passed_of_the_step() -> None:
    pacer, clock = begun(1.0)
    clock.now += 0.15  # three fifths of a step
    pacer.set_speed(10.0)
    due = pacer.due()
    assert due.rows == 0
    assert due.wait_s == pytest.approx(0.4 * 0.025)
    for _ in range(100):  # a slider being dragged does not hold the play up
        clock.now += 0.001
        pacer.set_speed(10.0)
    assert pacer.due().rows >= 1


def test_leaving_as_fast_as_it_goes_for_a_speed_goes_on_at_that_speed() -> None:
    pacer, clock = begun(None)
    pacer.due()
    pacer.set_speed(2.0)
    rows = 0
    for _ in range(100):
        due = pacer.due()
        rows += due.rows
        clock.now += 0.125
    assert rows in (100, 101)


@pytest.mark.parametrize("speed", [0, -1.0, math.nan])
def test_a_speed_that_plays_nothing_is_refused(speed: float) -> None:
    pacer, _ = begun()
    with pytest.raises(ValueError, match="plays nothing: give a number above 0"):
        pacer.set_speed(speed)
    assert pacer.speed == 1.0
