"""Timeouts of a connection to an exchange."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Timeouts, in seconds.

    Attributes:
        quiet_s: after so long without a message the venue is asked for its book: an equal one confirms the book kept here.
            NEXO/USDT on Binance stands still for more than ten seconds some 1,700 times a day.
        again_s: until it is asked once more where the books differ, since a message may have been under way.
        differing_s: the stream is given up where only sizes or deeper levels differ for so long, and do not move.
        silent_s: the stream is given up after so long where no book can be asked for; and so often a market that stands still is
            looked up in the list of markets.
        unusable_s: books that cannot be used are skipped for so long.
        trades_s: between attempts to follow the trades again; books go on without them.
        compare_s: between comparisons with the venue's book, where lost messages would go unnoticed otherwise.
        settle_s: most that a stream and a book on request are apart in time.
    """

    quiet_s: float = 2.5
    again_s: float = 0.5
    differing_s: float = 10.0
    silent_s: float = 60.0
    unusable_s: float = 1.0
    trades_s: float = 5.0
    compare_s: float = 1.0
    settle_s: float = 1.0
