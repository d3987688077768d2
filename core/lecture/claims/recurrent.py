"""Claims of the lesson on recurrent cells: about states, gates and gradients through time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture.claims import Claim
from core.lecture.recurrence import Array, ThroughTime
from core.messages import compose

BEYOND: Final = 0.9
"""A state beyond it, up or down, counts as one at the end of its range."""


@dataclass(frozen=True, kw_only=True)
class States:
    """An RNN's states (time, hidden) and its weights from state to state."""

    h: Array
    back: Array


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit's forget and input gate through time; `number` counts from 1."""

    number: int
    forget: Array
    entering: Array


def powers(norms: Array) -> float:
    """Powers of ten that a line falls by from the last step to the first; endless where nothing reaches the first."""
    return math.log10(norms[-1] / norms[0]) if norms[0] > 0 < norms[-1] else math.inf


RNN: Final = (
    Claim[States](
        "mixes",
        lambda states: bool(states.back.any()),
        lambda states: compose(
            "Each step mixes the state before with the input and squashes the sum: {count} of the {all} numbers of h lie beyond "
            "±{limit:g}.",
            count=int((np.abs(states.h) > BEYOND).sum()), all=states.h.size, limit=BEYOND,
        ),
    ),
    Claim[States](
        "forgets",
        lambda states: not states.back.any(),
        lambda _states: compose("All recurrent weights are 0: a state knows its own step's input and nothing of the one before."),
    ),
)  # fmt: skip
LSTM: Final = (
    Claim[Unit](
        "gates",
        lambda _unit: True,
        lambda unit: compose(
            "In unit {unit}, f lies between {f_low:.2f} and {f_high:.2f} and i between {i_low:.2f} and {i_high:.2f}; of a number "
            "in its cell at the first step the forget gates leave {kept:.2g} at the last.",
            unit=unit.number, f_low=float(unit.forget.min()), f_high=float(unit.forget.max()),
            i_low=float(unit.entering.min()), i_high=float(unit.entering.max()), kept=float(np.prod(unit.forget[1:])),
        ),
    ),
)  # fmt: skip
GRADIENT: Final = (
    Claim[ThroughTime](
        "rnn cut",
        lambda back: back.rnn[0] == 0,
        lambda _back: compose("Nothing of the RNN's gradient reaches the first step."),
    ),
    Claim[ThroughTime](
        "rnn falls",
        lambda back: 0 < powers(back.rnn) < math.inf,
        lambda back: compose(
            "Over {steps} steps the RNN's line falls by {powers:.1f} powers of ten.",
            steps=len(back.rnn), powers=powers(back.rnn),
        ),
    ),
    Claim[ThroughTime](
        "rnn rises",
        lambda back: powers(back.rnn) <= 0,
        lambda back: compose(
            "Over {steps} steps the RNN's line rises by {powers:.1f} powers of ten.",
            steps=len(back.rnn), powers=-powers(back.rnn),
        ),
    ),
    Claim[ThroughTime](
        "lstm",
        lambda back: back.lstm[0] > 0 < back.lstm[-1],
        lambda back: compose(
            "The LSTM's first norm is 10 to the power of {lstm:.1f} times its last, the product of its forget gates (dashed) 10 "
            "to the power of {gates:.1f}: the gates pass on the cell, and what the state does to the gates comes on top.",
            lstm=-powers(back.lstm), gates=math.log10(back.forget[0]),
        ),
    ),
    Claim[ThroughTime](
        "attention",
        lambda back: back.attention.max() > 0,
        lambda back: compose(
            "Attention is one hop from every step: its smallest norm is {share:.2g} of its largest.",
            share=float(back.attention.min() / back.attention.max()),
        ),
    ),
)  # fmt: skip
