"""Errors as ccxt and aiohttp really raise and nest them."""

from __future__ import annotations

import asyncio
import errno
import random
import socket

import aiohttp
import ccxt
import pytest
from aiohttp.client_reqrep import ConnectionKey

from core.market.feeds.failures import Backoff, OutOfStep, UnusableBook, Verdict, WentQuiet, judge


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


KEY = ConnectionKey("api.example", 443, True, True, None, None, None, None)
DNS = aiohttp.ClientConnectorDNSError(KEY, socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"))
NO_WAY = aiohttp.ClientConnectorError(KEY, OSError(errno.ENETUNREACH, "Network is unreachable"))
REFUSED = aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"))


@pytest.mark.parametrize(
    ("error", "verdict", "reason"),
    [
        (caused(ccxt.ExchangeNotAvailable("x GET y"), DNS), Verdict.RETRY, "no network: the address of X could not be looked up"),
        (ccxt.NetworkError(DNS), Verdict.RETRY, "no network: the address of X could not be looked up"),  # as its sockets raise
        (ccxt.NetworkError(NO_WAY), Verdict.RETRY, "no network: there is no way to X from here"),
        (caused(ccxt.ExchangeNotAvailable("x GET y"), REFUSED), Verdict.RETRY, "X refuses the connection"),
        (ccxt.RequestTimeout("x GET y"), Verdict.RETRY, "X did not answer in time"),
        (ccxt.NetworkError("Connection closed by remote server"), Verdict.RETRY, "the connection to X was lost"),
        (caused(ccxt.ExchangeError("x GET y"), aiohttp.ClientPayloadError("cut")), Verdict.RETRY, "the connection to X was lost"),
        (asyncio.CancelledError(), Verdict.RETRY, "the connection to X was lost"),
        (ccxt.DDoSProtection("x 429 Too Many Requests"), Verdict.RETRY, "X asks for fewer requests"),
        (ccxt.RateLimitExceeded("x"), Verdict.RETRY, "X asks for fewer requests"),
        (ccxt.OnMaintenance("x"), Verdict.RETRY, "X is under maintenance"),
        (ccxt.ExchangeNotAvailable("x GET y 503 Service Unavailable"), Verdict.RETRY, "X is not available (HTTP 503)"),
        (ccxt.ExchangeNotAvailable("x GET y 403 Forbidden"), Verdict.DOUBTFUL, "X refuses what it is asked (HTTP 403)"),
        (ccxt.ExchangeNotAvailable("x GET y"), Verdict.RETRY, "the connection to X was lost"),
        (ccxt.ChecksumError("x"), Verdict.RESYNC, "an update of X went missing"),
        (ccxt.InvalidNonce("x"), Verdict.RESYNC, "an update of X went missing"),
        (OutOfStep("it moved"), Verdict.RESYNC, "it moved"),
        (WentQuiet("it is still"), Verdict.RETRY, "it is still"),
        (UnusableBook("it is crossed"), Verdict.DOUBTFUL, "it is crossed"),
        (ccxt.ExchangeNotAvailable("x GET y 451  {}"), Verdict.FINAL, "X does not serve the place this machine is in"),
        (ccxt.RestrictedLocation("x"), Verdict.FINAL, "X does not serve the place this machine is in"),
        (ccxt.BadSymbol("x"), Verdict.FINAL, "X has no market 'A/B'"),
        (ccxt.BadRequest("x limit must be 5"), Verdict.FINAL, "X gives no order book for A/B (x limit must be 5)"),
        (ccxt.NotSupported("x"), Verdict.FINAL, "X gives no order book for A/B"),
        (ccxt.PermissionDenied("x"), Verdict.FINAL, "X shows this book to account holders alone"),
        (ccxt.ExchangeError("x nonce is behind the cache after 3 tries."), Verdict.DOUBTFUL, "X sent something unexpected"),
        (ccxt.BadResponse("x"), Verdict.DOUBTFUL, "X sent something unexpected"),
        (KeyError("bids"), Verdict.DOUBTFUL, "X sent something unexpected ('bids')"),
    ],
)
def test_each_failure_gets_its_verdict_and_its_words(error: BaseException, verdict: Verdict, reason: str) -> None:
    failure = judge(error, "X", "A/B")
    assert failure.verdict is verdict
    assert failure.reason.startswith(reason)
    assert "\n" not in failure.reason
    assert not failure.reason.endswith(".")


def test_waits_double_up_to_the_cap_with_jitter() -> None:
    backoff = Backoff(first_s=1.0, cap_s=30.0, random=random.Random(1))
    for failures, full in enumerate([1, 2, 4, 8, 16, 30, 30, 30]):
        waits = {backoff.wait_s(failures) for _ in range(50)}
        assert len(waits) > 40
        assert full / 2 <= min(waits)
        assert max(waits) <= full
    assert backoff.wait_s(10_000) <= 30.0
