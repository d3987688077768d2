"""Importance of a window's moments to TLOB's answer: attention, rollout, gradient relevance, integrated gradients, occlusion.

The first three use the time-to-time layers alone. Feature-to-feature layers mix moments too, since their tokens are channels
whose vectors run through time, and no map shows that. So these three may miss the moment that decides (a test plants one and
they do); the last two find it. A moment is deleted by replacing every input with its mean over the window.
"""

import contextlib
from collections.abc import Collection, Iterator
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention_light.rollout import fuse_heads, rollout
from core.device import falls_back
from core.explain.attribution import GradientError, class_probability, tlob_baseline
from core.explain.erasing import mask
from core.explain.faithfulness import ExplainedInput
from core.explain.measures import explained_input
from core.explain.occlusion import without
from core.explain.relevance import attention_gradients, relevance
from core.market.book import STEP_MS, FloatArray
from core.market.calibration import MOVING, answers_of
from core.market.labels import STATIONARY
from core.market.predictor import MarketCard, Predictor, windows_of
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.market.windows import window_ends
from core.nn import AttentionMaps

TIME: Final = "time-to-time"
WINDOWS_PER_RECORDING: Final = 12
"""Windows that the sample takes from each bundled recording, at most."""
SPACING_S: Final = 5
"""Seconds between the windows from which the sample is drawn."""


def pooled_rows(rows: NDArray[np.floating], pooling: str) -> NDArray[np.float64]:
    """(steps, steps) -> (steps,): the row that the head reads by its pooling, the last one or the mean of all (D6)."""
    return np.asarray(rows[-1] if pooling == "last" else rows.mean(axis=0), dtype=np.float64)


@falls_back
def time_relevance(predictor: Predictor, inputs: Tensor, *, head: int, label: int) -> NDArray[np.float64]:
    """(steps,) gradient relevance of every moment for a class's logit through the time-to-time layers, without the identity.

    Args:
        inputs: (steps, 40) from `Predictor.inputs`.
    """

    def scored(x: Tensor) -> tuple[Tensor, AttentionMaps]:
        logits, maps = predictor.model(x, return_attention=True)
        chosen = logits if logits.ndim == 2 else logits[:, head]
        return chosen, {name: weights for name, weights in maps.items() if name.startswith(TIME)}

    layers, gradients = attention_gradients(scored, inputs[None], label)
    whole = relevance(layers, gradients)
    return pooled_rows(whole - np.eye(len(whole)), predictor.config.pooling)


@falls_back
def explain_window(predictor: Predictor, entry: MarketCard, levels: FloatArray, *, head: int, label: int) -> ExplainedInput:
    """Importance (steps,) of a window's moments to one head's probability of one class, by every method.

    Args:
        levels: (steps, 40), one raw window, oldest row first.

    Raises:
        GradientError: where the model has no finite gradients on this window.
    """
    rule = entry.rules[head]
    inputs = predictor.inputs(levels[None], entry)[0]
    function = class_probability(
        predictor.model, label=label, output=head, temperature=rule.temperature, offsets=rule.bias * MOVING
    )
    still = tlob_baseline(inputs)
    parts = torch.arange(len(inputs), device=inputs.device)[:, None]
    maps = [weights for name, weights in predictor.attention(levels, entry)[1].items() if name.startswith(TIME)]
    pooling = predictor.config.pooling
    return explained_input(
        function,
        inputs,
        still,
        parts,
        known={
            "attention": pooled_rows(fuse_heads(maps[-1]), pooling),
            "rollout": pooled_rows(rollout(maps), pooling),
            "relevance": time_relevance(predictor, inputs, head=head, label=label),
        },
    )


def inputs_without(predictor: Predictor, entry: MarketCard, levels: FloatArray, hidden: NDArray[np.bool_]) -> Tensor:
    """The model's inputs (copies, steps, columns) of a window (steps, 40) with moments at the inputs' mean.

    Args:
        hidden: (copies, steps), the moments of each copy whose inputs are replaced by their mean over the window.
    """
    inputs = predictor.inputs(levels[None], entry)[0]
    parts = torch.arange(len(inputs), device=inputs.device)[:, None]
    return without(inputs, tlob_baseline(inputs), parts, hidden)


@falls_back
def attention_without(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, hidden: Collection[int]
) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
    """As `Predictor.attention`, without some of the window's moments, numbered from 0."""
    return predictor.attention_of(inputs_without(predictor, entry, levels, mask(hidden, len(levels))), entry)


@falls_back
def answers_without(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, hidden: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Probabilities (copies, heads, 3) of `inputs_without`."""
    return answers_of(entry.rules, predictor.logits(inputs_without(predictor, entry, levels, hidden)))[0]


def sample(predictor: Predictor) -> Iterator[ExplainedInput]:
    """Explained inputs of windows that the first head calls UP or DOWN, spread evenly over every bundled recording.

    Windows called STATIONARY are left out: deleting makes a book stand still, so their answer could not fall.
    """
    for one in recordings():
        rows = read_market([one.path])
        entry = predictor.market(one.name)
        ends = window_ends(rows.timestamps, predictor.window)[:: SPACING_S * 1000 // STEP_MS]
        calls = predictor.predict(windows_of(rows.levels, ends, predictor.window), entry).calls[:, 0]
        moving = np.flatnonzero(calls != STATIONARY)
        for place in (
            moving[np.unique(np.linspace(0, len(moving) - 1, WINDOWS_PER_RECORDING).round().astype(int))] if len(moving) else ()
        ):
            levels = rows.levels[ends[place] - predictor.window + 1 : ends[place] + 1]
            with contextlib.suppress(GradientError):  # raw columns of a market of another price scale (D9)
                yield explain_window(predictor, entry, levels, head=0, label=int(calls[place]))
