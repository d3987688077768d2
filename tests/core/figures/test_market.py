"""The figure of predictions against the array it was given, and the digits of a price."""

import numpy as np
import pytest

from core.figures import market as figures
from tests.core.market.helpers import random_book


def test_each_horizon_has_its_bar_in_the_readers_language(upper_case_translator: None) -> None:
    shares = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    figure = figures.horizons_figure(["10", "20"], shares)
    assert [bars.x.tolist() for bars in figure.data] == [pytest.approx(share) for share in shares.T.tolist()]
    words = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text, *(one.name for one in figure.data)]
    assert words and [word for word in words if word != word.upper()] == []


@pytest.mark.parametrize(("tick", "digits"), [(0.01, 3), (0.5, 2), (1.0, 1), (0.0001, 5), (25.0, 1)])
def test_a_quote_has_one_digit_more_than_a_price(tick: float, digits: int) -> None:
    row = random_book(1, 0, tick=tick, start=1_000 * tick).levels[0]
    assert figures.mid_and_digits(row) == (pytest.approx((row[0] + row[2]) / 2), digits)


def test_a_quote_is_as_fine_as_the_finer_side() -> None:
    """Asks a unit apart, bids a hundredth."""
    row = np.ones(40)
    row[0::4], row[2::4] = 101.0 + np.arange(10), 100.0 - 0.01 * np.arange(10)
    assert figures.mid_and_digits(row)[1] == 3


def test_a_quote_shows_its_half_tick_where_the_levels_of_a_side_are_further_apart() -> None:
    """Asks and bids a tenth apart each, on hundredths."""
    row = np.ones(40)
    row[0::4], row[2::4] = 100.16 + 0.1 * np.arange(10), 100.05 - 0.1 * np.arange(10)
    mid, digits = figures.mid_and_digits(row)
    assert f"{mid:.{digits}f}" == "100.105"
