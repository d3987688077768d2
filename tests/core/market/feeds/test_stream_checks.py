"""The checks of a streamed book: Kraken's checksum against Kraken's published example, Bybit's numbers, and compared levels."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import ccxt.pro
import numpy as np
import pytest

from core.market.book import interleave
from core.market.feeds.stream_checks import (
    ENOUGH,
    VENUES,
    BitfinexNumbers,
    KrakenChecksum,
    NothingToCheck,
    Numbered,
    Numbers,
    StreamCheck,
    bitfinex_numbers,
    bybit_numbers,
    check_for,
    deribit_numbers,
    differing_levels,
    gate_numbers,
    htx_numbers,
    okx_numbers,
)
from tests.core.market.feeds.replay_server import captured
from tests.core.market.helpers import random_book

ASKS = (
    "45285.2 0.00100000, 45286.4 1.54571953, 45286.6 1.54571109, 45289.6 1.54560911, 45290.2 0.15890660, "
    "45291.8 1.54553491, 45294.7 0.04454749, 45296.1 0.35380000, 45297.5 0.09945542, 45299.5 0.18772827"
)
BIDS = (
    "45283.5 0.10000000, 45283.4 1.54582015, 45282.1 0.10000000, 45281.0 0.10000000, 45280.3 1.54592586, "
    "45279.0 0.07990000, 45277.6 0.03310103, 45277.5 0.30000000, 45277.3 1.54602737, 45276.6 0.15445238"
)
PUBLISHED = 3310070434
"""docs.kraken.com, "Book Checksum (v2)": the checksum of this book."""


def side(text: str) -> list[list[float]]:
    return [[float(number) for number in level.split()] for level in text.split(", ")]


def kraken(asks: list[list[float]]) -> KrakenChecksum:
    market = {"info": {"pair_decimals": "1", "lot_decimals": "8"}}
    book = {"asks": asks, "bids": side(BIDS)}
    return KrakenChecksum(SimpleNamespace(orderbooks={"BTC/USD": book}, markets={"BTC/USD": market}), "BTC/USD")


def message(kind: str, checksum: int) -> dict[str, Any]:
    return {"channel": "book", "type": kind, "data": [{"symbol": "BTC/USD", "checksum": checksum}]}


def test_krakens_checksum_is_that_of_its_documentation() -> None:
    check = kraken(side(ASKS))
    assert check.in_step(message("snapshot", PUBLISHED))
    assert check.reliable
    assert check.in_step(message("update", PUBLISHED))
    assert not check.in_step(message("update", PUBLISHED + 1))


def test_a_checksum_that_does_not_fit_the_snapshot_is_not_relied_on() -> None:
    check = kraken(side(ASKS))
    assert check.in_step(message("snapshot", 1))
    assert not check.reliable
    assert check.in_step(message("update", 2))


def test_numbers_of_more_digits_than_a_float_holds_are_not_checked() -> None:
    asks = side(ASKS)
    check = kraken(asks)
    assert check.in_step(message("snapshot", PUBLISHED))
    asks[3][1] = 123_456_789_012.5
    assert check.in_step(message("update", 1))
    assert not check.reliable


@pytest.mark.parametrize("other", [{"channel": "heartbeat"}, {"channel": "status", "data": [{}]}, [1, 2], "pong", None])
def test_other_messages_are_no_fault(other: Any) -> None:
    assert kraken(side(ASKS)).in_step(other)
    assert Numbers(bybit_numbers).in_step(other)


def bybit(*numbers: int, begins: Sequence[int] = (0,)) -> list[bool]:
    check, kinds = Numbers(bybit_numbers), ["snapshot" if place in begins else "delta" for place in range(len(numbers))]
    messages = zip(kinds, numbers, strict=True)
    return [check.in_step({"topic": "orderbook.50.BTCUSDT", "type": kind, "data": {"u": u}}) for kind, u in messages]


def test_bybits_numbers_rise_by_one() -> None:
    assert bybit(10, 11, 12, 13, 14) == [True] * 5
    assert bybit(10, 11, 12, 13, 15) == [True] * 4 + [False]  # one was lost
    assert bybit(10, 11, 12, 13, 13, 14) == [True] * 6  # one came twice
    assert bybit(10, 11, 12, 13, 12) == [True] * 4 + [False]  # an old one came again
    assert bybit(10, 11, 12, 13, 1, 2) == [True] * 6  # the venue's service was started again
    assert bybit(10, 13, 16, 19, 22) == [True] * 5  # numbers that do not count messages say nothing
    # silence right after the snapshot: the messages that come then follow one another, but not the snapshot
    assert bybit(10, 90, 91, 92, 93, 94, 95, begins=(0, 5)) == [True] * 4 + [False, True, True]
    assert not Numbers(bybit_numbers).reliable


def test_each_venue_that_ccxt_streams_has_its_check() -> None:
    assert set(VENUES) <= set(ccxt.pro.exchanges)
    for name, kinds in {
        "kraken": (KrakenChecksum, KrakenChecksum),
        "coinbase": (StreamCheck, StreamCheck),  # compared
        "gate": (Numbers, NothingToCheck),
        "htx": (NothingToCheck, Numbers),
    }.items():
        exchange = getattr(ccxt.pro, name)()
        exchange.markets = {"A/B": {"spot": True}, "A/B:B": {"spot": False}}
        assert (type(check_for(exchange, "A/B")), type(check_for(exchange, "A/B:B"))) == kinds


@pytest.mark.parametrize(("name", "read", "count"), [("bitfinex", bitfinex_numbers, 1_641), ("deribit", deribit_numbers, 30)])
def test_a_lost_message_of_a_capture_is_noticed_wherever_it_was(name: str, read: Numbered, count: int) -> None:
    """Deribit's captured markets have fewer than ten levels a side, so that no row can be made of them."""
    messages = [json.loads(text) for _, text in captured(name)]
    numbered = [message for message in messages if read(message)]
    assert len(numbered) > count
    whole = Numbers(read)
    assert all(whole.in_step(message) for message in messages)
    assert whole.reliable
    for lost in range(ENOUGH + 1, len(numbered) - 1, 7):
        rest = Numbers(read)
        told = [rest.in_step(message) for message in numbered[:lost] + numbered[lost + 1 : lost + 2]]
        assert told == [True] * lost + [False]


