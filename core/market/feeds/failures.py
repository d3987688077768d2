"""Classifies the errors of an exchange: whether a retry can help, after how long, and one clause about it for a person."""

from __future__ import annotations

import asyncio
import errno
import random
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from core.messages import Refusal, compose


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


class StreamFault(Refusal):
    """A fault of a stream that this program noticed; the message says what was noticed."""

    verdict = RetryVerdict.RETRY


class OutOfStep(StreamFault):
    """The book kept here no longer equals the venue's."""

    verdict = RetryVerdict.RESYNC


class BooksDiffer(OutOfStep):
    """The streamed book differs from the one the venue gives on request."""


class WentQuiet(StreamFault):
    """The stream has stopped without an end."""


class UnusableBook(StreamFault):
    """The venue sends books that cannot be used, and not only for a moment: a fresh snapshot may help, or time."""


class WrongAnswer(StreamFault):
    """The venue answers, but not as it should: too much, from elsewhere, or nothing of use."""

    verdict = RetryVerdict.DOUBTFUL


class EmptyList(WrongAnswer):
    """The venue lists no market at all: its answer is garbled, or it trades none."""


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

    After `long_after` failures in a row the cap is `long_cap_s`; up to there it doubles with each wrong answer beyond those that
    may be chance. The randomness spreads the requests of many feeds at once.
    """

    first_s: float = 1.0
    cap_s: float = 2.0
    long_after: int = 300
    long_cap_s: float = 30.0
    random: random.Random = field(default_factory=random.Random)

    def wait_s(self, failures: int, *, wrong: int = 0) -> float:
        """Seconds to wait after the n-th failure in a row, n from 0, of which so many were wrong answers beyond chance."""
        growing_s = self.cap_s * 2.0 ** min(max(wrong, 0), 30)
        cap_s = self.long_cap_s if failures >= self.long_after else min(growing_s, max(self.cap_s, self.long_cap_s))
        return min(cap_s, self.first_s * 2.0 ** min(failures, 30)) * self.random.uniform(0.5, 1.0)


NO_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL})
UNAVAILABLE_IN_REGION: Final = 451
TOO_MANY_REQUESTS: Final = (418, 429)
UNKNOWN_SYMBOL: Final = re.compile(r"invalid symbol|symbol invalid|unknown asset pair|currency pair not supported", re.IGNORECASE)
"""Words of venues whose sockets refuse a symbol, which ccxt takes for any error."""
LONGEST_RETRY_AFTER_S: Final = 3_600.0


def classify_failure(error: BaseException, name: str, symbol: str, headers: Mapping[str, str] | None = None) -> Failure:
    """Classify an error raised while following a market.

    Args:
        name: of the exchange.
        headers: of its last HTTP response, for Retry-After.
    """
    if isinstance(error, StreamFault):
        return Failure(verdict=error.verdict, reason=str(error))
    causes = list(_causes(error))
    status = _http_status(error, causes)
    rules = _rules(error, causes, status, name, symbol)
    verdict, reason = next((verdict, reason) for holds, verdict, reason in rules if holds)
    if status is None or verdict is RetryVerdict.FINAL:
        return Failure(verdict=verdict, reason=reason)
    for cause in causes:
        headers = getattr(cause, "headers", None) or headers
    return Failure(verdict=verdict, reason=reason, retry_after_s=_retry_after_s(headers or {}))


def _rules(
    error: BaseException, causes: Sequence[BaseException], status: int | None, name: str, symbol: str
) -> Iterator[tuple[bool, RetryVerdict, str]]:
    """Rules, of which the first that holds counts: whether it does, the verdict, and a clause for a person."""
    import aiohttp
    import ccxt

    def caused(*types: type[BaseException]) -> bool:
        return any(isinstance(cause, types) for cause in causes)

    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    refused = caused(ConnectionRefusedError) or errno.ECONNREFUSED in numbers
    answered = status is not None and isinstance(error, ccxt.NetworkError)
    resync, retry, doubtful, final = RetryVerdict
    # ccxt.InvalidNonce is the base of ccxt.ChecksumError
    yield isinstance(error, ccxt.InvalidNonce), resync, compose("an update of {name} went missing", name=name)
    text = compose("{name} does not serve the place this machine is in: choose another one", name=name)
    yield status == UNAVAILABLE_IN_REGION or isinstance(error, ccxt.RestrictedLocation), final, text
    text = compose("no network: the address of {name} could not be looked up", name=name)
    yield caused(socket.gaierror, aiohttp.ClientConnectorDNSError), retry, text
    yield bool(numbers & NO_ROUTE), retry, compose("no network: there is no way to {name} from here", name=name)
    yield refused, retry, compose("{name} refuses the connection", name=name)
    yield caused(ccxt.RequestTimeout, TimeoutError), retry, compose("{name} did not answer in time", name=name)
    yield caused(aiohttp.ClientConnectorError), retry, compose("no network: {name} could not be reached", name=name)
    many = status in TOO_MANY_REQUESTS or isinstance(error, (ccxt.RateLimitExceeded, ccxt.DDoSProtection))
    yield many, retry, compose("{name} asks for fewer requests", name=name)
    yield isinstance(error, ccxt.OnMaintenance), retry, compose("{name} is under maintenance", name=name)
    # below 500 it is a block, which ccxt takes for an outage
    text = compose("{name} refuses what it is asked (HTTP {status})", name=name, status=status)
    yield answered and status is not None and status < 500, doubtful, text
    yield answered, retry, compose("{name} is not available (HTTP {status})", name=name, status=status)
    # ccxt calls a reply that broke off an ExchangeError
    lost = caused(ccxt.NetworkError, aiohttp.ClientError, OSError, asyncio.CancelledError)
    yield lost, retry, compose("the connection to {name} was lost", name=name)
    text = compose("{name} has no market {symbol!r}: choose one from its list", name=name, symbol=symbol)
    unknown = isinstance(error, ccxt.ExchangeError) and UNKNOWN_SYMBOL.search(str(error)) is not None
    yield isinstance(error, ccxt.BadSymbol) or unknown, final, text
    text = compose("{name} shows this book to account holders alone: choose another exchange", name=name)
    yield isinstance(error, ccxt.AuthenticationError), final, text
    text = compose("{name} gives no order book for {symbol}: choose another market", name=name, symbol=symbol)
    yield isinstance(error, (ccxt.NotSupported, ccxt.BadRequest, ccxt.ArgumentsRequired)), final, text
    yield True, doubtful, compose("{name} sent something unexpected", name=name)


def _http_status(error: BaseException, causes: Sequence[BaseException]) -> int | None:
    """The HTTP status behind an error, of a websocket's handshake too."""
    import ccxt

    for cause in causes:
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
