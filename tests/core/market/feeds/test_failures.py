"""Errors as ccxt and aiohttp really raise and nest them."""

import asyncio
import errno
import random
import socket
import time
from email.utils import formatdate
from unittest.mock import Mock

import aiohttp
import ccxt
import pytest
from aiohttp.client_reqrep import ConnectionKey

from core.market.feeds.failures import Backoff, OutOfStep, RetryVerdict, UnusableBook, WentQuiet, classify_failure
from core.market.feeds.live import _Tries


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def handshake(status: int, **headers: str) -> aiohttp.WSServerHandshakeError:
    request = Mock(real_url="wss://stream.x.com/ws")
    return aiohttp.WSServerHandshakeError(request, (), status=status, message="no", headers=headers)  # type: ignore[arg-type]


RETRY, RESYNC, DOUBTFUL, FINAL = RetryVerdict.RETRY, RetryVerdict.RESYNC, RetryVerdict.DOUBTFUL, RetryVerdict.FINAL
KEY = ConnectionKey("api.example", 443, True, True, None, None, None, None)
DNS = aiohttp.ClientConnectorDNSError(KEY, socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"))
NO_WAY = aiohttp.ClientConnectorError(KEY, OSError(errno.ENETUNREACH, "Network is unreachable"))
REFUSED = aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"))


@pytest.mark.parametrize(
    ("error", "verdict", "reason"),
    [
        (caused(ccxt.ExchangeNotAvailable("x GET y"), DNS), RETRY, "no network: the address of X could not be looked up"),
        (ccxt.NetworkError(DNS), RETRY, "no network: the address of X could not be looked up"),  # as its sockets raise
        (ccxt.NetworkError(NO_WAY), RETRY, "no network: there is no way to X from here"),
        (caused(ccxt.ExchangeNotAvailable("x GET y"), REFUSED), RETRY, "X refuses the connection"),
        (ccxt.RequestTimeout("x GET y"), RETRY, "X did not answer in time"),
        (ccxt.NetworkError("Connection closed by remote server"), RETRY, "the connection to X was lost"),
        (caused(ccxt.ExchangeError("x GET y"), aiohttp.ClientPayloadError("cut")), RETRY, "the connection to X was lost"),
        (asyncio.CancelledError(), RETRY, "the connection to X was lost"),
        (ccxt.DDoSProtection("x 429 Too Many Requests"), RETRY, "X asks for fewer requests"),
        (ccxt.RateLimitExceeded("x"), RETRY, "X asks for fewer requests"),
        (ccxt.OnMaintenance("x"), RETRY, "X is under maintenance"),
        (ccxt.ExchangeNotAvailable("x GET y 503 Service Unavailable"), RETRY, "X is not available (HTTP 503)"),
        (ccxt.ExchangeNotAvailable("x GET y 403 Forbidden"), DOUBTFUL, "X refuses what it is asked (HTTP 403)"),
        (ccxt.ExchangeNotAvailable("x GET y"), RETRY, "the connection to X was lost"),
        (ccxt.ChecksumError("x"), RESYNC, "an update of X went missing"),
        (ccxt.InvalidNonce("x"), RESYNC, "an update of X went missing"),
        (OutOfStep("it moved"), RESYNC, "it moved"),
        (WentQuiet("it is still"), RETRY, "it is still"),
        (UnusableBook("it is crossed"), RETRY, "it is crossed"),
        (ccxt.ExchangeNotAvailable("x GET y 451  {}"), FINAL, "X does not serve the place this machine is in"),
        (ccxt.RestrictedLocation("x"), FINAL, "X does not serve the place this machine is in"),
        (ccxt.BadSymbol("x"), FINAL, "X has no market 'A/B'"),
        (ccxt.ExchangeError("bybit Invalid symbol :[orderbook.50.BTCUSDT]"), FINAL, "X has no market 'A/B'"),
        (ccxt.ExchangeError("kraken Currency pair not supported BTC/USD"), FINAL, "X has no market 'A/B'"),
        (ccxt.BadRequest("x limit must be 5"), FINAL, "X gives no order book for A/B: choose another market"),
        (ccxt.NotSupported("x"), FINAL, "X gives no order book for A/B"),
        (ccxt.PermissionDenied("x"), FINAL, "X shows this book to account holders alone"),
        (ccxt.ExchangeError("x nonce is behind the cache after 3 tries."), DOUBTFUL, "X sent something unexpected"),
        (ccxt.BadResponse("x"), DOUBTFUL, "X sent something unexpected"),
        (ccxt.NetworkError("WSMessage(type=<WSMsgType.ERROR: 258>, data=None)"), RETRY, "the connection to X was lost"),
        (ccxt.NetworkError('x GET https://api.x.com/depth 500 {"code":-1}'), RETRY, "X is not available (HTTP 500)"),
        (ccxt.ExchangeError('x {"code":-1,"msg":"<b>no</b>"}'), DOUBTFUL, "X sent something unexpected"),
        (ccxt.NetworkError(handshake(451)), FINAL, "X does not serve the place this machine is in"),
        (ccxt.NetworkError(handshake(429)), RETRY, "X asks for fewer requests"),
        (ccxt.NetworkError(handshake(418)), RETRY, "X asks for fewer requests"),
        (ccxt.NetworkError(handshake(403)), DOUBTFUL, "X refuses what it is asked (HTTP 403)"),
        (ccxt.NetworkError(handshake(502)), RETRY, "X is not available (HTTP 502)"),
        (KeyError("bids"), DOUBTFUL, "X sent something unexpected"),
    ],
)
def test_each_failure_gets_its_verdict_and_its_words(error: BaseException, verdict: RetryVerdict, reason: str) -> None:
    failure = classify_failure(error, "X", "A/B")
    assert failure.verdict is verdict
    assert failure.reason.startswith(reason)
    assert "\n" not in failure.reason
    assert not failure.reason.endswith(".")
    assert not any(mark in failure.reason for mark in ("://", "WSMessage", "{", "<"))


def test_waits_double_up_to_the_cap_with_jitter() -> None:
    backoff = Backoff(first_s=1.0, cap_s=30.0, random=random.Random(1))
    for failures, full in enumerate([1, 2, 4, 8, 16, 30, 30, 30]):
        waits = {backoff.wait_s(failures) for _ in range(50)}
        assert len(waits) > 40
        assert full / 2 <= min(waits)
        assert max(waits) <= full
    assert backoff.wait_s(10_000) <= 30.0


def test_after_many_failures_the_waits_grow_longer() -> None:
    backoff = Backoff()
    assert max(backoff.wait_s(failures) for failures in range(300)) <= 2.0
    assert backoff.wait_s(300) >= 15.0


TOO_MANY = ccxt.DDoSProtection("x 429 Too Many Requests")


@pytest.mark.parametrize(
    ("error", "headers", "seconds"),
    [
        (TOO_MANY, {"Retry-After": "7"}, 7.0),
        (TOO_MANY, {"retry-after": " 7 "}, 7.0),
        (TOO_MANY, {"Retry-After": "9" * 5_000}, 3_600.0),
        (TOO_MANY, {"Retry-After": "soon"}, 0.0),
        (TOO_MANY, {}, 0.0),
        (TOO_MANY, None, 0.0),
        (ccxt.NetworkError(handshake(429, **{"Retry-After": "7"})), None, 7.0),
        (ccxt.NetworkError(handshake(503, **{"Retry-After": "7"})), {"Retry-After": "1"}, 7.0),
        (ccxt.RequestTimeout("x"), {"Retry-After": "7"}, 0.0),  # of an earlier response
    ],
)
def test_retry_after_is_read(error: Exception, headers: dict[str, str] | None, seconds: float) -> None:
    failure = classify_failure(error, "X", "A/B", headers)
    assert failure.retry_after_s == seconds


@pytest.mark.parametrize(("ahead_s", "least_s", "most_s"), [(90, 60.0, 90.0), (-90, 0.0, 0.0)])
def test_retry_after_may_be_a_date(ahead_s: int, least_s: float, most_s: float) -> None:
    headers = {"Retry-After": formatdate(time.time() + ahead_s, usegmt=True)}
    assert least_s <= classify_failure(TOO_MANY, "X", "A/B", headers).retry_after_s <= most_s


@pytest.mark.parametrize(("lived_s", "failures"), [(4.9, 4), (5.1, 1)])
def test_a_connection_that_lasted_five_seconds_begins_the_count_anew(lived_s: float, failures: int) -> None:
    tries, lost = _Tries(Backoff()), ConnectionResetError("cut")
    for seconds in (0.0, 0.0, 0.0, lived_s):
        tries.failed(lost, classify_failure(lost, "X", "A/B"), seconds, listed=True)
    assert tries.failures == failures


def test_wrong_answers_are_asked_again_with_a_growing_wait_though_each_connection_had_a_book() -> None:
    tries, wrong, waits = _Tries(Backoff()), ccxt.BadResponse("x {"), []
    for _ in range(24):
        tries.succeeded()
        waits.append(tries.failed(wrong, classify_failure(wrong, "X", "A/B"), 0.5, listed=True))
    assert max(waits[:9]) <= 2.0
    assert min(waits[-5:]) >= 15.0 and max(waits) <= 30.0
    assert tries.failed(wrong, classify_failure(wrong, "X", "A/B"), 10.0, listed=True) <= 2.0
