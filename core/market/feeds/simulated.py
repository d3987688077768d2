"""A simulated market, one step every 250 ms: a latent value that follows a random walk, quotes that follow it, and their queues.

It is not calibrated to any venue. Like a real book it has what a model can use: sizes shift to one side before the price moves
there, because one order flow drives both; a queue stays at its price when the best price moves; prices rest between moves. As a
feed its settings can be changed while it runs.
"""

import math
from dataclasses import dataclass

import numpy as np

from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, LEVELS, STEP_MS, FloatArray, OrderBookSnapshot, level
from core.market.events import Side, Trade
from core.market.feeds.clock import CLOCK
from core.market.feeds.playback import PlayedFeed
from core.market.feeds.protocol import FeedEvent, Status

DT_S = STEP_MS / 1e3
DEPTH = 40
"""Ticks per side: those past the tenth become visible when the price moves."""
LOT = 100
"""Sizes are whole hundredths."""
TICKS = 100
"""Per unit of quote currency: a tick is 0.01."""
START_PRICE = 100.0
"""The first mid-price, quote currency."""
FLOOR_TICKS = 1_000.0
"""The value is reflected here, so that no price comes near zero."""
FLOW_MEMORY_S = 10.0
DRIFT_BPS = 0.5
"""Drift of the value under full pressure, basis points per second."""
TOUCHED = 0.3
"""Probability that a queue changes in a step."""
KEPT = 0.6
"""Autocorrelation of a queue's deviation from its mean over one change."""
LOG_SPREAD = 0.6
"""Standard deviation of log sizes about their mean."""
LEANING = 0.9
"""Shift of the mean log size at the best prices under full pressure: up on one side, down on the other."""
TRADES_A_STEP = 0.6

_RANK = np.arange(DEPTH)
_MEAN = math.log(4.0) + 0.35 * np.log1p(_RANK)
_NEARNESS = np.exp(-_RANK / 4.0)


@dataclass(frozen=True, kw_only=True)
class MarketSettings:
    """Settings that may change while the market runs.

    Attributes:
        volatility_bps: standard deviation of the value's own noise over one second, basis points, 0 to 50.
        spread_ticks: best ask less best bid, 1 to 20 ticks.
        pressure: -1 (all sell) to 1 (all buy): makes the value drift, and shifts the sizes near the best prices.

    Raises:
        ValueError: for a value out of its range.
    """

    volatility_bps: float = 1.0
    spread_ticks: int = 1
    pressure: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high in (("volatility_bps", 0, 50), ("spread_ticks", 1, 20), ("pressure", -1, 1)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}: give a value from {low} to {high}")


@dataclass(frozen=True, kw_only=True)
class MarketStep:
    """One step's book, (40,) in `FEATURES` order, and its trades as (price, size, side)."""

    levels: FloatArray
    trades: tuple[tuple[float, float, Side], ...]


