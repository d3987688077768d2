"""Reasons of a forecast: six named groups of a window's inputs, and how far each moves the answer up or down.

A group is put back to its own mean of the last hour, age by age, while all others stay. What P(up) - P(down) loses by that is
what the group gives it. The groups are a partition: five of the newest eight seconds, and all that is older.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.device import falls_back
from core.explain.faithfulness import FOLDER, read_measured
from core.explain.occlusion import without
from core.market.book import ASK_SIZES, BID_SIZES, FEATURES, PRICES, SIZES, STEP_MS, FloatArray
from core.market.features import SIDE_COLUMNS, TransformKind, about_the_mid, input_names
from core.market.labels import DOWN, UP
from core.market.predictor import MarketCard, Predictor, names_it, windows_of
from core.market.windows import window_ends

GROUPS: Final = ("touch", "near_ask", "near_bid", "far", "drift", "older")
"""Level 1; levels 2 to 5 of each side; levels 6 to 10 of both; the mid's course; all before the newest `RECENT_MS`."""
TOUCH, NEAR_ASK, NEAR_BID, FAR, DRIFT, OLDER = range(len(GROUPS))
RECENT_MS: Final = 8_000
NEAR_LEVELS: Final = 5
"""The last level that is near."""
HOUR_MINUTES: Final = 60
EVERY_MS: Final = 5_000
"""Between two windows of the mean."""
FEWEST: Final = 6
"""Windows of a mean, below which there is none."""
SLIGHT: Final = 0.1
"""A group's sizes or drift within this of their mean are as usual; in the inputs' unit, the market's own spread of them."""

Recalibrate = Callable[[Sequence[float]], Sequence[float]]
"""A head's three probabilities as predicted -> as shown."""
Place = tuple[float, float]
"""A price row of the ladder: its price, and the step that it stands for."""


@cache
def group_of_columns(kind: TransformKind) -> tuple[int, ...]:
    """Group of each input column in the newest seconds."""
    names = input_names(kind)
    mid = {*about_the_mid(kind), *(i for i, name in enumerate(names) if name.endswith(("_DRIFT", "_MOVE2")))}
    if kind == "drift":  # the prices of its first two levels are distances from their own means
        mid |= {i for i, name in enumerate(FEATURES) if name[4] == "P" and int(name[5:]) <= 2}
    return tuple(DRIFT if column in mid else _group_of_book(name) for column, name in enumerate(names))


def _group_of_book(name: str) -> int:
    level = 1 if name in SIDE_COLUMNS else int(name[5:])
    if level > NEAR_LEVELS:
        return FAR
    return TOUCH if level == 1 else NEAR_ASK if name.startswith("ASK") else NEAR_BID


def group_parts(kind: TransformKind, steps: int) -> Tensor:
    """(steps, columns) group of every input of a window, as `core.explain.occlusion.without` takes its parts."""
    columns = torch.tensor(group_of_columns(kind))
    age = torch.arange(steps - 1, -1, -1)[:, None]
    return torch.where(age * STEP_MS < RECENT_MS, columns[None], torch.tensor(OLDER))


