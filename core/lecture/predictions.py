"""True answers to questions about what a view will show once one thing is changed; computed from the view's own state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.explain.summaries import strongest
from core.lecture import attention_steps, backprop, cost_growth, norms, optimisers
from core.lecture import permutation as shuffles
from core.lecture import positions as places
from core.lecture.attention_steps import Steps
from core.lecture.norms import Norm
from core.lecture.optimisers import OPTIMISERS, SurfaceName
from core.lecture.permutation import Causal
from core.lecture.recurrence import Weights, gradients_through_time, scale_weight, shift_weight

Array = NDArray[np.float64]
Trend = Literal["rises", "stays", "falls"]
TRENDS: tuple[Trend, ...] = ("rises", "stays", "falls")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a change that a reader is asked to predict.

    Attributes:
        answer: place of the true option, from 0. tied: places of others that are as true (two keys of the same word).
        options: the numbers to choose from, where they are numbers. values: numbers that show why.
    """

    answer: int
    tied: tuple[int, ...] = ()
    options: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


def trend(before: float, after: float, *, tolerance: float = 1e-6) -> int:
    """Place in TRENDS; changes within the tolerance, relative to the larger size, are none."""
    if abs(after - before) <= tolerance * max(abs(before), abs(after), 1e-12):
        return 1
    return 0 if after > before else 2