class MarketProcess:
    """The simulated market: the same seed and the same settings at the same steps give the same books.

    Args:
        seed: of the random generator.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._value = START_PRICE * TICKS
        self._flow = 0.0
        self._spread = 1
        self._bid = round(self._value - 0.5)
        self._bids, self._asks = (self._fresh(_MEAN) for _ in range(2))  # log sizes, best first

    def step(self, settings: MarketSettings) -> MarketStep:
        """The next 250 ms."""
        lean = self._push(settings)
        moved = self._requote(settings.spread_ticks)
        self._bids, self._asks = self._shift(self._bids, moved[0]), self._shift(self._asks, -moved[1])
        self._bids, self._asks = self._requeue(self._bids, lean), self._requeue(self._asks, -lean)
        levels = self._levels()
        return MarketStep(levels=levels, trades=self._trades(levels, lean, moved[0]))

    def _push(self, settings: MarketSettings) -> float:
        """Move the value; returns the pressure of this step, -1 to 1."""
        memory = math.exp(-DT_S / FLOW_MEMORY_S)
        flow_noise, value_noise = self._random.standard_normal(2)
        self._flow = memory * self._flow + math.sqrt(1 - memory**2) * flow_noise
        lean = max(-1.0, min(1.0, settings.pressure + 0.4 * self._flow))
        move_bps = DRIFT_BPS * DT_S * lean + settings.volatility_bps * math.sqrt(DT_S) * value_noise
        self._value *= math.exp(move_bps / 1e4)
        if self._value < FLOOR_TICKS:
            self._value = FLOOR_TICKS**2 / self._value
        return lean

    def _requote(self, spread: int) -> tuple[int, int]:
        """Quotes follow the value once it is three quarters of a tick away; returns the moves of bid and ask, ticks."""
        away = self._value - (self._bid + self._spread / 2)
        before = self._bid, self._bid + self._spread
        if abs(away) > 0.75 or spread != self._spread:
            self._bid = round(self._value - spread / 2)
            self._spread = spread
        return self._bid - before[0], self._bid + self._spread - before[1]

    def _shift(self, queues: FloatArray, toward: int) -> FloatArray:
        """Queues keep their prices when the best price moves `toward` the other side by so many ticks (negative: away)."""
        if not toward:
            return queues
        count = min(abs(toward), DEPTH)
        if toward > 0:  # new best prices, whose queues are short at first
            return np.concatenate([self._fresh(_MEAN[:count] - LOG_SPREAD), queues[: DEPTH - count]])
        return np.concatenate([queues[count:], self._fresh(_MEAN[DEPTH - count :])])

    def _fresh(self, mean: FloatArray) -> FloatArray:
        return mean + LOG_SPREAD * self._random.standard_normal(len(mean))

    def _requeue(self, queues: FloatArray, lean: float) -> FloatArray:
        touched = self._random.random(DEPTH) < TOUCHED
        noise = LOG_SPREAD * math.sqrt(1 - KEPT**2) * self._random.standard_normal(DEPTH)
        mean = _MEAN + LEANING * lean * _NEARNESS
        return np.where(touched, mean + KEPT * (queues - mean) + noise, queues)

    def _levels(self) -> FloatArray:
        levels = np.empty(4 * LEVELS)
        levels[ASK_PRICES] = (self._bid + self._spread + _RANK[:LEVELS]) / TICKS
        levels[BID_PRICES] = (self._bid - _RANK[:LEVELS]) / TICKS
        for sizes, queues in ((ASK_SIZES, self._asks), (BID_SIZES, self._bids)):
            lots = np.rint(LOT * np.exp(queues[:LEVELS]))
            levels[sizes] = np.maximum(lots, 1) / LOT
        return levels

    def _trades(self, levels: FloatArray, lean: float, moved: int) -> tuple[tuple[float, float, Side], ...]:
        signs = np.where(self._random.random(self._random.poisson(TRADES_A_STEP)) < 0.5 + 0.35 * lean, 1, -1).tolist()
        if moved:
            signs.append(1 if moved > 0 else -1)  # the trade that moved the price
        trades: list[tuple[float, float, Side]] = []
        for sign in signs:
            price, size = level(levels, "ask" if sign > 0 else "bid")
            part = math.ceil(LOT * float(size) * self._random.uniform(0.02, 0.5)) / LOT
            trades.append((float(price), part, "buy" if sign > 0 else "sell"))
        return tuple(trades)


class SimulatedFeed(PlayedFeed):
    """One row every 250 ms of its own time, which starts at this machine's time.

    Args:
        seed: the same seed, and the same settings at the same steps, give the same books.
        lead: rows that are played at once at the start.
        start_ms: time of the first row (by default such that the lead ends now).
        key: distinguishes two markets of one seed.
    """

    def __init__(self, seed: int, *, lead: int = 0, start_ms: int | None = None, key: str | None = None) -> None:
        super().__init__(key=key or f"simulated/{seed}", market="simulated", playing=Status.SIMULATING)
        self.seed = seed
        self._process = MarketProcess(seed)
        self.tick = 1 / TICKS
        self._settings = MarketSettings()
        self._lead = lead
        self._step = 0
        self._start_ms = start_ms

    def adjust(self, settings: MarketSettings) -> None:
        """Change the settings, from the next step on; may be called from any thread."""
        self._settings = settings

    def _at_once(self, state: Status) -> list[FeedEvent]:
        events = [event for _ in range(self._lead) for event in self._row(state)]
        self._lead = 0
        return events

    def _row(self, state: Status) -> list[FeedEvent]:
        if self._start_ms is None:
            self._start_ms = (CLOCK.now_ns() // 1_000_000 // STEP_MS - self._lead - 1) * STEP_MS
        step = self._process.step(self._settings)
        when = self._start_ms + self._step * STEP_MS
        self._step += 1
        trades = [Trade(price=price, size=size, side=side, exchange_ms=when) for price, size, side in step.trades]
        return [*trades, OrderBookSnapshot(levels=step.levels, exchange_ms=when, received_ns=CLOCK.now_ns(), sequence=self._step)]