class UsualInputs:
    """The mean inputs of a market's windows over the last hour, by age and column, from windows `EVERY_MS` apart."""

    def __init__(self, predictor: Predictor, entry: MarketCard) -> None:
        self._predictor, self._entry = predictor, entry
        self._minutes: dict[int, tuple[Tensor, int]] = {}  # sum of the inputs, and how many windows
        self._last_ms = 0

    def follow(self, timestamps: NDArray[np.int64], levels: FloatArray) -> None:
        """Take in what is new among these rows (n,), (n, 40); rows that end before those known begin anew."""
        if len(timestamps) and timestamps[-1] < self._last_ms:
            self._minutes, self._last_ms = {}, 0
        window = self._predictor.window
        ends = window_ends(timestamps, window)
        when = timestamps[ends]
        ends = ends[(when % EVERY_MS == 0) & (when > self._last_ms)]
        for end in ends.tolist():
            inputs = self._predictor.inputs(windows_of(levels, [end], window), self._entry)[0].double().cpu()
            self._last_ms = int(timestamps[end])
            total, count = self._minutes.get(self._last_ms // 60_000, (torch.zeros_like(inputs), 0))
            self._minutes[self._last_ms // 60_000] = total + inputs, count + 1
        newest = self._last_ms // 60_000
        self._minutes = {minute: sums for minute, sums in self._minutes.items() if minute > newest - HOUR_MINUTES}

    @property
    def count(self) -> int:
        """Windows of the mean."""
        return sum(count for _, count in self._minutes.values())

    @property
    def minutes(self) -> int:
        """Minutes that the mean is of, begun ones included."""
        return len(self._minutes)

    def mean(self) -> Tensor | None:
        """(steps, columns) float32; None below `FEWEST` windows."""
        if self.count < FEWEST:
            return None
        return (torch.stack([total for total, _ in self._minutes.values()]).sum(dim=0) / self.count).float()


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Grounds of a head's answer on one window.

    Attributes:
        lean: P(up) - P(down), as shown. usual: the same with all groups at their mean.
        gives: (groups,) how much of it goes with each group; above 0 it speaks for up.
        states: (groups,) -1, 0 or 1: of the near groups lighter than usual, as usual, heavier; of touch and far depth whether
            sizes lean to the asks or to the bids more than usual; of drift whether the mid fell or rose. 0 of what is older.
    """

    lean: float
    usual: float
    gives: FloatArray
    states: tuple[int, ...]


@falls_back
def window_reasons(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, mean: Tensor, *, head: int, recalibrate: Recalibrate
) -> Reasons:
    """The reasons of a head's answer on one raw window (n, 40), oldest row first, against the mean (n, columns)."""
    inputs = predictor.inputs(levels[None], entry)[0]
    mean = mean.to(inputs.device)
    count = len(GROUPS)
    hidden = np.concatenate([np.eye(count, dtype=bool), np.zeros((1, count), dtype=bool), np.ones((1, count), dtype=bool)])
    copies = without(inputs, mean, group_parts(predictor.transform, len(inputs)).to(inputs.device), hidden)
    shown = shown_answers(predictor, entry, copies, head=head, recalibrate=recalibrate)
    *alone, lean, at_mean = shown[:, UP] - shown[:, DOWN]
    away = (inputs - mean)[-(RECENT_MS // STEP_MS) :].mean(dim=0).cpu().numpy()
    return Reasons(
        lean=float(lean), usual=float(at_mean), gives=lean - np.array(alone), states=_states(away, predictor.transform)
    )


def shown_answers(predictor: Predictor, entry: MarketCard, inputs: Tensor, *, head: int, recalibrate: Recalibrate) -> FloatArray:
    """(n, 3): the probabilities of a head, as shown, of inputs (n, steps, columns)."""
    written = entry.rules[head].probabilities(predictor.logits(inputs)[:, head])
    return np.array([recalibrate(p) for p in written.tolist()])


def _states(away: NDArray[np.floating], kind: TransformKind) -> tuple[int, ...]:
    """`Reasons.states`, from how far the newest inputs (columns,) are from their mean."""
    groups = np.array(group_of_columns(kind))
    book = np.zeros(len(groups))
    book[: len(FEATURES)][ASK_SIZES], book[: len(FEATURES)][BID_SIZES] = -1, 1
    near, sides = np.abs(book), book
    kinds = {TOUCH: sides, NEAR_ASK: near, NEAR_BID: near, FAR: sides, DRIFT: np.ones(len(groups)), OLDER: np.zeros(len(groups))}
    means = []
    for group, weights in kinds.items():
        here = weights * (groups == group)
        means.append(float((here * away).sum() / max(np.abs(here).sum(), 1.0)))
    return tuple(int(np.sign(value)) if abs(value) > SLIGHT else 0 for value in means)


@dataclass(frozen=True, kw_only=True)
class WithoutOrder:
    """A head's answer with and without what rests at a price beyond its neighbours.

    Attributes:
        size, left: at the price on the newest row, before and after; 0 where nothing rests there.
        rows: of the window in which something was cut. before, after: (3,) probabilities as shown.
    """

    size: float
    left: float
    rows: int
    before: FloatArray
    after: FloatArray


@falls_back
def without_order(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, place: Place, *, head: int, recalibrate: Recalibrate
) -> WithoutOrder:
    """Asks a head again, with the sizes at a price cut to the mean of their neighbours in a raw window (n, 40).

    Args:
        place: see `cut_to_neighbours`.
    """
    cut = cut_to_neighbours(levels, *place)
    inputs = predictor.inputs(np.stack([levels, cut]), entry)
    before, after = shown_answers(predictor, entry, inputs, head=head, recalibrate=recalibrate)
    at = _at_price(levels[-1:], *place)[0]
    return WithoutOrder(
        size=float(levels[-1, SIZES][at].sum()),
        left=float(cut[-1, SIZES][at].sum()),
        rows=int((cut != levels).any(axis=1).sum()),
        before=before,
        after=after,
    )


def cut_to_neighbours(levels: FloatArray, price: float, step: float) -> FloatArray:
    """Rows (n, 40) in which no size at a price is above the mean of the nearest levels of its side that stand elsewhere.

    A price row of the ladder holds asks above `price - step` up to `price`, and bids from `price` to below `price + step`.
    """
    cut, at = levels.copy(), _at_price(levels, price, step)
    for side in (0, 1):
        here, sizes = at[:, side::2], cut[:, 2 * side + 1 :: 4]
        for row in np.flatnonzero(here.any(axis=1) & ~here.all(axis=1)).tolist():
            first, last = np.flatnonzero(here[row])[[0, -1]].tolist()
            beside = [sizes[row, k] for k in (first - 1, last + 1) if 0 <= k < here.shape[1]]
            sizes[row, first : last + 1] = np.minimum(sizes[row, first : last + 1], np.mean(beside))
    return cut


def _at_price(levels: FloatArray, price: float, step: float) -> NDArray[np.bool_]:
    """(n, 20), ask and bid of each level: whether it stands at the price row."""
    away = (levels[:, PRICES] - price) / step * np.tile([-1, 1], levels.shape[1] // 4)
    return np.asarray((away > -1e-6) & (away < 1 - 1e-6))


@dataclass(frozen=True, kw_only=True)
class MarketTest:
    """The deletion test of one market.

    `python -m lab.bundle.reasons` wrote the file at commit 8c6e8d09; of other weights nothing is said.

    Attributes:
        name: venue and symbol. windows: that were tested, none of which overlap.
        areas: by head, the area below that of all orders when the groups go by what they give, and the bounds of its 95 %
            interval, NaN for fewer than two windows; where the whole interval lies above 0 they beat chance.
    """

    name: str
    windows: int
    areas: tuple[tuple[float, float, float], ...]


def measured_test(spelling: str, checkpoint: str, weights_sha256: str, *, folder: Path = FOLDER) -> MarketTest | None:
    """The test of the market that a feed's key and symbol name; of spot and perpetual the one whose name says more.

    None where it was not tested with these weights.

    Raises:
        FindingError: where the checkpoint's file is damaged.
    """

    def tests(values: dict[str, Any]) -> list[MarketTest]:
        markets = values["markets"] if values["weights_sha256"] == weights_sha256 else ()
        return [
            MarketTest(
                name=str(one["name"]),
                windows=int(one["windows"]),
                areas=tuple((float(mean), float(low), float(high)) for mean, low, high in one["areas"]),
            )
            for one in markets
        ]

    path = folder / f"reasons_{checkpoint}.json"
    found = read_measured(path, tests, f"git checkout assets/explain/{path.name}") or []
    named = [one for one in found if all(names_it(spelling, word) for word in one.name.split())]
    return max(named, key=lambda one: len(one.name), default=None)
