from unittest.mock import Mock

import pytest
from ccxt import DECIMAL_PLACES, SIGNIFICANT_DIGITS, TICK_SIZE

from core.market.feeds.protocol import FeedFailed
from core.market.feeds.venues import POLL_LEVELS, make_exchange, nearest, size_unit, socket_levels, unit_of_symbol, venue_tick

SPOT, SWAP, OPTION = {"spot": True}, {"swap": True}, {"option": True}


def test_depths_are_among_those_the_venues_take() -> None:
    assert socket_levels("binance", SPOT) in (5, 10, 20, 50, 100, 500, 1000, 5000)
    for exchange in ("binance", "binanceusdm", "binancecoinm"):
        assert socket_levels(exchange, SWAP) in (5, 10, 20, 50, 100, 500, 1000)
    assert socket_levels("kraken", SPOT) in (100, 500, 1000)
    assert socket_levels("bybit", SPOT) in (200, 1000)
    assert socket_levels("bybit", SWAP) in (200, 1000)
    assert socket_levels("bybit", OPTION) == 100
    assert socket_levels("kucoin", SPOT) in (20, 50, 100)
    assert socket_levels("okx", SPOT) is None
    assert socket_levels("coinbase", SPOT) is None
    assert (POLL_LEVELS["kucoin"], POLL_LEVELS["binance"]) == (100, 100) and "coinbase" not in POLL_LEVELS


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [("BTC/USDT", "spot"), ("BTC/USDT:USDT", "linear"), ("BTC/USD:BTC", "inverse"), ("BTC/USD:BTC-261225", "inverse")],
)
def test_binance_is_asked_for_the_one_kind_of_market_that_is_wanted(symbol: str, kind: str) -> None:
    assert make_exchange("binance", symbol).options["fetchMarkets"]["types"] == [kind]


def test_an_unknown_exchange_is_named_with_its_neighbours() -> None:
    with pytest.raises(FeedFailed, match="there is no exchange 'krakn' in ccxt: the nearest are kraken, krakenfutures and "):
        make_exchange("krakn")
    with pytest.raises(FeedFailed, match=r"there is no exchange '123456' in ccxt$"):
        make_exchange("123456")


def test_nearest() -> None:
    names = ["BTC/USDT", "BTC/USDC", "ETH/BTC"]
    assert nearest("btcusdt", names) == "BTC/USDT and BTC/USDC"
    assert nearest("zzzzzz", names) == ""


@pytest.mark.parametrize(
    ("mode", "price", "tick"),
    [(TICK_SIZE, 0.05, 0.05), (DECIMAL_PLACES, 3, 1e-3), (SIGNIFICANT_DIGITS, 5, 0.0), (TICK_SIZE, None, 0.0)],
)
def test_the_step_of_price_by_each_of_ccxts_kinds_of_precision(mode: int, price: float | None, tick: float) -> None:
    exchange = Mock(precisionMode=mode, markets={"A/B": {"precision": {"price": price}}, "C/D": {"precision": None}})
    assert venue_tick(exchange, "A/B") == pytest.approx(tick)
    assert venue_tick(exchange, "C/D") == 0.0


@pytest.mark.parametrize(
    ("market", "unit"),
    [
        ({"base": "BTC", "quote": "USDT", "contract": False}, "BTC"),
        ({"base": "BTC", "quote": "USDT", "contract": True, "linear": True, "contractSize": 1.0}, "BTC"),
        ({"base": "BTC", "quote": "USDT", "contract": True, "linear": True, "contractSize": 0.01}, "contracts of 0.01 BTC"),
        ({"base": "BTC", "quote": "USD", "contract": True, "linear": False, "contractSize": 100.0}, "contracts of 100 USD"),
        ({"base": "BTC", "quote": "USD", "contract": True, "linear": False, "contractSize": 1.0}, "contracts of 1 USD"),
        ({"base": "BTC", "quote": "USDT", "contract": True, "linear": True, "contractSize": None}, "contracts"),
    ],
)
def test_sizes_have_the_unit_of_the_venues_list(market: dict[str, object], unit: str) -> None:
    assert size_unit(market) == unit


def test_a_symbol_alone_says_base_or_contracts() -> None:
    named = {"BTC/USDT": "BTC", "BTC/USDT:USDT": "contracts", "BTC/USD:BTC-261225": "contracts", "simulated": "", "FI-2010": ""}
    assert {symbol: unit_of_symbol(symbol) for symbol in named} == named
