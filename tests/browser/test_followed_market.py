"""A market that is followed, beside the exchange that sends it: a server of this machine, which knows what it sent."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from core.market.feeds.background import BackgroundLoop
from core.market.store.places import FOLDER_VARIABLE
from tests.browser.conftest import NewPage
from tests.browser.server import ROOT, AppServer, serve
from tests.core.market.feeds.replay_server import Sold, TradingKraken

DEEP: Final = 100
"""Levels a side that the stream tells of."""
DRAWN: Final = """() => {
    const { terminal } = document.querySelector('.terminal');
    terminal.draw();
    const texts = (found) => [...found].filter((one) => !one.hidden).map((one) => one.textContent);
    return {
        strip: Object.fromEntries([...document.querySelectorAll('.terminal-strip .stat')].map((one) => texts(one.children))),
        ladder: [...document.querySelectorAll('.terminal-ladder .rows button')].filter((one) => !one.hidden)
            .map((one) => ({ cells: texts(one.children), name: one.getAttribute('aria-label'), ...one.dataset })),
        step: document.querySelector('.terminal-ladder .caption').textContent,
        tape: texts(document.querySelectorAll('.terminal-tape li')).filter((text) => text.trim()),
        lines: ['ask', 'bid'].map((side) => terminal.chart.lines.get(side).options().price),
        range: terminal.chart.range(),
    };
}"""
FIRST: Final = """() => {
    const { store } = document.querySelector('.terminal').terminal;
    return [store.rows[0].time, store.trades[0].time];
}"""
"""Times of the first row and of the first trade that the page has; earlier trades than the rows' are not kept."""
SETTLED: Final = """([ask, bid, trades]) => {
    const { store } = document.querySelector('.terminal').terminal;
    return store.newest?.levels[0] === ask && store.newest.levels[2] === bid && store.trades.length === trades;
}"""


class SparseKraken(TradingKraken):
    """A book with empty prices between its levels, and trades at its best prices."""

    depth = DEEP
    again = 2_000  # all of them, however late the app asks for trades

    def __init__(self) -> None:
        super().__init__()
        for side, sign in ((self.asks, 1), (self.bids, -1)):
            side.clear()
            side.update({600_000 + sign * int(at): self._size() for at in np.cumsum(self._random.integers(1, 14, 140))})
        self.over = False

    def step(self, levels: range | None = None) -> str:
        before = self.view()
        for side in (self.asks, self.bids):
            for price in self._random.choice(sorted(side), 5).tolist():
                side[price] = self._size()
        return self.changed_since(before)

    async def trade_on(self) -> None:
        """Changes and trades, ten a second, once somebody listens, until it is over."""
        while not self.over:
            await asyncio.sleep(0.1)
            if self.sockets:
                await self.send(self.step())
                side = "buy" if self._random.random() < 0.5 else "sell"
                price = (min(self.asks) if side == "buy" else max(self.bids)) / 10
                await self.trade(Sold(int(time.time() * 1e3), price, self._size() / 1000, side, len(self.traded) + 1))


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop("venue")
    yield loop
    loop.stop()


@pytest.fixture
def venue(loop: BackgroundLoop) -> Iterator[SparseKraken]:
    server = SparseKraken()
    loop.submit(server.__aenter__()).result(10)
    yield server
    loop.submit(server.__aexit__()).result(10)


@pytest.fixture
def following(venue: SparseKraken, tmp_path: Path) -> Iterator[AppServer]:
    """The app, for which this server is Kraken."""
    command = [sys.executable, "-m", "tests.browser.apps.followed", str(venue.port)]
    with serve(ROOT / "streamlit_app.py", tmp_path, command=command, environment={FOLDER_VARIABLE: str(tmp_path)}) as app:
        yield app


def number(text: str) -> float:
    return float(re.sub(r"[^\d.-]", "", text) or 0)


