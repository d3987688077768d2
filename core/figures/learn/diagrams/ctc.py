"""Diagrams of CTC and of the sentence metrics (iiga-equations 11 and 12); their blocks lead to places on the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write
from core.messages import translate as _
from core.signs.ctc import Lattice


def ctc_diagram(lattice: Lattice, names: Sequence[str], *, paths: str, cell: tuple[int, int], write: Write) -> Diagram:
    """From frames and target through the trellis to loss and gradient.

    Args:
        names: of the labels. paths: how many there are, written. cell: frame and state that the page reads, from 0 on.
    """
    frames, labels = lattice.log_probabilities.shape
    t, s = cell
    target = " ".join(names[label] for label in lattice.target) or "–"
    counted, states = _("{count} labels").format(count=len(lattice.target)), _("{count} states").format(count=len(lattice.states))
    probability = write(float(np.exp(lattice.log_probability)))
    return Diagram(
        title=_("Block diagram of CTC"),
        blocks=(
            Block(code="frames", label="P(label | t)", at=(0, 0), note=f"{frames}×{labels}", part="#ctc_frames", kind="data"),
            Block(
                code="target",
                label=_("target"),
                at=(0, 1),
                note=target if len(target) < 12 else counted,
                kind="data",
            ),
            Block(code="extended", label=_("with blanks"), at=(1, 1), note=states, part="#ctc_trellis"),
            Block(
                code="alpha", label=_("α, both ways"), at=(2, 0.5), note=f"{frames}×{len(lattice.states)}", part="#ctc_trellis"
            ),
            Block(code="paths", label=_("paths"), at=(3, 1), note=paths, part="#ctc_paths_csv"),
            Block(code="loss", label="−ln P(y)", at=(4, 0.5), note=write(lattice.loss), part="#ctc_trellis", kind="data"),
            Block(
                code="gradient", label=_("gradient"), at=(5, 0.5), note=f"{frames}×{labels}", part="#ctc_gradient", kind="data"
            ),
        ),
        wires=(
            Wire(source="frames", target="alpha", label=f"{frames}×{labels}"),
            Wire(source="target", target="extended", label=counted),
            Wire(source="extended", target="alpha", label=states),
            Wire(source="alpha", target="loss", label=f"α({t + 1}, {s}) = {write(float(np.exp(lattice.alpha[t, s])))}"),
            Wire(source="alpha", target="paths"),
            Wire(source="paths", target="loss", label=f"P(y) = {probability}"),
            Wire(source="loss", target="gradient", label=f"−ln P(y) = {write(lattice.loss)}"),
        ),
    )
