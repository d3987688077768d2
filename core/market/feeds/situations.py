"""States of a market or of its stream that pass: locked, without asks, halted, lagging ... They have a beginning and no deadline.

While a venue answers, its feed says them and goes on asking; none of them ends it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from core.market.book import LARGEST, LEVELS
from core.messages import Message, compose, sentence


class Situation(StrEnum):
    """Kind of such a state."""

    LOCKED = "locked"
    CROSSED = "crossed"
    NO_ASKS = "no asks"
    NO_BIDS = "no bids"
    EMPTY = "empty"
    FEW = "few levels"
    BROKEN = "broken"
    """Prices or sizes that no market has."""
    HALTED = "halted"
    """By the venue's list of markets."""
    LAGGING = "lagging"
    AHEAD = "ahead"
    UNCHECKED = "unchecked"
    """Nothing would notice a lost update, so that nothing confirms a row (D27)."""
    ASKED = "asked"
    """Books come by request."""
    STILL = "still"
    """Each request gets the same book."""
    UNTIMED = "untimed"
    """Trades without a time, which no tape can place."""
    ODD_TRADES = "odd trades"
    """Trades without a sensible price or size."""


OF_BOOK: Final = frozenset(
    {
        Situation.LOCKED,
        Situation.CROSSED,
        Situation.NO_ASKS,
        Situation.NO_BIDS,
        Situation.EMPTY,
        Situation.FEW,
        Situation.BROKEN,
    }
)
"""Of these a book is in one at most."""
WITHOUT_ROWS: Final = OF_BOOK | {Situation.HALTED}
"""No row is made while one of these lasts."""
NUMBERS: Final = (
    compose("two"),
    compose("three"),
    compose("four"),
    compose("five"),
    compose("six"),
    compose("seven"),
    compose("eight"),
    compose("nine"),
)
CLOSED: Final = (Situation.ASKED, Situation.UNTIMED, Situation.ODD_TRADES)
"""Situations of a feed that hold while its connection is away, too."""


@dataclass(frozen=True, kw_only=True)
class Since:
    """One state and its beginning.

    Attributes:
        since_ms: milliseconds since the epoch, by `core.market.feeds.clock`.
        amount: levels of the shorter side (FEW), seconds (LAGGING, AHEAD, STILL), trades (UNTIMED, ODD_TRADES).
    """

    kind: Situation
    since_ms: int
    amount: float = 0.0

    def words(self, time: str | None = None) -> Message:
        """A clause such as "locked since 14:02:03 UTC".

        Args:
            time: its beginning, as the reader's clock writes it; None for UTC's.
        """
        since = time or f"{datetime.fromtimestamp(self.since_ms / 1e3, UTC):%H:%M:%S} UTC"
        match self.kind:
            case Situation.LOCKED:
                return compose("locked since {time}", time=since)
            case Situation.CROSSED:
                return compose("crossed since {time}", time=since)
            case Situation.NO_ASKS:
                return compose("no asks since {time}", time=since)
            case Situation.NO_BIDS:
                return compose("no bids since {time}", time=since)
            case Situation.EMPTY:
                return compose("no asks and no bids since {time}", time=since)
            case Situation.BROKEN:
                return compose("prices or sizes that no market has since {time}", time=since)
            case Situation.HALTED:
                return compose("halted since {time}", time=since)
            case Situation.UNCHECKED:
                return compose("not checked since {time}", time=since)
            case Situation.ASKED:
                return compose("books by request since {time}", time=since)
            case Situation.STILL:
                return compose("the same book at each request since {time}", time=since)
            case _:
                return self._counted(since)

    def _counted(self, since: str) -> Message:
        count = int(self.amount)
        if self.kind is Situation.FEW:
            if count == 1:
                return compose("only one level since {time}", time=since)
            return compose("only {count} levels since {time}", count=NUMBERS[count - 2], time=since)
        if self.kind is Situation.LAGGING:
            return compose("lagging by {span} since {time}", span=span_of(self.amount), time=since)
        if self.kind is Situation.AHEAD:
            return compose("its clock ahead by {span} since {time}", span=span_of(self.amount), time=since)
        if self.kind is Situation.UNTIMED:
            if count == 1:
                return compose("one trade without a time since {time}", time=since)
            return compose("{count:,} trades without a time since {time}", count=count, time=since)
        if count == 1:
            return compose("one trade without a price or size since {time}", time=since)
        return compose("{count:,} trades without a price or size since {time}", count=count, time=since)


def span_of(seconds: float) -> Message:
    """A span of time in its largest whole unit: "3 s", "4 min", "1 h"."""
    whole = round(seconds)
    if whole < 120:
        return compose("{count} s", count=whole)
    if whole < 7_200 and whole % 3_600:
        return compose("{count} min", count=round(whole / 60))
    return compose("{count:,} h", count=round(whole / 3_600))


