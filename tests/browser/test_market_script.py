"""The functions of `terminal_data.js`, which the live page draws by, in Chromium without the app."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.server import ROOT


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    code = base64.b64encode((ROOT / "assets" / "scripts" / "terminal_data.js").read_bytes()).decode()
    page.evaluate(f"import('data:text/javascript;base64,{code}').then((made) => {{ window.lib = made; }})")
    yield page
    page.close()


@pytest.mark.parametrize("step", [0.01, 0.05, 0.5, 5.0])
def test_a_trade_stands_on_the_row_of_what_it_took(page: Page, step: float) -> None:
    """A buy takes the ask, a sale the bid; the two touch on every grid, and a price on the grid falls on its own row."""
    ask, bid = 61_756.01, 61_756.0

    def row(price: float, side: int) -> int:
        return int(page.evaluate("([price, step, side]) => lib.priceRow(price, step, side)", [price, step, side]))

    assert row(bid, -1) == round(bid / step) and row(round(ask / step) * step, 1) == round(ask / step)
    assert row(ask, 1) > row(bid, -1)
    trades = [{"time": 1, "price": ask, "size": 1, "side": 1}, {"time": 1, "price": bid, "size": 2, "side": -1}]
    sizes = page.evaluate("([trades, step]) => [...lib.volumeProfile(trades, 0, 2, step).sizes]", [trades, step])
    assert dict(map(tuple, sizes)) == {row(ask, 1): 1, row(bid, -1): 2}
    bins = page.evaluate("([trades, step]) => lib.binTrades(trades, 0, 2, 250, step)", [trades, step])
    assert {round(one["price"] / step): (one["bought"], one["sold"]) for one in bins} == {
        row(ask, 1): (1, 0),
        row(bid, -1): (0, 2),
    }


def test_price_rows_are_fitted_to_most_books_and_not_to_one(page: Page) -> None:
    def fitted(spans: list[float]) -> Any:
        levels = [[0.0] * 40 for _ in spans]
        for row, span in zip(levels, spans, strict=True):
            row[36] = span
        return page.evaluate("([rows, tick]) => lib.fittingGroup(rows.map((levels) => ({ levels })), tick, 23)", [levels, 0.01])

    assert fitted([0.2]) == 1 and fitted([0.24]) == 2 and fitted([4.6]) == 20 and fitted([4.7]) == 50
    assert fitted([0.2, 0.2, 46.0]) == 1


def test_the_delta_begins_after_the_last_hole_at_a_whole_second(page: Page) -> None:
    found = page.evaluate("""() => {
        const store = new lib.MarketData();
        const times = [250, 500, 750, 60_250, 60_500, 61_000, 61_250, 61_500, 62_250, 62_500];
        store.rows = times.map((time) => ({ time }));
        store.trades = [[300, 5, 1], [60_400, 7, 1], [62_300, 1, 1], [62_900, 4, -1], [63_000, 2, -1], [63_100, 3, 1]].map(
            ([time, size, side]) => ({ time, size, side }));
        return { stretch: store.stretch, ...store.flow() };
    }""")
    assert found == {"stretch": 8, "since": 63_000, "trades": 1, "delta": 3}
