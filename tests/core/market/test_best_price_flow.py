"""Size added and removed at the best prices: against order-flow imbalance by its published formula, and by hand."""

import numpy as np

from core.market.features import best_price_flow
from tests.core.market.helpers import random_book

BOOK = random_book(300, 5).levels


def test_the_four_sizes_add_up_to_published_order_flow_imbalance() -> None:
    """e_n of Cont, Kukanov and Stoikov 2014, equation (2), one row at a time."""
    ask_added, bid_added, ask_removed, bid_removed = best_price_flow(BOOK).T
    found = bid_added - bid_removed - ask_added + ask_removed
    for n in range(1, len(BOOK)):
        ask, ask_size, bid, bid_size = BOOK[n, :4]
        ask_0, ask_size_0, bid_0, bid_size_0 = BOOK[n - 1, :4]
        expected = (
            (bid >= bid_0) * bid_size - (bid <= bid_0) * bid_size_0 - (ask <= ask_0) * ask_size + (ask >= ask_0) * ask_size_0
        )
        np.testing.assert_allclose(found[n], expected, atol=1e-9)
    assert (np.diff(BOOK[:, 0]) != 0).any() and (best_price_flow(BOOK) >= 0).all()


def test_a_better_price_adds_its_size_and_a_worse_one_removes_the_size_before() -> None:
    rows = np.tile(BOOK[0], (4, 1))
    rows[:, 0], rows[:, 1] = (10.0, 9.5, 9.5, 10.0), (4.0, 3.0, 1.0, 7.0)  # ask: better, less there, worse
    rows[:, 2], rows[:, 3] = (9.0, 9.0, 9.2, 8.8), (2.0, 5.0, 6.0, 8.0)  # bid: more there, better, worse
    np.testing.assert_array_equal(best_price_flow(rows), [[0, 0, 0, 0], [3, 3, 0, 0], [0, 6, 2, 0], [0, 0, 1, 6]])
