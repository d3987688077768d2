"""Claims of the lesson on recurrent cells: about states, gates and gradients through time."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from core.lecture.claims import Said
from core.lecture.recurrence import Array, ThroughTime
from core.messages import compose

BEYOND: Final = 0.9
"""A state beyond it, up or down, counts as one at the end of its range."""


def powers(norms: Array) -> float:
    """Powers of ten that a line falls by from the last step to the first; endless where nothing reaches the first."""
    return math.log10(norms[-1] / norms[0]) if norms[0] > 0 < norms[-1] else math.inf


def rnn(h: Array, back: Array) -> Said:
    """An RNN's states (time, hidden) and its weights from state to state."""
    said: Said = {}
    if back.any():
        said["mixes"] = compose(
            "Each step takes tanh of the input's part plus the state's: {count} of the {all} numbers of h lie beyond ±{limit:g}.",
            count=int((np.abs(h) > BEYOND).sum()),
            all=h.size,
            limit=BEYOND,
        )
    else:
        said["forgets"] = compose("All recurrent weights are 0: a state depends on its own step's input alone.")
    return said


def lstm(unit: int, forget: Array, entering: Array) -> Said:
    """One unit's forget and input gate through time; units count from 1."""
    said: Said = {}
    said["gates"] = compose(
        "In unit {unit}, f lies between {f_low:.2f} and {f_high:.2f} and i between {i_low:.2f} and {i_high:.2f}; of a number "
        "in its cell at the first step the forget gates leave {kept:.2g} at the last.",
        unit=unit,
        f_low=float(forget.min()),
        f_high=float(forget.max()),
        i_low=float(entering.min()),
        i_high=float(entering.max()),
        kept=float(np.prod(forget[1:])),
    )
    return said


def gradient(back: ThroughTime) -> Said:
    """Fall and rise of the gradients' norms through time."""
    said: Said = {}
    steps, fall = len(back.rnn), powers(back.rnn)
    if back.rnn[0] == 0:
        said["rnn cut"] = compose("Nothing of the RNN's gradient reaches the first step.")
    if 0 < fall < math.inf:
        said["rnn falls"] = compose(
            "Over {steps} steps the RNN's line falls by {powers:.1f} powers of ten.", steps=steps, powers=fall
        )
    elif fall <= 0:
        said["rnn rises"] = compose(
            "Over {steps} steps the RNN's line rises by {powers:.1f} powers of ten.", steps=steps, powers=-fall
        )
    if 0 < back.matrix < 1:
        said["matrix shrinks"] = compose(
            "W_hh alone, without the slopes 1 − h² of the units, would let it fall by {powers:.1f} powers of ten.",
            powers=-math.log10(back.matrix),
        )
    elif back.matrix >= 1:
        said["matrix stretches"] = compose(
            "W_hh alone, without the slopes 1 − h² of the units, would let it rise by {powers:.1f} powers of ten.",
            powers=math.log10(back.matrix),
        )
    if back.lstm[0] > 0 < back.lstm[-1]:
        said["lstm"] = compose(
            "The LSTM's first norm is 10 to the power of {lstm:.1f} times its last, the product of its forget gates (dashed) 10 "
            "to the power of {gates:.1f}: the gates pass on the cell, and what the state does to the gates comes on top.",
            lstm=-powers(back.lstm),
            gates=math.log10(back.forget[0]),
        )
    if back.attention.max() > 0:
        said["attention"] = compose(
            "Attention reads every step directly: its smallest norm is {share:.2g} of its largest.",
            share=float(back.attention.min() / back.attention.max()),
        )
    return said
