"""A small real task for the optimisers: logistic regression on a recorded order book.

The target is whether the mean mid-price of the next 5 seconds lies above the mid now, from ten present and past
inputs; rows where it is equal are left out. The last fifth of the recording is held out, with a gap of the 5 seconds before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.lecture.optimisers import Array, OptimiserName, OptimiserWalk, Rate, make_optimiser, walk
from core.market.book import BookError
from core.messages import compose

AHEAD: Final = 20
"""Steps of 250 ms."""
LOOK_BACK: Final = 60
BATCH: Final = 64
INPUTS: Final = (
    "imbalance 1", "imbalance 2", "imbalance 3", "imbalance 4", "imbalance 5", "spread", "move 1 s", "move 5 s", "move 15 s",
    "constant",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BookTask:
    """Inputs (n, 10), standardised on the training part, and targets (n,), 1 for up; the held-out part beside it."""

    inputs: Array
    targets: Array
    test_inputs: Array
    test_targets: Array

    @property
    def majority(self) -> float:
        """Held-out accuracy of always answering the training part's majority class."""
        return float((self.test_targets == float(self.targets.mean() >= 0.5)).mean())


def book_task(levels: NDArray[np.floating], timestamps: NDArray[np.int64]) -> BookTask:
    """The task from a market's rows.

    Args:
        levels: (rows, 40) ASK_P1, ASK_V1, BID_P1, BID_V1, ASK_P2, ... on the 250 ms grid.
        timestamps: (rows,) ms; rows around a gap are left out.

    Raises:
        BookError: where too few rows are left.
    """
    book = np.asarray(levels, dtype=np.float64)
    mid = (book[:, 0] + book[:, 2]) / 2
    rows = np.arange(LOOK_BACK, len(mid) - AHEAD)
    whole = timestamps[rows + AHEAD] - timestamps[rows - LOOK_BACK] == 250 * (AHEAD + LOOK_BACK)
    total = np.concatenate([[0.0], np.cumsum(mid)])
    ahead = (total[rows + AHEAD + 1] - total[rows + 1]) / AHEAD - mid[rows]
    rows, ahead = rows[whole & (ahead != 0)], ahead[whole & (ahead != 0)]
    if len(rows) < 200:
        raise BookError(compose("{count} rows with a move are too few for the task: it takes 200 or more", count=len(rows)))
    asks, bids = book[rows, 1:20:4], book[rows, 3:20:4]
    imbalance = (bids - asks) / (bids + asks)
    spread = (book[rows, 0] - book[rows, 2]) / mid[rows]
    moves = np.stack([mid[rows] / mid[rows - back] - 1 for back in (4, 20, 60)], axis=1)
    x = np.column_stack([imbalance, spread, moves, np.ones(len(rows))])
    y = (ahead > 0).astype(np.float64)
    cut = int(0.8 * len(rows))
    train = rows < rows[cut] - AHEAD
    mean, std = x[train].mean(axis=0), x[train].std(axis=0)
    mean[-1], std = 0.0, np.where(std > 0, std, 1.0)
    x = (x - mean) / std
    return BookTask(inputs=x[train], targets=y[train], test_inputs=x[cut:], test_targets=y[cut:])


def loss(theta: Array, inputs: Array, targets: Array) -> float:
    """Mean cross-entropy of sigma(x theta), in nats: log(1 + e^z) - y z."""
    z = inputs @ theta
    return float((np.logaddexp(0, z) - targets * z).mean())


def gradient(theta: Array, inputs: Array, targets: Array) -> Array:
    """x^T (sigma(x theta) - y) / n."""
    probability = 0.5 * (1 + np.tanh(0.5 * (inputs @ theta)))
    return inputs.T @ (probability - targets) / len(inputs)


def accuracy(theta: Array, inputs: Array, targets: Array) -> float:
    """Share of rows whose class is predicted correctly at a threshold of one half."""
    return float(((inputs @ theta > 0) == (targets > 0.5)).mean())


def learn(task: BookTask, name: OptimiserName, *, steps: int, rate: Rate, decay: float = 0.0) -> OptimiserWalk:
    """Train from zero weights on random mini-batches; the losses are over the whole training part."""
    picks = np.random.default_rng(0).integers(len(task.inputs), size=(steps, BATCH))
    return walk(
        lambda theta: loss(theta, task.inputs, task.targets),
        lambda theta, step: gradient(theta, task.inputs[picks[step]], task.targets[picks[step]]),
        np.zeros(task.inputs.shape[1]),
        make_optimiser(name, decay=decay),
        steps=steps,
        rate=rate,
    )