def among(true: int, others: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The true number and up to three others that differ from it, in order, and the true one's place."""
    options = sorted({true, *[one for one in dict.fromkeys(others) if one != true and one >= 0][:3]})
    return tuple(options), options.index(true)


def _tied(values: Sequence[float], best: float) -> tuple[int, ...]:
    """Places after the first whose value is the best, up to rounding."""
    return tuple(place for place, one in enumerate(values) if one == best or math.isclose(one, best, rel_tol=1e-9))[1:]


def largest_weight(
    steps: Steps, weights: dict[str, Array], *, temperature: float, head: int, query: int
) -> tuple[int, float, float, float, float]:
    """A query's first key, its weight now and at another temperature, and the row's entropy now and then."""
    then = attention_steps.steps(steps.x, weights, heads=len(steps.q), mask=steps.mask, temperature=temperature)
    key = strongest(steps.weights[head, query], 1)[0][0]
    return (
        key,
        float(steps.weights[head, query, key]),
        float(then.weights[head, query, key]),
        float(steps.entropy[head, query]),
        float(then.entropy[head, query]),
    )


def doubled_row(steps: Steps, weights: dict[str, Array], *, head: int, query: int) -> Outcome:
    """By what a token's score with itself grows as the token is doubled; values: the score now and then."""
    x = steps.x.copy()
    x[query] *= 2
    then = attention_steps.steps(x, weights, heads=len(steps.q), temperature=steps.temperature)
    values = float(steps.scaled[head, query, query]), float(then.scaled[head, query, query])
    options, answer = among(round(values[1] / values[0]) if values[0] else 1, (1, 2, 4))
    return Outcome(answer=answer, options=options, values=values)


def outputs_moved(steps: Steps, *, head: int, key: int) -> int:
    """Counts the queries whose output changes as one key's value is doubled."""
    return int((np.abs(steps.weights[head, :, key, None] * steps.v[head, key]) > 1e-12).any(axis=1).sum())


def rows_changed(x: Array, weights: Array, row: int) -> int:
    """Counts the rows of X W that differ once the first entry of one row of X is raised by 1."""
    changed = x.copy()
    changed[row, 0] += 1
    return int((np.abs(changed @ weights - x @ weights).max(axis=1) > 1e-12).sum())


def weights_counted(steps: Steps, weights: dict[str, Array], heads: int) -> int:
    """Counts the attention weights that the layer computes with so many heads."""
    return int(attention_steps.steps(steps.x, weights, heads=heads, mask=steps.mask).weights.size)


def read_backwards(x: Array, weights: dict[str, Array], *, heads: int, positions: bool, causal: Causal) -> Outcome:
    """Compares reading the words backwards: 0 neither rows nor mean, 1 the rows alone, 2 both; values: both differences."""
    shuffle = shuffles.shuffle(x, weights, list(range(len(x)))[::-1], heads=heads, positions=positions, causal=causal)
    answer = 0 if shuffle.equivariant else 1 if shuffle.invariant else 2
    return Outcome(answer=answer, values=(shuffle.rows, shuffle.pool))


def still_channels(length: int, width: int, *, base: float, now: int) -> Outcome:
    """Counts the channels that hardly change with this base, among other numbers; values: the longest wave."""
    true = places.still_channels(places.encoding(length, width, base=base))
    options, answer = among(true, [now, 0, width // 2, width // 4, width])
    return Outcome(answer=answer, options=options, values=(float(places.wavelengths(width, base=base)[-1]),))


def most_alike(matrix: Array, pos: int) -> Outcome:
    """Finds which of three other positions has the largest dot product with this one; values: the products."""
    length = len(matrix)
    others = tuple(sorted({(pos + step) % length for step in (1, length // 4, length // 2)} - {pos}))
    products = places.dot_products(matrix)[pos]
    values = tuple(float(products[other]) for other in others)
    return Outcome(answer=int(np.argmax(values)), options=others, values=values)


def reach(
    x: Array, rnn: Weights, lstm: Weights, *, cell: Literal["rnn", "lstm"], factor: float = 1.0, shift: float = 0.0, seed: int = 0
) -> Outcome:
    """Tells whether a cell's gradient reaches farther back once W_hh is scaled, or the forget bias moved; values: steps."""
    now = gradients_through_time(x, rnn, lstm, seed=seed).steps_remembered(cell)
    moved = gradients_through_time(
        x, scale_weight(rnn, "W_hh", factor), shift_weight(lstm, "b_f", shift), seed=seed
    ).steps_remembered(cell)
    return Outcome(answer=trend(now, moved), values=(now, moved))


def tripled(norm: Norm, *, level: float, sample: int, step: int, channel: int) -> Outcome:
    """Compares the size of one normalised number once every number of its sample is tripled; values: now and then."""
    x = norms.example_batch(level=level)
    changed = x.clone()
    changed[sample] *= 3
    at = (sample, step, channel)
    now, then = float(norms.normalise(x, norm)[at]), float(norms.normalise(changed, norm)[at])
    return Outcome(answer=trend(abs(now), abs(then), tolerance=0.01), values=(now, then))


def slope_at(name: str, x: float) -> Outcome:
    """Sign of an activation's slope: 0 positive, 1 zero to 3 decimals, 2 negative; values: the slope."""
    from core.lecture.activations import compared

    slope = compared(name, x)["derivative"]
    return Outcome(answer=1 if abs(slope) < 5e-4 else 0 if slope > 0 else 2, values=(slope,))


def softmax_after(shift: float) -> Outcome:
    """Compares the plain softmax once so much is added to every score: 0 the same weights, 1 other numbers, 2 not a number."""
    _x, safe, plain = norms.softmax_pair(shift)
    answer = 2 if np.isnan(plain).any() else 0 if np.allclose(safe, plain, atol=1e-4) else 1
    return Outcome(answer=answer, values=(shift,))


def dropped_mean(rate: float) -> Outcome:
    """The mean of ones after dropout, nearest to 1 - rate, 1, or 1 / (1 - rate); values: the measured mean."""
    mean = float(norms.dropout_example(rate).means.mean())
    return Outcome(answer=int(np.argmin(np.abs(np.array([1 - rate, 1.0, 1 / (1 - rate)]) - mean))), values=(mean,))


@lru_cache(maxsize=64)
def lowest_loss(surface: SurfaceName, *, rate: float, decay: float, step: int, clip: float | None = None) -> Outcome:
    """The optimiser with the lowest loss after so many steps at a rate, in the order of OPTIMISERS; values: the losses."""
    on, constant = optimisers.SURFACES[surface], optimisers.constant(rate)
    walks = optimisers.surface_walks(on, steps=step, rate=constant, decay=decay, clip=clip)
    losses = [float("inf") if walks[name].diverged else float(walks[name].losses[-1]) for name in OPTIMISERS]
    return Outcome(answer=int(np.argmin(losses)), tied=_tied(losses, min(losses)), values=tuple(losses))


def highest_rate(rates: dict[str, Any], step: int) -> Outcome:
    """The schedule with the highest rate at a step, in the order given; values: the rates."""
    values = tuple(float(one[step]) for one in rates.values())
    return Outcome(answer=int(np.argmax(values)), tied=_tied(values, max(values)), values=values)


def doubled_tokens(tokens: int, width: int, heads: int) -> Outcome:
    """Growth of a layer's multiply-adds as T doubles: 0 less than 2.5, 2 more than 3.5, else 1; values: the factor."""
    now, then = (cost_growth.layer(count, width, heads).macs for count in (tokens, 2 * tokens))
    factor = then / now
    return Outcome(answer=0 if factor < 2.5 else 2 if factor > 3.5 else 1, values=(factor,))


def doubled_heads(tokens: int, width: int, heads: int) -> Outcome:
    """By how much the attention maps' memory grows as the heads double: the factor among 1, 2 and 4."""
    now, then = (cost_growth.layer(tokens, width, count).maps for count in (heads, 2 * heads))
    options, answer = among(round(then / now), (1, 2, 4))
    return Outcome(answer=answer, options=options, values=(float(now), float(then)))


def largest(amounts: Sequence[float]) -> Outcome:
    """Finds the largest of these; values: it and the sum."""
    best = max(amounts)
    places = [place for place, one in enumerate(amounts) if one == best]
    return Outcome(answer=places[0], tied=tuple(places[1:]), values=(float(best), float(sum(amounts))))


def moved_gradient(part: backprop.Part, name: str, *, rows: int, seed: int, first: float, to: float, causal: bool) -> Outcome:
    """Compares the outlined entry of a gradient once the input's first entry moves; values: the entry now and then."""
    now, then = (
        float(backprop.example(part, rows=rows, seed=seed, first=one, causal=causal).written[name][0, 0]) for one in (first, to)
    )
    return Outcome(answer=trend(now, then, tolerance=1e-9), values=(now, then))


def looked_at(weights: Array, *, most: int = 4) -> tuple[list[int], int]:
    """The places that a row of weights looks at most, in the order of the text, and which of them is first."""
    best = [int(place) for place in np.argsort(-weights)[:most]]
    places = sorted(best)
    return places, places.index(best[0])
