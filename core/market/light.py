"""Light on a running market: what a forecast rests on, and where in the book that stood, once a second at most.

Both explain P(up) - P(down) against the market's own mean of the last hour: six groups that are put back to it one at a time
(`core.market.reasons`), and integrated gradients from it at eight points of the line (Sundararajan et al. 2017, the measure that
reaches furthest below chance in the deletion test of the shipped model, D38): as many points as a processor can spare beside a
live market. One window is explained at a time, for all who watch, and anew no sooner than keeps the screen's light fresh.
"""

import asyncio
import json
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.device import falls_back
from core.explain.attribution import ScalarFunction
from core.market.book import FloatArray
from core.market.evidence import head_probability
from core.market.features import MID, price_columns
from core.market.labels import DOWN, UP
from core.market.predictor import MarketCard, Predictor
from core.market.reasons import Place, Reasons, Recalibrate, UsualInputs, window_reasons, without_order

NODES: Final = 8
EVERY_S: Final = 1.0
FRESH_S: Final = 2.0
"""Age of a light at which the next one is to be on the screen."""
SENDING_S: Final = 0.3
"""Part of that for noticing that a light is due, and for sending it."""
MOST: Final = 0.25
"""Of one core, at most, for all markets and horizons together."""
COLUMNS: Final = tuple(4 * level + side for side in (0, 2) for level in range(10))
"""Price columns of the ten levels of each side."""
CELLS: Final = 200
"""Most cells of the book that are lit."""
PROFILE: Final = 1_800
"""Windows that the profile of an hour is the mean of, where one is explained every two seconds."""
FEWEST: Final = 5
"""Explained windows before anything is lit."""


@dataclass(frozen=True, kw_only=True)
class NewestWindow:
    """The newest rows of a session, the last of which end a whole window, and one head's answer to it.

    Attributes:
        timestamps: (n,), milliseconds. levels: (n, 40). recalibrate: the head's, as it stands.
    """

    predictor: Predictor
    entry: MarketCard
    head: int
    timestamps: NDArray[np.int64]
    levels: FloatArray
    recalibrate: Recalibrate

    @property
    def window(self) -> FloatArray:
        """(window, 40): the rows that the answer reads."""
        return self.levels[-self.predictor.window :]


@dataclass(frozen=True, kw_only=True)
class WindowLight:
    """The reasons of an answer, and what stood in the book that counted beyond what is usual.

    Attributes:
        timestamp: of the window's newest row, milliseconds. minutes: that the mean is of, begun ones included.
        ages: (cells,) rows before the newest one. prices: (cells,). values: (cells,) above 0 for what spoke for up.
    """

    head: int
    timestamp: int
    minutes: int
    reasons: Reasons
    ages: NDArray[np.int64]
    prices: FloatArray
    values: FloatArray

    @cached_property
    def message(self) -> str:
        """The light for a browser, as JSON: values are thousandths of the largest."""
        most = max(np.abs(self.values).max(initial=0.0), 1e-12)
        cells = [self.ages.tolist(), self.prices.tolist(), np.round(self.values / most * 1000).astype(int).tolist()]
        why = asdict(self.reasons) | {"gives": self.reasons.gives.tolist(), "minutes": self.minutes}
        return json.dumps({"light": {"head": self.head, "time": self.timestamp, "cells": cells} | why})


class MarketLight:
    """Explains one session's windows: its mean inputs, and by head how much each place of the book usually counts."""

    def __init__(self, predictor: Predictor, entry: MarketCard) -> None:
        self._usual = UsualInputs(predictor, entry)
        self._profiles: dict[int, tuple[int, FloatArray]] = {}  # windows, and the mean size of each age's and level's part

    def explain(self, newest: NewestWindow) -> WindowLight | None:
        """The light of the newest window; None where the mean is not known yet."""
        self._usual.follow(newest.timestamps, newest.levels)
        mean, head = self._usual.mean(), newest.head
        if mean is None:
            return None
        asked = newest.predictor, newest.entry, newest.window
        reasons = window_reasons(*asked, mean, head=head, recalibrate=newest.recalibrate)
        parts = book_parts(*asked, mean, head=head)
        count, profile = self._profiles.get(head, (0, np.zeros_like(parts)))
        beyond = np.sign(parts) * np.maximum(np.abs(parts) - profile, 0) * (count >= FEWEST)
        count = min(count + 1, PROFILE)
        self._profiles[head] = count, profile + (np.abs(parts) - profile) / count
        rows, sides = np.unravel_index(np.argsort(-np.abs(beyond), axis=None)[:CELLS], beyond.shape)
        lit = beyond[rows, sides] != 0
        rows, sides = rows[lit], sides[lit]
        return WindowLight(
            head=head,
            timestamp=int(newest.timestamps[-1]),
            minutes=self._usual.minutes,
            reasons=reasons,
            ages=len(parts) - 1 - rows,
            prices=newest.window[rows, np.array(COLUMNS)[sides]],
            values=beyond[rows, sides],
        )


