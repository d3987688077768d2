"""Numbers in the answers to the questions at the end of each lesson, each computed by the code that the lesson is about."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Final

import numpy as np
import torch
from torch import nn

from core.lecture import activations, attention_steps, cost, permutation, positions, recurrence, tokens
from core.lecture import gradients as written_gradients
from core.lecture.optimisers import Adam, clip_by_norm
from core.messages import translate
from core.nn import causal_mask
from core.signs import ctc, ctc_lab, metrics
from core.signs.vocabulary import BLANK_NAME

Numbers = dict[str, float | int | str]
STEPS: Final = 40


def _recurrent() -> Numbers:
    rnn, lstm = recurrence.random_rnn(1), recurrence.random_lstm(1)
    return {
        "steps": STEPS,
        "kept_90": 0.9**STEPS,
        "kept_99": 0.99**STEPS,
        "hidden": recurrence.HIDDEN,
        "rnn": sum(one.size for name, one in rnn.items() if name not in ("W_hy", "b_y")),
        "lstm": sum(one.size for one in lstm.values()),
    }


def _softmax(scores: list[float], temperature: float = 1.0) -> list[float]:
    return [float(one) for one in activations.softmax(torch.tensor(scores, dtype=torch.float64) / temperature)]


def _attention() -> Numbers:
    warm, cold = _softmax([2, 1, 0]), _softmax([2, 1, 0], 0.1)
    return {
        "sixth": 1 / 6,
        "ln6": math.log(6),
        "width": 64,
        "spread": math.sqrt(64.0),
        "warm1": warm[0],
        "warm2": warm[1],
        "warm3": warm[2],
        "cold1": cold[0],
        "cold2": cold[1],
    }


def _heads() -> Numbers:
    layer = nn.MultiheadAttention(512, 8, bias=False)
    x, weights = tokens.embed([str(index) for index in range(10)], 8), attention_steps.random_weights(8)
    one, four = (int(attention_steps.steps(x, weights, heads=heads).weights.size) for heads in (1, 4))
    return {"parameters": sum(one.numel() for one in layer.parameters()), "one": one, "four": four}


def _permutation() -> Numbers:
    words = translate(permutation.SENTENCE).split()  # those of the page in the reader's language
    x, weights = tokens.embed(words, 4), attention_steps.random_weights(4)
    orders = list(permutations(range(len(words))))
    means = {tuple(np.round(permutation.pooled(attention_steps.steps(x[list(order)], weights).joined), 9)) for order in orders}
    backwards = list(range(len(words)))[::-1]
    masked = permutation.shuffle(x, weights, backwards, causal="fixed")
    return {"orders": len(orders), "means": len(means), "off": masked.rows, "sentence": " ".join(words)}


def _positions() -> Numbers:
    place = positions.encoding(64, 32)
    still = {doubled: positions.still_channels(positions.encoding(64, 32, doubled_exponent=doubled)) for doubled in (False, True)}
    waves = positions.wavelengths(512)
    return {
        "longest": float(waves[-1]),
        "shortest": float(waves[0]),
        "self": round(float(place[7] @ place[7]), 6),
        "still": still[False],
        "doubled": still[True],
    }


def _norms() -> Numbers:
    normal = nn.functional.layer_norm(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), (3,))
    return {
        "low": float(normal[0]),
        "high": float(normal[2]),
        "scale": 1 / (1 - 0.3),
        "most": math.log(torch.finfo(torch.float32).max),
    }


def _transformer() -> Numbers:
    return {"ten": 0.9**10, "pairs": int(causal_mask(10).sum()), "all": 100}


def _backprop() -> Numbers:
    weights, upstream = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64), torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    gradient = written_gradients.softmax_gradient(weights, upstream)[0]
    x, h = torch.tensor([1.0 - 1e-4, 1.0 + 1e-4], dtype=torch.float64), 2e-4
    below, above = activations.gelu_tanh(x)
    slope = activations.gelu_tanh_derivative(torch.tensor(1.0, dtype=torch.float64))
    return {
        "g1": float(gradient[0]),
        "g2": float(gradient[1]),
        "g3": float(gradient[2]),
        "slope": float(slope),
        "gap": f"{abs(float((above - below) / h - slope)):.0e}",
    }


def _optimisers() -> Numbers:
    first = [float(-Adam().step(np.zeros(1), np.array([g]), 0.01)[0]) for g in (100.0, 0.01)]
    clipped = clip_by_norm(np.array([3.0, 4.0]), 1.0)
    return {
        "large": first[0],
        "small": first[1],
        "c1": float(clipped[0]),
        "c2": float(clipped[1]),
        "curvature": 20,
        "limit": 2 / 20,
    }


def _cost() -> Numbers:
    factor = cost.layer(256, 40, 1).macs / cost.layer(128, 40, 1).macs
    return {"crossing": round(cost.crossing_attention(512)), "mib": 12 * 1024**2 * cost.BYTES // 2**20, "factor": factor}


def _ctc() -> Numbers:
    hola, llama = [1, 2, 3, 4], [3, 3, 4, 5, 4]
    apart, merged = (ctc_lab.collapsed(path.split())[1] for path in (f"L {BLANK_NAME} L", "L L"))
    return {
        "hola": ctc.frames_needed(hola),
        "llama": ctc.frames_needed(llama),
        "paths": ctc.count_paths([1, 2], 4),
        "same": ctc.count_paths([1, 1], 4),
        "apart": " ".join(apart),
        "merged": " ".join(merged),
    }


def _metrics() -> Numbers:
    long = metrics.word_errors([["A", "B", "C", "D", "E"]], [["X"] * 12])
    two = metrics.word_errors(
        [["A"], ["A", "B", "C", "D", "E", "F", "G", "H", "I"]], [["X"], ["A", "B", "C", "D", "E", "F", "G", "H", "I"]]
    )
    short = metrics.bleu([["A", "B", "C", "D", "E"]], [["A", "B", "C"]], order=4)
    unigram = metrics.bleu([["A", "B", "C", "D", "E"]], [["A", "B", "C"]], order=1)
    return {
        "over": 100 * (long.rate or 0.0),
        "corpus": 100 * (two.rate or 0.0),
        "bleu4": 100 * short.score / 100,
        "bleu1": 100 * unigram.score / 100,
    }


_OF: Final[dict[str, Callable[[], Numbers]]] = {
    one.__name__.removeprefix("_"): one
    for one in (
        *(_recurrent, _attention, _heads, _permutation, _positions, _norms),
        *(_transformer, _backprop, _optimisers, _cost, _ctc, _metrics),
    )
}


def numbers_of(lesson: str) -> Numbers:
    """The numbers of a lesson's answers, by their name in the text; those about words are of the reader's language.

    Raises:
        KeyError: for a lesson that does not exist.
    """
    return _OF[lesson]()