def rounded(value: float, digits: int = 3) -> Any:
    """What is written of a value, to so many digits; a half may go either way."""
    return pytest.approx(value, abs=0.5001 * 10 ** (math.floor(math.log10(abs(value))) + 1 - digits) if value else 1e-9)


def by_row(levels: list[tuple[float, float, int]], step: float) -> dict[int, float]:
    """Sizes (price, size, side) by row of the ladder: asks and buys at the row on or above, bids and sells on or below."""
    sizes: dict[int, float] = {}
    for price, size, side in levels:
        row = round(price / step, 6)
        place = math.ceil(row) if side > 0 else math.floor(row)
        sizes[place] = sizes.get(place, 0.0) + size
    return sizes


@pytest.mark.timeout(300)
def test_what_is_drawn_of_a_followed_market_is_what_its_exchange_sent(
    following: AppServer, new_page: NewPage, venue: SparseKraken, loop: BackgroundLoop
) -> None:
    trading = loop.submit(venue.trade_on())
    page = new_page(following, "/live?source=live&ex=kraken&sym=BTC/USD")
    page.wait_for_function(
        "() => document.querySelector('.terminal')?.terminal.store.trades.length > 40 && document.querySelector('.terminal-tape')"
    )
    page.locator(".terminal-tape").scroll_into_view_if_needed()
    venue.over = True
    trading.result(10)
    first_row, first_trade = page.evaluate(FIRST)
    traded = [one for one in venue.traded if one.time_ms >= first_trade]
    assert traded[-1] is venue.traded[-1] and not [one for one in venue.traded if first_row <= one.time_ms < first_trade]
    asks, bids = ([(price / 10, size / 1000) for price, size in side] for side in venue.best(DEEP))
    page.wait_for_function(SETTLED, arg=[asks[0][0], bids[0][0], len(traded)])
    page.wait_for_timeout(600)  # the row of the last change, which may have been of a size alone
    drawn = page.evaluate(DRAWN)

    mid = (asks[0][0] + bids[0][0]) / 2
    assert drawn["lines"] == [asks[0][0], bids[0][0]]
    strip = drawn["strip"]
    assert "BTC/USD" in [value for name, value in strip.items() if name.startswith("Kraken")]
    assert number(strip["Mid"]) == pytest.approx(mid, abs=1e-6)
    assert number(strip["Spread"]) == pytest.approx((asks[0][0] - bids[0][0]) / mid * 1e4, abs=6e-4)
    resting = [sum(size for _, size in side[:10]) for side in (bids, asks)]
    assert number(strip["Imbalance"]) == pytest.approx(100 * (resting[0] - resting[1]) / sum(resting), abs=0.051)

    assert len(drawn["tape"]) > 40
    for line, sold in zip(drawn["tape"], reversed(traded), strict=False):
        clock, arrow, price, size = line.split()
        assert (clock, arrow) == (time.strftime("%H:%M:%S", time.gmtime(sold.time_ms / 1e3)), "▲" if sold.side == "buy" else "▼")
        assert number(price) == sold.price and number(size) == rounded(sold.size)

    step = number(drawn["step"].partition("·")[0])
    rests = by_row([(*level, 1) for level in asks] + [(*level, -1) for level in bids], step)
    seen = [one for one in traded if drawn["range"][0] <= one.time_ms <= drawn["range"][1]]
    sizes = by_row([(one.price, one.size, 1 if one.side == "buy" else -1) for one in seen], step)
    rows = {round(number(line["name"].split()[0]) / step): line for line in drawn["ladder"]}
    assert len(rows) > 10 and sorted(rows) == list(range(min(rows), max(rows) + 1)) and sizes.keys() <= rows.keys()
    for place, line in rows.items():
        of_trades, size, _change = line["cells"]
        assert number(of_trades) == rounded(sizes.get(place, 0.0)), (place, line)
        known = (place + 1) * step > bids[-1][0] and place * step <= asks[-1][0]
        assert (line["known"] == "yes") == known
        assert not known or number(size) == rounded(rests.get(place, 0.0)), (place, line)
