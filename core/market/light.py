"""Light on a running market: the moments and prices that counted for the call in force, once a second at most.

Integrated gradients at eight points of the line from the window held still to the window as it is (Sundararajan et al. 2017): the
measure that reaches furthest below chance in the deletion test of the shipped model (D38), with as few points as a processor can
spare beside a live market. One window is explained at a time, for all who watch; then it rests nine times as long as that took.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.device import falls_back
from core.explain.attribution import ScalarFunction, class_probability, tlob_baseline
from core.market.book import FloatArray
from core.market.calibration import MOVING
from core.market.features import MID, price_columns
from core.market.predictor import MarketCard, Predictor

NODES: Final = 8
EVERY_S: Final = 1.0
SHARE: Final = 0.1
"""Of one core, at most, for all markets together."""


@dataclass(frozen=True, kw_only=True)
class WindowLight:
    """Contributions to the probability of the class that a head answers: positive spoke for it, negative against.

    Attributes:
        head: index of label and horizon. label: index of the class. timestamp: of the window's newest row, milliseconds.
        moments: (n,), oldest first.
        prices: (p,), rising, at which one of the ten levels of a side stood in the window; counted: (p,) what stood at each,
            summed over its moments. What tells of the mid is in none.
    """

    head: int
    label: int
    timestamp: int
    moments: NDArray[np.float32]
    prices: FloatArray
    counted: FloatArray

    def message(self) -> dict[str, Any]:
        """The light for a browser: shares of the largest contribution, in thousandths, and the largest as it is.

        Prices whose share is none are left out.
        """
        most = float(max(np.abs(self.moments).max(), 1e-12))
        shares = np.round(self.counted / max(np.abs(self.counted).max(initial=0.0), 1e-12) * 1000).astype(int)
        lit = np.flatnonzero(shares)
        return {
            "head": self.head,
            "label": self.label,
            "time": self.timestamp,
            "most": most,
            "whole": float(np.abs(self.moments).sum()),
            "moments": np.round(self.moments / most * 1000).astype(int).tolist(),
            "prices": self.prices[lit].tolist(),
            "counted": shares[lit].tolist(),
        }


@falls_back
def window_light(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, *, head: int, label: int, timestamp: int
) -> WindowLight:
    """The light of one raw window (n, 40), oldest row first, for one class of a head."""
    rule = entry.rules[head]
    inputs = predictor.inputs(levels[None], entry)[0]
    function = class_probability(
        predictor.model, label=label, output=head, temperature=rule.temperature, offsets=rule.bias * MOVING
    )
    values = eight_gradients(function, inputs)
    places = np.array(price_columns(predictor.transform))
    columns = [4 * level + side for side in (0, 2) for level in range(10)]
    parts = [values[:, (places == column) & (places != MID)].sum(axis=1) for column in columns]
    prices, at = np.unique(levels[:, columns].T, return_inverse=True)
    return WindowLight(
        head=head,
        label=label,
        timestamp=timestamp,
        moments=values.sum(axis=1),
        prices=prices,
        counted=np.bincount(at.ravel(), weights=np.concatenate(parts), minlength=len(prices)).astype(np.float64),
    )


def eight_gradients(function: ScalarFunction, inputs: torch.Tensor) -> NDArray[np.float32]:
    """(steps, inputs): the contribution of each input, by Gauss and Legendre's quadrature of the gradient."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    still = tlob_baseline(inputs)
    shares = torch.as_tensor((nodes + 1) / 2, dtype=inputs.dtype, device=inputs.device)[:, None, None]
    line = (still + shares * (inputs - still)).requires_grad_()
    (gradients,) = torch.autograd.grad(function(line).sum(), line)
    parts = torch.as_tensor(weights / 2, dtype=inputs.dtype, device=inputs.device)[:, None, None]
    return np.asarray(((gradients * parts).sum(dim=0) * (inputs - still)).detach().cpu().numpy(), dtype=np.float32)


class LightKeeper:
    """The newest light of each session and head; one is computed at a time, and none where nobody asks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: weakref.WeakKeyDictionary[Any, dict[int, tuple[float, WindowLight]]] = weakref.WeakKeyDictionary()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="light")
        self._busy = False
        self._rests_until = 0.0

    async def newest(self, session: Any, head: int) -> WindowLight | None:
        """The light of a session's newest window: computed where it is older than a second and the processor is free.

        Args:
            session: has `light(head)`, which returns None where there is no whole window.
        """
        kept = self._kept.setdefault(session, {})
        began = self._clock()
        known = kept.get(head)
        if self._busy or began < self._rests_until or (known is not None and began - known[0] < EVERY_S):
            return known[1] if known is not None else None
        self._busy = True
        try:
            light: WindowLight | None = await asyncio.get_running_loop().run_in_executor(self._pool, session.light, head)
        finally:
            self._busy = False
            done = self._clock()
            self._rests_until = done + (done - began) * (1 / SHARE - 1)
        if light is None:
            kept.pop(head, None)
        else:
            kept[head] = began, light
        return light


@cache
def keeper() -> LightKeeper:
    """The keeper of this process."""
    return LightKeeper()
