"""States of a market or of its stream that pass: locked, without asks, halted, lagging ... They have a beginning and no deadline.

While a venue answers, its feed says them and goes on asking; none of them ends it.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import reduce
from typing import Any, Final

import numpy as np

from core.market.book import LARGEST, LEVELS, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.messages import N_, Message, compose, sentence


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
    {Situation.LOCKED, Situation.CROSSED, Situation.NO_ASKS, Situation.NO_BIDS, Situation.EMPTY, Situation.FEW, Situation.BROKEN}
)
"""Of these a book is in one at most."""
WITHOUT_ROWS: Final = OF_BOOK | {Situation.HALTED}
"""No row is made while one of these lasts."""
SHORT: Final = {
    Situation.LOCKED: N_("locked"),
    Situation.CROSSED: N_("crossed"),
    Situation.NO_ASKS: N_("no asks"),
    Situation.NO_BIDS: N_("no bids"),
    Situation.EMPTY: N_("empty"),
    Situation.FEW: N_("few levels"),
    Situation.BROKEN: N_("impossible prices"),
    Situation.HALTED: N_("halted"),
    Situation.LAGGING: N_("lagging"),
    Situation.AHEAD: N_("clock ahead"),
    Situation.UNCHECKED: N_("not checked"),
    Situation.STILL: N_("same book"),
    Situation.ASKED: N_("books by request"),
    Situation.UNTIMED: N_("trades without a time"),
    Situation.ODD_TRADES: N_("trades without a price or size"),
}
"""A state in a word or some, the gravest first."""
COUNTED: Final = (Situation.FEW, Situation.UNTIMED, Situation.ODD_TRADES)
"""Those that say how many."""
LIVE, SILENT = "live", "silent"
"""States of a feed that no situation names: all is well; nothing is heard."""
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

    def short(self) -> Message:
        """Its word and its amount: "locked", "lagging 1.2 s", "few levels (7)"."""
        word = compose(SHORT[self.kind])
        if self.kind in (Situation.LAGGING, Situation.AHEAD):
            return compose("{word} {span}", word=word, span=span_of(self.amount))
        return compose("{word} ({count:,})", word=word, count=int(self.amount)) if self.kind in COUNTED else word

    def words(self, time: str | None = None) -> Message:
        """A clause such as "locked since 14:02:03 UTC".

        Args:
            time: its beginning, as the reader's clock writes it; None for UTC's.
        """
        since = time or f"{datetime.fromtimestamp(self.since_ms / 1e3, UTC):%H:%M:%S} UTC"
        return compose("{state} since {time}", state=self.short(), time=since)


def span_of(seconds: float) -> Message:
    """A span of time in its largest whole unit, below ten seconds in tenths: "1.2 s", "14 s", "4 min", "1 h"."""
    whole = round(seconds)
    if round(seconds, 1) < 10:
        return compose("{count:.1f} s", count=seconds)
    if whole < 120:
        return compose("{count} s", count=whole)
    if whole < 7_200 and whole % 3_600:
        return compose("{count} min", count=round(whole / 60))
    return compose("{count:,} h", count=round(whole / 3_600))


def said_of(name: str, states: Sequence[Since]) -> str:
    """One sentence on these states of a venue's market; "" where there are none."""
    if not states:
        return ""
    still = N_("it has given the same book for {seconds:.0f} s: it is quiet, or its answers are old")
    clauses = [state.words() for state in states if state.kind is not Situation.STILL]
    clauses += [compose(still, seconds=state.amount) for state in states if state.kind is Situation.STILL]
    clause = reduce(lambda first, second: compose("{first}; {second}", first=first, second=second), clauses)
    template = N_("{name}: {states}")
    if without_rows(states):
        template = N_("{name}: {states}; no rows until that is over")
    elif any(state.kind is Situation.UNCHECKED for state in states):
        template = N_("{name}: {states}; nothing confirms its rows, so that none counts")
    return sentence(compose(template, name=name, states=clause))


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


def gravest(states: Iterable[Since]) -> str:
    """The state by which a feed's moment is judged: the gravest one's name, `LIVE` where only trades are odd, or nothing is."""
    kinds = {state.kind for state in states} - {Situation.UNTIMED, Situation.ODD_TRADES}
    return next((kind.value for kind in SHORT if kind in kinds), LIVE)


MAX_LAG_MS: Final = 1_000
"""Difference of a venue's own time and this machine's clock from which on it is named."""


def lag_situation(lag_ms: float, since_ms: int) -> Since | None:
    """The lag of a venue's newest books, None where it is not worth a word; negative where its time is ahead."""
    if abs(lag_ms) <= MAX_LAG_MS:
        return None
    kind = Situation.LAGGING if lag_ms > 0 else Situation.AHEAD
    return Since(kind=kind, since_ms=since_ms, amount=round(abs(lag_ms) / 1e3, 1))


LAG_BOOKS: Final = 20
"""Newest books whose median the lag is."""


class LagMeter:
    """Measures the lag of a venue's books by their own time, against this machine's clock.

    Attributes:
        ms: the median; negative where the venue's time is ahead, None before the first.
        state: of lagging; None where the lag is small.
    """

    def __init__(self) -> None:
        self.ms: float | None = None
        self.state: Since | None = None
        self._exchange_ms, self._lags_ms = 0, deque[float](maxlen=LAG_BOOKS)

    def begin_anew(self) -> None:
        """Begin after a lost connection: the first book of the next one may have stood for long, and is not measured."""
        self._exchange_ms = 0

    def measure(self, book: OrderBookSnapshot) -> None:
        """Measure the next book; one that is only confirmed again keeps its venue's time, and is left out."""
        before, self._exchange_ms = self._exchange_ms, book.exchange_ms
        if before not in (0, book.exchange_ms):
            self._lags_ms.append(book.received_ns / 1e6 - book.exchange_ms)
            ms = float(np.median(self._lags_ms))
            since_ms = self.state.since_ms if self.state and (ms > 0) == ((self.ms or 0.0) > 0) else CLOCK.now_ms()
            self.ms, self.state = ms, lag_situation(ms, since_ms)

    def sentence(self) -> str:
        """Sentence about the lag; "" where it is small."""
        if self.state is None:
            return ""
        why = N_("{state}, by its books' own time, or one of the two clocks is wrong")
        return sentence(compose(why, state=self.state.words()))
