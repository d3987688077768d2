"""The lag of a venue's books by their own time, against this machine's clock."""

from collections import deque
from typing import Final

import numpy as np

from core.market.book import OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.situations import Since, lag_situation
from core.messages import N_, compose, sentence

LAG_BOOKS: Final = 20
"""Newest books whose median the lag is."""


class LagMeter:
    """Measures the lag book by book.

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
