"""What went wrong with an exchange, whether trying again can help, and how to say it to a person."""

from __future__ import annotations

import asyncio
import errno
import random
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from core.messages import compose


class RetryVerdict(StrEnum):
    """What to do about a failure."""

    RESYNC = "resync"
    """An update was missed: a fresh snapshot, at once."""
    RETRY = "retry"
    """The network or the venue is away: try again, ever more slowly, without end."""
    DOUBTFUL = "doubtful"
    """It may pass: try again a few times."""
    FINAL = "final"
    """Asking again would get the same answer."""


class OutOfStep(Exception):
    """The book at hand no longer follows from its snapshot; the message says why."""


class WentQuiet(Exception):
    """The stream has stopped without an end; the message says what was noticed."""


class UnusableBook(Exception):
    """The venue sends books that cannot be used, and not just for a moment; the message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A verdict, and its reason as a clause without a full stop."""

    verdict: RetryVerdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Waits between attempts: doubling from `first_s` up to `cap_s`, each shortened at random by up to a half.

    The jitter keeps a room full of viewers from asking a venue that came back for everything at once.
    """

    first_s: float = 1.0
    cap_s: float = 30.0
    random: random.Random = field(default_factory=random.Random)

    def wait_s(self, failures: int) -> float:
        """Seconds to wait after the n-th failure in a row, n from 0."""
        return min(self.cap_s, self.first_s * 2.0 ** min(failures, 30)) * self.random.uniform(0.5, 1.0)


NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL})


def judge(error: BaseException, name: str, symbol: str) -> Failure:
    """Sort an error raised while following `symbol` on the exchange called `name`."""
    import aiohttp
    import ccxt

    if isinstance(error, OutOfStep):
        return Failure(verdict=RetryVerdict.RESYNC, reason=str(error))
    if isinstance(error, WentQuiet):
        return Failure(verdict=RetryVerdict.RETRY, reason=str(error))
    if isinstance(error, UnusableBook):
        return Failure(verdict=RetryVerdict.DOUBTFUL, reason=str(error))
    if isinstance(error, ccxt.InvalidNonce):  # ccxt's ChecksumError too
        return Failure(verdict=RetryVerdict.RESYNC, reason=compose("an update of {name} went missing", name=name))
    if " 451 " in str(error) or isinstance(error, ccxt.RestrictedLocation):
        return Failure(
            verdict=RetryVerdict.FINAL,
            reason=compose("{name} does not serve the place this machine is in: choose another one", name=name),
        )
    network = _network_reason(error, name)
    if network:
        return Failure(verdict=RetryVerdict.RETRY, reason=network)
    if isinstance(error, (ccxt.RateLimitExceeded, ccxt.DDoSProtection)):
        return Failure(verdict=RetryVerdict.RETRY, reason=compose("{name} asks for fewer requests", name=name))
    if isinstance(error, ccxt.OnMaintenance):
        return Failure(verdict=RetryVerdict.RETRY, reason=compose("{name} is under maintenance", name=name))
    status = re.search(r" ([45]\d\d) ", str(error)) if isinstance(error, ccxt.ExchangeNotAvailable) else None
    if status is not None and status[1].startswith("4"):  # a block that ccxt, too, takes for an outage
        return Failure(
            verdict=RetryVerdict.DOUBTFUL,
            reason=compose("{name} refuses what it is asked (HTTP {status})", name=name, status=status[1]),
        )
    if status is not None:
        return Failure(
            verdict=RetryVerdict.RETRY, reason=compose("{name} is not available (HTTP {status})", name=name, status=status[1])
        )
    lost = (ccxt.NetworkError, aiohttp.ClientError, OSError, asyncio.CancelledError)
    if any(isinstance(cause, lost) for cause in _causes(error)):  # ccxt calls a reply that broke off an ExchangeError
        return Failure(
            verdict=RetryVerdict.RETRY,
            reason=compose("the connection to {name} was lost{detail}", name=name, detail=_detail(error)),
        )
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
        reason = compose(
            "{name} gives no order book for {symbol}{detail}: choose another market",
            name=name,
            symbol=symbol,
            detail=_detail(error),
        )
        return Failure(verdict=RetryVerdict.FINAL, reason=reason)
    return Failure(
        verdict=RetryVerdict.DOUBTFUL,
        reason=compose("{name} sent something unexpected{detail}", name=name, detail=_detail(error)),
    )


def _network_reason(error: BaseException, name: str) -> str | None:
    """Why nothing came through, where it was the way and not the venue."""
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
    """The error and everything behind it; ccxt also hides causes among an error's arguments."""
    seen: list[BaseException] = []
    waiting: list[BaseException] = [error]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.append(one)
        yield one
        inner = (one.__cause__, one.__context__, getattr(one, "os_error", None), *one.args)
        waiting += [other for other in inner if isinstance(other, BaseException)]


def _detail(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f" ({text[:160]})" if text else ""
