import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import ccxt.async_support
import pytest

from core.market.feeds import catalogue
from core.market.feeds.catalogue import CatalogueUnavailable, exchanges, markets
from core.market.feeds.venues import make_exchange


def test_exchanges_with_an_order_book_are_listed_by_name() -> None:
    found = {entry.id: entry for entry in exchanges()}
    assert len(found) > 90
    assert found["binance"].name == "Binance"
    assert found["binance"].socket
    assert not found["bitflyer"].socket
    names = [entry.name.lower() for entry in exchanges()]
    assert names == sorted(names)
    assert set(found) <= set(ccxt.async_support.exchanges)


def test_first_visitors_who_come_together_list_the_exchanges_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each made the hundred clients by itself: with 25 at once, a page took over a minute."""
    made, together = list[str](), threading.Barrier(4)

    def make(name: str) -> Any:
        made.append(name)
        time.sleep(0.02)
        return make_exchange(name)

    def ask(_: int) -> int:
        together.wait()
        return len(exchanges())

    monkeypatch.setattr(catalogue, "make_exchange", make)
    monkeypatch.setattr(catalogue, "ccxt_modules", lambda: (None, SimpleNamespace(exchanges=["kraken", "binance"])))
    catalogue.exchanges.cache_clear()
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(ask, range(4))) == [2] * 4
        assert made == ["kraken", "binance"]
    finally:
        catalogue.exchanges.cache_clear()


@pytest.fixture
def binance(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The object by which its markets are listed."""
    made = make_exchange("binance")
    monkeypatch.setattr(catalogue, "make_exchange", lambda _name: made)
    return made


def test_markets_of_an_exchange_come_spot_first(binance: Any) -> None:
    listed = [("swap", "ETH/USDT:USDT", True), ("spot", "ETH/USDT", True), ("swap", "BTC/USDT:USDT", True)]
    listed += [("spot", "BTC/USDT", None), ("spot", "A/B", False), ("option", "BTC/USD:BTC-261225-9-C", True)]

    async def load() -> dict[str, dict[str, Any]]:
        return {symbol: {"type": kind, "symbol": symbol, "active": active} for kind, symbol, active in listed}

    binance.load_markets = load
    found = asyncio.run(markets("binance"))
    assert found == ["BTC/USDT", "ETH/USDT", "BTC/USDT:USDT", "ETH/USDT:USDT"]


def test_an_exchange_that_does_not_answer_is_said_not_to(binance: Any) -> None:
    binance.urls["api"]["public"] = "http://127.0.0.1:9/api/v3"
    binance.options["fetchMarkets"] = {"types": ["spot"]}
    with pytest.raises(CatalogueUnavailable, match=r"^The markets of Binance could not be listed: .* refuses the connection\.$"):
        asyncio.run(markets("binance"))


def test_an_exchange_that_takes_too_long_is_said_to(binance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    binance.load_markets = lambda: asyncio.sleep(60)
    monkeypatch.setattr(catalogue, "PATIENCE_S", 0.05)
    with pytest.raises(CatalogueUnavailable, match="Binance could not be listed: Binance did not answer in time"):
        asyncio.run(markets("binance"))
