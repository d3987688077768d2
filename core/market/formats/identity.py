"""Identity of a market by its files' names and columns: exchange, symbol, stream and day (D40)."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath
from typing import Final

from core.market.formats.tables import FormatError
from core.market.store.index import market_of
from core.messages import N_, Message, compose

WHATS: Final = {
    "symbol": N_("symbol"),
    "exchange": N_("exchange"),
    "stream": N_("stream"),
    "market": N_("market"),
    "day": N_("day"),
    "levels": N_("levels"),
    "hours": N_("seconds of the day"),
}
OF_A_FILE: Final = ("day", "hours", "levels")
"""Facts that may differ between the files of a market."""
_DAY: Final = r"(?P<day>\d{4}-\d{2}-\d{2})"
NAMES: Final = (
    re.compile(rf"(?P<symbol>[^_]+)_{_DAY}_(?P<hours>\d+_\d+)_(?:message|orderbook)_(?P<levels>\d+)\.csv.*"),
    re.compile(rf"(?P<exchange>[\w-]+?)_(?P<stream>book_snapshot_\d+)_{_DAY}_(?P<symbol>[^.]+)\.csv.*"),
)
"""Names by LOBSTER and tardis.dev, which say all of it."""
_SYMBOLS: Final = (
    re.compile(r"(?i)(?<![a-z0-9])[a-z0-9]{2,10}[-_]?(?:usdt|usdc|usd|eur)(?![a-z0-9])"),
    re.compile(r"(?i)(?<![a-z0-9])(?:btc|xbt|eth|sol|xrp|bnb|doge|ltc|ada)(?![a-z0-9])"),
    re.compile(r"(?<![A-Za-z0-9])[A-Z]{3,5}(?![A-Za-z0-9])"),
)
"""A symbol within any other name: BTC-USDT, eth, AAPL."""

_QUOTES: Final = frozenset({"usdt", "usdc", "usd", "eur", "usdtusdt", "usdcusdc", "usdusd", "swap", "perp", "perpetual"})
"""Endings by which a symbol says more than another: what it is quoted in, settled in, and that it is perpetual."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A word on the market: a key of `WHATS`, its value, who says it, and whether it may be a part of the whole.

    Attributes:
        guess: whether it may be no word on the market at all, as JAN is none in JAN.csv: two of these contradict nothing.
    """

    what: str
    value: str
    by: Message
    loose: bool = False
    guess: bool = False


Claims = dict[str, Claim]


def claims_of_name(name: str) -> Claims:
    """Statement of a file's name."""
    by = compose("the name of {file}", file=name)
    if match := next((match for pattern in NAMES if (match := pattern.fullmatch(name))), None):
        return {what: Claim(what=what, value=value, by=by) for what, value in match.groupdict().items()}
    stem, claims = re.sub(r"(?i)(\.(csv|parquet|txt|gz))+$", "", PurePath(name).name), Claims()
    if dated := re.search(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)", stem):
        with suppress(ValueError):  # no date
            claims["day"] = Claim(what="day", value=date(*map(int, dated.groups())).isoformat(), by=by, loose=True)
            claims["market"] = Claim(what="market", value=market_of(stem), by=by)
    if symbol := next((match for pattern in _SYMBOLS if (match := pattern.search(stem))), None):
        claims["symbol"] = Claim(what="symbol", value=symbol[0], by=by, loose=True, guess=symbol.re is _SYMBOLS[-1])
    return claims


def agreed(claims: Claims, others: Iterable[Claim], without: tuple[str, ...] = ()) -> Claims:
    """Both together; of two on one thing the one that is not loose stays.

    Args:
        without: what may differ.

    Raises:
        FormatError: where they contradict each other, which names both sides.
    """
    together = dict(claims)
    for claim in others:
        before = together.setdefault(claim.what, claim)
        if claim.what not in without and not (before.guess and claim.guess) and not _agree(before, claim):
            raise contradiction(before, claim)
        together[claim.what] = claim if before.loose else before
    return together


def contradiction(one: Claim, other: Claim) -> FormatError:
    """Two claims that differ, each with who says it."""
    about = {"what": compose(WHATS[one.what]), "one": one.value, "other": other.value, "first": one.by, "second": other.by}
    return FormatError(
        "{first} says {what} {one}, {second} says {other}: files read together are of one market, and each of one day", **about
    )


def market_said(claims: Claims) -> str:
    """The market's name by all of them, "" where none says it."""
    exact = [claims[what].value for what in ("symbol", "market") if what in claims and not claims[what].loose]
    return next(iter(exact), claims["symbol"].value if "symbol" in claims else "")


def _agree(one: Claim, other: Claim) -> bool:
    words = [re.findall(r"[^\W_]+", claim.value.lower().replace("xbt", "btc")) for claim in (one, other)]
    first, second = ("".join(some) for some in words)
    if one.by == other.by or not (one.loose or other.loose):
        return first == second
    (less, _), (more, parts) = sorted(zip((first, second), words, strict=True), key=lambda one: len(one[0]))
    runs = {"".join(parts[a:b]) for a in range(len(parts)) for b in range(a + 1, len(parts) + 1)}
    return less in runs or (more.startswith(less) and more.removeprefix(less) in _QUOTES)
