"""The simulated market as a feed, with settings that can be changed while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from core.market.book import STEP_MS, OrderBookSnapshot
from core.market.feeds.clock import CLOCK
from core.market.feeds.market_process import MarketProcess, MarketSettings
from core.market.feeds.playback import PlayedFeed
from core.market.feeds.protocol import FeedEvent, FeedState, Trade


class SimulatedFeed(PlayedFeed):
    """One row every 250 ms of its own time, which starts at this machine's time.

    Args:
        seed: the same seed, and the same settings at the same steps, give the same books.
        settings: at the start.
        speed: multiple of real time, None for as fast as possible.
        lead: rows that are played at once at the start.
        start_price: the first mid-price. start_ms: time of the first row (by default such that the lead ends now).
        key: distinguishes two markets of one seed.
        clock: monotonic seconds.

    Raises:
        ValueError: for a speed that is not above 0, or a start price too low.
    """

    def __init__(
        self,
        seed: int,
        *,
        settings: MarketSettings | None = None,
        speed: float | None = 1.0,
        lead: int = 0,
        start_price: float = 100.0,
        start_ms: int | None = None,
        key: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            key=key or f"simulated/{seed}", market="simulated", playing=FeedState.SIMULATING, speed=speed, clock=clock
        )
        self.seed = seed
        self._process = MarketProcess(seed, start_price=start_price)
        self.tick = self._process.tick
        self._lock = threading.Lock()
        self._settings = settings or MarketSettings()
        self._lead = lead
        self._step = 0
        self._start_ms = start_ms

    @property
    def settings(self) -> MarketSettings:
        """The settings from the next step on."""
        return self._settings

    @property
    def position(self) -> int:
        """Steps so far."""
        return self._step

    def adjust(
        self, *, volatility_bps: float | None = None, spread_ticks: int | None = None, pressure: float | None = None
    ) -> MarketSettings:
        """Change some settings, from the next step on; may be called from any thread.

        Raises:
            ValueError: for a value out of its range (see `MarketSettings`).
        """
        with self._lock:
            now = self._settings
            self._settings = MarketSettings(
                volatility_bps=now.volatility_bps if volatility_bps is None else volatility_bps,
                spread_ticks=now.spread_ticks if spread_ticks is None else spread_ticks,
                pressure=now.pressure if pressure is None else pressure,
            )
            return self._settings

    def _at_once(self, state: FeedState) -> list[FeedEvent]:
        events = [event for _ in range(self._lead) for event in self._row(state)]
        self._lead = 0
        return events

    def _row(self, state: FeedState) -> list[FeedEvent]:
        if self._start_ms is None:
            self._start_ms = (CLOCK.now_ns() // 1_000_000 // STEP_MS - self._lead - 1) * STEP_MS
        step = self._process.step(self._settings)
        when = self._start_ms + self._step * STEP_MS
        self._step += 1
        trades = [Trade(price=price, size=size, side=side, exchange_ms=when) for price, size, side in step.trades]
        return [*trades, OrderBookSnapshot(levels=step.levels, exchange_ms=when, received_ns=CLOCK.now_ns(), sequence=self._step)]