def gate(first: int, last: int, *, full: bool = False) -> dict[str, Any]:
    levels = {"b": [["1.0", "2"]], "a": [["1.1", "2"]]}
    result = {"t": 1, "s": "ob.BTC_USDT.50", "U": first, "u": last, "full": full, **levels}
    return {"channel": "spot.obu", "event": "update", "result": result}


def test_ccxt_does_not_notice_a_lost_update_of_gates_spot_markets_and_the_check_does() -> None:
    """Look again when this fails."""
    exchange, check = ccxt.pro.gate(), Numbers(gate_numbers)
    exchange.set_markets([exchange.safe_market_structure({"id": "BTC_USDT", "symbol": "BTC/USDT", "type": "spot", "spot": True})])
    client = SimpleNamespace(resolve=lambda *result: None, subscriptions={})
    told = []
    for message in (gate(1, 5, full=True), gate(6, 7), gate(8, 8), gate(9, 12), gate(14, 15)):
        exchange.handle_order_book(client, message)
        told.append(check.in_step(message))
    assert exchange.orderbooks["BTC/USDT"]["nonce"] == 15
    assert told == [True, True, True, True, False]


def test_htxs_versions_rise_by_one() -> None:
    check = Numbers(htx_numbers)
    versions = (("snapshot", 7), ("update", 8), ("update", 9), ("update", 10), ("update", 12))
    told = [check.in_step({"ch": "market.BTC-USDT.depth", "tick": {"event": event, "version": n}}) for event, n in versions]
    assert told == [True, True, True, True, False]


def test_okx_names_the_number_before_and_now_and_then_that_nothing_changed() -> None:
    check = Numbers(okx_numbers)

    def follows(before: int, number: int) -> bool:
        return check.in_step({"arg": {"channel": "books"}, "data": [{"prevSeqId": before, "seqId": number}]})

    assert all(follows(*numbers) for numbers in ((-1, 10), (10, 15), (15, 15), (15, 17), (17, 30))) and check.reliable
    assert not follows(31, 40)


def test_bitfinex_is_asked_for_numbers_with_the_checksums() -> None:
    check = BitfinexNumbers(bitfinex_numbers)
    assert check.outgoing({"event": "conf", "flags": 131_072})["flags"] == 131_072 + 65_536
    assert check.outgoing({"event": "subscribe", "channel": "book"}) == {"event": "subscribe", "channel": "book"}
    assert check.read([232955, "cs", -890884919]) is None
    assert check.read([232955, "cs", -890884919, 12]) == (11, 12)


def test_ccxts_own_checksum_of_kraken_cannot_run() -> None:
    """Else it would be the one to use; look again when this fails."""
    exchange = ccxt.pro.kraken()
    exchange.options["watchOrderBook"]["checksum"] = True
    levels = {
        name: [{"price": price, "qty": size} for price, size in side(text)] for name, text in (("asks", ASKS), ("bids", BIDS))
    }
    data = {"symbol": "BTC/USD", **levels, "checksum": PUBLISHED}
    with pytest.raises(AttributeError, match="split"):
        exchange.handle_order_book(SimpleNamespace(subscriptions={}), {"type": "snapshot", "data": [data]})


BOOK = random_book(1, 5).levels[0]


def changed(index: int, value: float) -> np.ndarray:
    levels = BOOK.copy()
    levels[index] = value
    return levels


def test_a_level_at_rest_that_differs_is_found_and_one_that_changed_meanwhile_is_not_compared() -> None:
    assert differing_levels(BOOK, [BOOK]) == set()
    assert differing_levels(changed(9, 77.0), [BOOK, BOOK]) == {("ask", BOOK[8])}
    assert differing_levels(changed(39, 77.0), [BOOK]) == {("bid", BOOK[38])}
    assert differing_levels(changed(9, 77.0), [BOOK, changed(9, 55.0)]) == set()
    assert differing_levels(changed(9, 77.0), [changed(9, 77.0), BOOK]) == set()


def test_a_level_that_only_one_book_has_differs_unless_it_lies_past_the_deepest() -> None:
    asks, bids = BOOK.reshape(-1, 2)[0::2], BOOK.reshape(-1, 2)[1::2]
    deeper = asks[-1] + [1.0, 0.0]
    without_fourth = interleave(np.vstack([np.delete(asks, 3, axis=0), deeper]), bids)
    assert differing_levels(without_fourth, [BOOK]) == {("ask", asks[3, 0])} == differing_levels(BOOK, [without_fourth])
