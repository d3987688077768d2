"""Diagrams of the RNN's and the LSTM's cell and of both unrolled (sequence-modelling, the figures of its first two sections)."""

from __future__ import annotations

from itertools import pairwise

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few, shape
from core.lecture.recurrence import Array, LSTMTrace, RNNTrace, ThroughTime
from core.messages import translate as _


def rnn_diagram(x: Array, run: RNNTrace, terms: tuple[float, float, float], *, step: int, unit: int, write: Write) -> Diagram:
    """One step of an RNN, one unit's numbers on the wires.

    Args:
        terms: of `core.lecture.recurrence.rnn_terms`. step, unit: from 0 on.
    """
    before = float(run.h[step - 1, unit]) if step else 0.0
    t = step + 1
    return Diagram(
        title=_("Block diagram of an RNN cell"),
        blocks=(
            Block(
                code="x", label=f"x_{{{t}}}", at=(0, 0), note=few(x[step], write), dials=("seq", "text", "period"), kind="data"
            ),
            Block(
                code="before", label=f"h_{{{t - 1}}}", at=(0, 1), note=write(before), part="gradient", dials=("t",), kind="data"
            ),
            Block(code="in", label="W_{hx} x", at=(1, 0), note=write(terms[0]), part="rnn", dials=("draw", "unit")),
            Block(code="back", label="W_{hh} h", at=(1, 1), note=write(terms[1]), part="rnn", dials=("rho", "draw", "unit")),
            Block(code="sum", label="+", at=(2, 0.5), part="rnn", kind="sum"),
            Block(code="tanh", label="tanh", at=(3, 0.5), note=write(float(run.h[step, unit])), part="rnn"),
            Block(code="h", label=f"h_{{{t}}}", at=(4, 0.5), note=shape(run.h[step]), part="rnn", dials=("t",), kind="data"),
            Block(
                code="y",
                label=f"y_{{{t}}}",
                at=(5, 0.5),
                note=write(float(run.y[step, 0])),
                part="rnn",
                dials=("t",),
                kind="data",
            ),
        ),
        wires=(
            Wire(source="x", target="in"),
            Wire(source="before", target="back", label=write(before)),
            Wire(source="in", target="sum", label=write(terms[0])),
            Wire(source="back", target="sum", label=write(terms[1])),
            Wire(source="sum", target="tanh", label=write(float(run.z[step, unit]))),
            Wire(source="tanh", target="h", label=write(float(run.h[step, unit]))),
            Wire(source="h", target="y", label="W_{hy} h + b_y"),
            Wire(source="h", target="before", label=_("to the next step"), way="under"),
        ),
    )


def lstm_diagram(x: Array, run: LSTMTrace, *, step: int, unit: int, write: Write) -> Diagram:
    """One step of an LSTM, one unit's numbers on the wires; step and unit from 0 on."""
    f, i, o, candidate, c, h = (write(float(one[step, unit])) for one in (run.f, run.i, run.o, run.candidate, run.c, run.h))
    before = write(float(run.c[step - 1, unit]) if step else 0.0)
    kept, added = (write(value) for value in cell_terms(run, step, unit))
    t = step + 1
    return Diagram(
        title=_("Block diagram of an LSTM cell"),
        blocks=(
            Block(code="cell", label=f"c_{{{t - 1}}}", at=(0, 0), note=before, part="gradient", dials=("t",), kind="data"),
            Block(
                code="in",
                label=f"x_{{{t}}}, h_{{{t - 1}}}",
                at=(0, 2),
                note=few(x[step], write, 1),
                dials=("seq", "text", "period", "t"),
                kind="data",
            ),
            Block(code="f", label="f_t: sigmoid", at=(1, 1), note=f, part="lstm", dials=("fb", "draw")),
            Block(code="i", label="i_t: sigmoid", at=(1, 2), note=i, part="lstm", dials=("draw",)),
            Block(code="candidate", label="c̃ = tanh", at=(1, 3), note=candidate, part="lstm", dials=("draw",)),
            Block(code="keep", label="⊙", at=(2, 0), part="lstm", kind="sum"),
            Block(code="add", label="⊙", at=(2, 2.5), part="lstm", kind="sum"),
            Block(code="sum", label="+", at=(3, 0), part="lstm", kind="sum"),
            Block(code="o", label="o_t: sigmoid", at=(3, 3), note=o, part="lstm", dials=("draw",)),
            Block(code="c", label=f"c_{{{t}}}", at=(4, 0), note=c, part="lstm", dials=("t", "unit"), kind="data"),
            Block(code="tanh", label="tanh", at=(4, 1.5), part="lstm"),
            Block(code="out", label="⊙", at=(5, 1.5), part="lstm", kind="sum"),
            Block(code="h", label=f"h_{{{t}}}", at=(6, 1.5), note=h, part="lstm", dials=("t", "unit"), kind="data"),
        ),
        wires=(
            Wire(source="cell", target="keep", label=before),
            Wire(source="in", target="f"),
            Wire(source="in", target="i"),
            Wire(source="in", target="candidate"),
            Wire(source="in", target="o", way="under"),
            Wire(source="f", target="keep", label=f),
            Wire(source="i", target="add", label=i),
            Wire(source="candidate", target="add", label=candidate),
            Wire(source="keep", target="sum", label=kept),
            Wire(source="add", target="sum", label=added),
            Wire(source="sum", target="c", label=c),
            Wire(source="c", target="tanh"),
            Wire(source="tanh", target="out"),
            Wire(source="o", target="out", label=o),
            Wire(source="out", target="h", label=h),
        ),
    )


def cell_terms(run: LSTMTrace, step: int, unit: int) -> tuple[float, float]:
    """Returns the two terms of c_t: what is kept, f c_{t-1}, and what is added, i times the candidate."""
    before = float(run.c[step - 1, unit]) if step else 0.0
    return float(run.f[step, unit]) * before, float(run.i[step, unit]) * float(run.candidate[step, unit])


def gradient_diagram(back: ThroughTime, write: Write) -> Diagram:
    """The cells unrolled: gradients go back step by step, attention's goes straight to the first input."""
    last = len(back.rnn)
    steps = (1, 2, last - 1, last)
    cells = tuple(
        Block(
            code=f"h{t}",
            label=f"h_{{{t}}}",
            at=(place + (place > 1), 0),
            part="rnn" if place < 2 else "lstm",
            dials=("rho", "fb"),
        )
        for place, t in enumerate(steps)
    )
    inputs = tuple(
        Block(
            code=f"x{t}",
            label=f"x_{{{t}}}",
            at=(place + (place > 1), 1),
            note=write(float(back.rnn[t - 1])),
            part="gradient",
            dials=("seq", "len", "text", "rho"),
            kind="data",
        )
        for place, t in enumerate(steps)
    )
    middle = (Block(code="dots", label="…", at=(2, 0), kind="sum"),)
    chain = [f"h{steps[0]}", f"h{steps[1]}", "dots", f"h{steps[2]}", f"h{steps[3]}"]
    wires = [Wire(source=f"x{t}", target=f"h{t}") for t in steps]
    for source, target in pairwise(chain):
        wires += [Wire(source=source, target=target), Wire(source=target, target=source, label="W_{hh}ᵀ", way="back")]
    straight = Wire(
        source=f"x{last}", target="x1", label=_("attention: {value}").format(value=write(float(back.attention[0]))), way="under"
    )
    return Diagram(
        title=_("Block diagram of gradients back through time"), blocks=(*cells, *middle, *inputs), wires=(*wires, straight)
    )