@falls_back
def book_parts(predictor: Predictor, entry: MarketCard, levels: FloatArray, mean: Tensor, *, head: int) -> FloatArray:
    """(n, 20): what each level of `COLUMNS` gave, at each row of a raw window (n, 40), to P(up) - P(down) by the card.

    What tells of the mid is in none.
    """
    inputs = predictor.inputs(levels[None], entry)[0]
    lean = head_probability(predictor, entry, head=head, label=UP, less=DOWN)
    values = eight_gradients(lean, inputs, mean.to(inputs.device))
    places = np.array(price_columns(predictor.transform))
    return np.stack([values[:, (places == column) & (places != MID)].sum(axis=1) for column in COLUMNS], axis=1)


def eight_gradients(function: ScalarFunction, inputs: Tensor, mean: Tensor) -> FloatArray:
    """(steps, inputs): the contribution of each input, from the mean, by Gauss and Legendre's quadrature of the gradient."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    shares = torch.as_tensor((nodes + 1) / 2, dtype=inputs.dtype, device=inputs.device)[:, None, None]
    line = (mean + shares * (inputs - mean)).requires_grad_()
    (gradients,) = torch.autograd.grad(function(line).sum(), line)
    parts = torch.as_tensor(weights / 2, dtype=inputs.dtype, device=inputs.device)[:, None, None]
    return np.asarray(((gradients * parts).sum(dim=0) * (inputs - mean)).detach().cpu().numpy(), dtype=np.float64)


class LightKeeper:
    """The newest light of each session and head; one is computed at a time, and none where nobody asks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # by session and head, the light and the time at which the next one is due
        self._kept: weakref.WeakKeyDictionary[Any, dict[int, tuple[float, WindowLight]]] = weakref.WeakKeyDictionary()
        self._markets: weakref.WeakKeyDictionary[Any, MarketLight] = weakref.WeakKeyDictionary()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="light")
        self._busy = False
        self._rests_until = 0.0

    async def newest(self, session: Any, head: int) -> WindowLight | None:
        """The light of a session's newest window: computed anew where it is due and the processor is free.

        It is due so late that the next one, where that takes as long as this one did, comes before this one is too old.

        Args:
            session: has `newest_window(head)`, which returns None where there is no whole window.
        """
        kept = self._kept.setdefault(session, {})
        began = self._clock()
        known = kept.get(head)
        if self._busy or began < self._rests_until or (known is not None and began < known[0]):
            return known[1] if known is not None else None
        self._busy = True
        try:
            light, work = await asyncio.get_running_loop().run_in_executor(self._pool, self._explain, session, head)
            self._rests_until = began + work / MOST
        finally:
            self._busy = False
        if light is None:
            kept.pop(head, None)
        else:
            kept[head] = began + max(EVERY_S, FRESH_S - SENDING_S - (self._clock() - began)), light
        return light

    async def without(self, session: Any, head: int, place: Place) -> dict[str, Any] | None:
        """The answer without what rests at a price, for a browser: see `core.market.reasons.without_order`; in turns.

        None where there is no whole window.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, _without, session, head, place)

    def _explain(self, session: Any, head: int) -> tuple[WindowLight | None, float]:
        """The light, and the seconds that the processor worked for it."""
        began = time.thread_time()
        newest: NewestWindow | None = session.newest_window(head)
        if newest is None:
            return None, 0.0
        known = self._kept[session].get(head)
        if known is not None and known[1].timestamp == newest.timestamps[-1]:  # paused
            return known[1], 0.0
        if session not in self._markets:
            self._markets[session] = MarketLight(newest.predictor, newest.entry)
        return self._markets[session].explain(newest), time.thread_time() - began


def _without(session: Any, head: int, place: Place) -> dict[str, Any] | None:
    newest: NewestWindow | None = session.newest_window(head)
    if newest is None:
        return None
    one = without_order(newest.predictor, newest.entry, newest.window, place, head=head, recalibrate=newest.recalibrate)
    answers = {"before": one.before.tolist(), "after": one.after.tolist()}
    return {"head": head, "time": int(newest.timestamps[-1]), "price": place[0], **asdict(one), **answers}


@cache
def keeper() -> LightKeeper:
    """The keeper of this process."""
    return LightKeeper()