def said_of(name: str, states: Sequence[Since]) -> str:
    """One sentence on these states of a venue's market; "" where there are none."""
    if not states:
        return ""
    clauses = [state.words() for state in states if state.kind is not Situation.STILL]
    for state in states:
        if state.kind is Situation.STILL:
            clauses.append(
                compose(
                    "it has given the same book for {seconds:.0f} s: it is quiet, or its answers are old", seconds=state.amount
                )
            )
    clause = clauses[0]
    for another in clauses[1:]:
        clause = compose("{first}; {second}", first=clause, second=another)
    if any(state.kind in WITHOUT_ROWS for state in states):
        return sentence(compose("{name}: {states}; no rows until that is over", name=name, states=clause))
    if any(state.kind is Situation.UNCHECKED for state in states):
        return sentence(compose("{name}: {states}; nothing confirms its rows, so that none counts", name=name, states=clause))
    return sentence(compose("{name}: {states}", name=name, states=clause))


def situation_of(book: Mapping[str, Any]) -> tuple[Situation, float]:
    """Kind and amount of a ccxt book of which no row can be made."""
    try:
        sides = [[(float(level[0]), float(level[1])) for level in book[side] if level[1] != 0] for side in ("asks", "bids")]
    except (TypeError, ValueError, LookupError):
        return Situation.BROKEN, 0.0
    asks, bids = sides
    if not asks or not bids:
        return (Situation.NO_ASKS if bids else Situation.NO_BIDS if asks else Situation.EMPTY), 0.0
    numbers = [number for side in sides for level in side[:LEVELS] for number in level]
    if not all(0 < number < LARGEST for number in numbers):  # NaN is neither
        return Situation.BROKEN, 0.0
    if asks[0][0] <= bids[0][0]:
        return (Situation.LOCKED if asks[0][0] == bids[0][0] else Situation.CROSSED), 0.0
    fewest = min(len(asks), len(bids))
    return (Situation.FEW, float(fewest)) if fewest < LEVELS else (Situation.BROKEN, 0.0)


class Situations:
    """The states of one feed, which outlive its connections: one that is there again after a break began before it."""

    def __init__(self) -> None:
        self._known: dict[Situation, Since] = {}
        self._current: set[Situation] = set()
        self._said: tuple[Since, ...] = ()

    @property
    def now(self) -> tuple[Since, ...]:
        """Those that hold, the oldest first."""
        return tuple(sorted((self._known[kind] for kind in self._current), key=lambda one: one.since_ms))

    def has(self, *kinds: Situation) -> bool:
        """Tells whether one of these holds."""
        return any(kind in self._current for kind in kinds)

    def remembers(self, *kinds: Situation) -> bool:
        """Tells whether one of these holds, or held when the venue went away."""
        return any(kind in self._known for kind in kinds)

    def begin(self, kind: Situation, since_ms: int, amount: float = 0.0) -> None:
        """It holds, since then if not since earlier."""
        if kind in OF_BOOK:
            self.end(*(OF_BOOK - {kind}))
        before = self._known.get(kind)
        self._known[kind] = replace(before or Since(kind=kind, since_ms=since_ms), amount=amount)
        self._current.add(kind)

    def end(self, *kinds: Situation) -> None:
        """They are over."""
        for kind in kinds:
            self._known.pop(kind, None)
            self._current.discard(kind)

    def forget(self) -> None:
        """The venue is away: whether they still hold is not known."""
        self._current &= set(CLOSED)

    def say(self) -> tuple[Since, ...]:
        """Those that hold; `has_news` is then over."""
        self._said = self.now
        return self._said

    def has_news(self, *, counts: bool) -> bool:
        """Tells whether those that hold are not those that were said last; where `counts`, by their amounts too."""
        now = self.now
        if counts:
            return now != self._said
        return [(one.kind, one.since_ms) for one in now] != [(one.kind, one.since_ms) for one in self._said]

    def get(self, kind: Situation) -> Since | None:
        """This one, where it holds."""
        return self._known[kind] if kind in self._current else None


def without_rows(states: Iterable[Since]) -> bool:
    """Tells whether one of these keeps rows from being made."""
    return any(state.kind in WITHOUT_ROWS for state in states)


MAX_LAG_MS: Final = 1_000
"""Difference of a venue's own time and this machine's clock from which on it is named."""


def lag_situation(lag_ms: float | None, since_ms: int) -> tuple[Since, ...]:
    """The lag of a venue's newest books, where it is worth a word; negative where its time is ahead."""
    if lag_ms is None or not math.isfinite(lag_ms) or abs(lag_ms) <= MAX_LAG_MS:
        return ()
    return (Since(kind=Situation.LAGGING if lag_ms > 0 else Situation.AHEAD, since_ms=since_ms, amount=round(abs(lag_ms) / 1e3)),)
