"""Classifies the errors of an exchange: whether a retry can help, after how long, and one clause about it for a person."""

from __future__ import annotations

import asyncio
import errno
import random
import re
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from core.messages import compose


class RetryVerdict(StrEnum):
    """Response to a failure."""

    RESYNC = "resync"
    """An update was missed: take a fresh snapshot at once."""
    RETRY = "retry"
    """The network or the venue is away: try again without end."""
    DOUBTFUL = "doubtful"
    """It may pass: try again a few times."""
    FINAL = "final"
    """Another attempt would get the same answer."""


class OutOfStep(Exception):
    """The book kept here no longer equals the venue's; the message says why."""


class BooksDiffer(OutOfStep):
    """The streamed book differs from the one the venue gives on request."""


class WentQuiet(Exception):
    """The stream has stopped without an end; the message says what was noticed."""


class UnusableBook(Exception):
    """The venue sends books that cannot be used, and not only for a moment; the message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A classified error.

    Attributes:
        reason: a clause without a full stop.
        retry_after_s: seconds to wait at least, where the venue says so.
    """

    verdict: RetryVerdict
    reason: str
    retry_after_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Waits between attempts: doubling from `first_s` up to `cap_s`, each shortened at random by up to a half.

    After `long_after` failures in a row the cap is `long_cap_s`. The randomness spreads the requests of many feeds at once.
    """

    first_s: float = 1.0
    cap_s: float = 2.0
    long_after: int = 300
    long_cap_s: float = 30.0
    random: random.Random = field(default_factory=random.Random)

    def wait_s(self, failures: int) -> float:
        """Seconds to wait after the n-th failure in a row, n from 0."""
        cap_s = self.cap_s if failures < self.long_after else self.long_cap_s
        return min(cap_s, self.first_s * 2.0 ** min(failures, 30)) * self.random.uniform(0.5, 1.0)


NO_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL})
UNAVAILABLE_IN_REGION: Final = 451
TOO_MANY_REQUESTS: Final = frozenset({418, 429})
LONGEST_RETRY_AFTER_S: Final = 3_600.0


def classify_failure(error: BaseException, name: str, symbol: str, headers: Mapping[str, str] | None = None) -> Failure:
    """Classify an error raised while following a market.

    Args:
        name: of the exchange.
        headers: of its last HTTP response, for Retry-After.
    """
    failure = _classify(error, name, symbol)
    if _http_status(error) is None or failure.verdict is RetryVerdict.FINAL:
        return failure
    for cause in _causes(error):
        headers = getattr(cause, "headers", None) or headers
    return Failure(verdict=failure.verdict, reason=failure.reason, retry_after_s=_retry_after_s(headers or {}))


def _classify(error: BaseException, name: str, symbol: str) -> Failure:
    import aiohttp
    import ccxt

    if isinstance(error, OutOfStep):
        return Failure(verdict=RetryVerdict.RESYNC, reason=str(error))
    if isinstance(error, WentQuiet):
        return Failure(verdict=RetryVerdict.RETRY, reason=str(error))
    if isinstance(error, UnusableBook):
        return Failure(verdict=RetryVerdict.DOUBTFUL, reason=str(error))
    if isinstance(error, ccxt.InvalidNonce):  # the base of ccxt.ChecksumError
        return Failure(verdict=RetryVerdict.RESYNC, reason=compose("an update of {name} went missing", name=name))
    status = _http_status(error)
    if status == UNAVAILABLE_IN_REGION or isinstance(error, ccxt.RestrictedLocation):
        return Failure(
            verdict=RetryVerdict.FINAL,
            reason=compose("{name} does not serve the place this machine is in: choose another one", name=name),
        )
    network = _network_reason(error, name)
    if network:
        return Failure(verdict=RetryVerdict.RETRY, reason=network)
    if status in TOO_MANY_REQUESTS or isinstance(error, (ccxt.RateLimitExceeded, ccxt.DDoSProtection)):
        return Failure(verdict=RetryVerdict.RETRY, reason=compose("{name} asks for fewer requests", name=name))
    if isinstance(error, ccxt.OnMaintenance):
        return Failure(verdict=RetryVerdict.RETRY, reason=compose("{name} is under maintenance", name=name))
    if status is not None and isinstance(error, ccxt.NetworkError):
        if status < 500:  # a block, which ccxt takes for an outage
            reason = compose("{name} refuses what it is asked (HTTP {status})", name=name, status=status)
            return Failure(verdict=RetryVerdict.DOUBTFUL, reason=reason)
        reason = compose("{name} is not available (HTTP {status})", name=name, status=status)
        return Failure(verdict=RetryVerdict.RETRY, reason=reason)
    lost = (ccxt.NetworkError, aiohttp.ClientError, OSError, asyncio.CancelledError)
    if any(isinstance(cause, lost) for cause in _causes(error)):  # ccxt calls a reply that broke off an ExchangeError
        return Failure(verdict=RetryVerdict.RETRY, reason=compose("the connection to {name} was lost", name=name))
    if isinstance(error, ccxt.BadSymbol):
        return Failure(
            verdict=RetryVerdict.FINAL,
            reason=compose("{name} has no market {symbol!r}: choose one from its list", name=name, symbol=symbol),
        )
    if isinstance(error, ccxt.AuthenticationError):
        return Failure(
            verdict=RetryVerdict.FINAL,
            reason=compose("{name} shows this book to account holders alone: choose another exchange", name=name),
        )
    if isinstance(error, (ccxt.NotSupported, ccxt.BadRequest, ccxt.ArgumentsRequired)):
        return Failure(
            verdict=RetryVerdict.FINAL,
            reason=compose("{name} gives no order book for {symbol}: choose another market", name=name, symbol=symbol),
        )
    return Failure(verdict=RetryVerdict.DOUBTFUL, reason=compose("{name} sent something unexpected", name=name))


def _http_status(error: BaseException) -> int | None:
    """The HTTP status behind an error, of a websocket's handshake too."""
    import ccxt

    for cause in _causes(error):
        status = getattr(cause, "status", None)
        if isinstance(status, int):
            return status
    number = re.search(r" ([45]\d\d) ", str(error)) if isinstance(error, ccxt.BaseError) else None
    return int(number[1]) if number else None


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds of a Retry-After header, which holds seconds or a date; 0 without one."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    try:
        seconds = float(value) if value.isdecimal() else parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_S)


