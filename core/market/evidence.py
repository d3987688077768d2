"""Importance of a window's moments to TLOB's answer: attention, rollout, gradient relevance, integrated gradients, occlusion.

The first three use the time-to-time layers alone. Feature-to-feature layers mix moments too, since their tokens are channels
whose vectors run through time, and no map shows that. So these three may miss the moment that decides (a test plants one and
they do); the last two find it. A moment is deleted by replacing every input with its mean over the window.
"""

from collections.abc import Collection
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention_light.rollout import fuse_heads, rollout
from core.device import falls_back
from core.explain.attribution import ScalarFunction, class_probability, tlob_baseline
from core.explain.erasing import mask
from core.explain.faithfulness import ExplainedInput
from core.explain.measures import explained_input
from core.explain.occlusion import without
from core.explain.relevance import attention_gradients, relevance
from core.market.book import FloatArray
from core.market.calibration import MOVING, answers_of
from core.market.predictor import MarketCard, Predictor
from core.nn import AttentionMaps

TIME: Final = "time-to-time"


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


def head_probability(
    predictor: Predictor, entry: MarketCard, *, head: int, label: int, less: int | None = None
) -> ScalarFunction:
    """One head's probability of one class by the card, less that of another where one is named, of the model's inputs."""
    rule = entry.rules[head]
    offsets = rule.bias * MOVING
    return class_probability(predictor.model, label=label, less=less, output=head, temperature=rule.temperature, offsets=offsets)


@falls_back
def explain_window(predictor: Predictor, entry: MarketCard, levels: FloatArray, *, head: int, label: int) -> ExplainedInput:
    """Importance (steps,) of a window's moments to one head's probability of one class, by every method.

    Args:
        levels: (steps, 40), one raw window, oldest row first.

    Raises:
        GradientError: where the model has no finite gradients on this window.
    """
    inputs = predictor.inputs(levels[None], entry)[0]
    still = tlob_baseline(inputs)
    parts = torch.arange(len(inputs), device=inputs.device)[:, None]
    maps = [weights for name, weights in predictor.attention(inputs[None], entry)[1].items() if name.startswith(TIME)]
    pooling = predictor.config.pooling
    return explained_input(
        head_probability(predictor, entry, head=head, label=label),
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
    """As `Predictor.attention` of a raw window (steps, 40), without some of its moments, numbered from 0."""
    return predictor.attention(inputs_without(predictor, entry, levels, mask(hidden, len(levels))), entry)


@falls_back
def answers_without(
    predictor: Predictor, entry: MarketCard, levels: FloatArray, hidden: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Probabilities (copies, heads, 3) of `inputs_without`."""
    return answers_of(entry.rules, predictor.logits(inputs_without(predictor, entry, levels, hidden)))[0]
