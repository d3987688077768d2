"""Claims of the lesson on recurrent cells: about gradients through time."""

from __future__ import annotations

import math
from typing import Final

from core.lecture.claims import Claim
from core.lecture.recurrence import Array, ThroughTime
from core.messages import compose


def powers(norms: Array) -> float:
    """Powers of ten that a line falls by from the last step to the first; endless where nothing reaches the first."""
    return math.log10(norms[-1] / norms[0]) if norms[0] > 0 < norms[-1] else math.inf


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