def _network_reason(error: BaseException, name: str) -> str | None:
    """A failure of the network, not of the venue, as a clause; None for any other."""
    import aiohttp
    import ccxt

    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, (socket.gaierror, aiohttp.ClientConnectorDNSError)):
            return compose("no network: the address of {name} could not be looked up", name=name)
        if isinstance(cause, OSError) and cause.errno in NO_ROUTE:
            return compose("no network: there is no way to {name} from here", name=name)
    if any(isinstance(cause, ConnectionRefusedError) or getattr(cause, "errno", None) == errno.ECONNREFUSED for cause in causes):
        return compose("{name} refuses the connection", name=name)
    if any(isinstance(cause, (ccxt.RequestTimeout, TimeoutError)) for cause in causes):
        return compose("{name} did not answer in time", name=name)
    if any(isinstance(cause, aiohttp.ClientConnectorError) for cause in causes):
        return compose("no network: {name} could not be reached", name=name)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, those among an error's arguments included, where ccxt hides some."""
    seen: list[BaseException] = []
    waiting: list[BaseException] = [error]
    while waiting:
        cause = waiting.pop()
        if cause in seen:
            continue
        seen.append(cause)
        yield cause
        inner = (cause.__cause__, cause.__context__, getattr(cause, "os_error", None), *cause.args)
        waiting += [other for other in inner if isinstance(other, BaseException)]
