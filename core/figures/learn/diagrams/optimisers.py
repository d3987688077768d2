"""Diagram of one step of an optimiser (vit-report 2.2 and 2.7, iiga-equations 13)."""

from __future__ import annotations

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, Write, few
from core.lecture.optimiser_examples import AdamStep
from core.messages import translate as _


def optimiser_diagram(step: AdamStep, *, write: Write, clip: str = "", rate: str = "") -> Diagram:
    """One step of Adam with its numbers.

    Args:
        clip: what clipping does to the gradient, written; "" where the page does not clip. rate: the schedule's rate, written.
    """
    t = step.t
    return Diagram(
        title=_("Block diagram of one optimiser step"),
        blocks=(
            Block(
                code="theta",
                label=f"θ_{{{t - 1}}}",
                at=(0, 1),
                note=few(step.before, write),
                part="init",
                dials=("step", "scheme", "surface"),
                kind="data",
            ),
            Block(
                code="loss",
                label="∇ℒ(θ)",
                at=(1, 1),
                note=few(step.g, write),
                part="book",
                dials=("surface", "step", "recording"),
            ),
            Block(code="clip", label=_("clip"), at=(2, 1), note=clip, part="clipping", dials=("norm", "g1", "g2")),
            Block(code="m", label=f"m_{{{t}}}", at=(3, 0), note=few(step.m, write), part="surface", dials=("step", "adam")),
            Block(code="v", label=f"v_{{{t}}}", at=(3, 2), note=few(step.v, write), part="surface", dials=("step", "adam")),
            Block(
                code="ratio",
                label="m̂/(√v̂ + ε)",
                at=(4, 1),
                note=few(step.mc / (step.vc**0.5 + 1e-8), write),
                part="surface",
                dials=("adam", "step"),
            ),
            Block(
                code="rate",
                label="· η",
                at=(5, 1),
                note=rate or f"η = {write(step.rate)}",
                part="schedules",
                dials=("rate", "step", "warmup", "floor", "factor", "every"),
            ),
            Block(
                code="next",
                label=f"θ_{{{t}}}",
                at=(6, 1),
                note=few(step.after, write),
                part="surface",
                dials=("step", "decay", "rate"),
                kind="data",
            ),
        ),
        wires=(
            Wire(source="theta", target="loss", label=few(step.before, write, 1)),
            Wire(source="loss", target="clip", label=few(step.g, write, 1)),
            Wire(source="clip", target="m", label="β_1"),
            Wire(source="clip", target="v", label="β_2"),
            Wire(source="m", target="ratio"),
            Wire(source="v", target="ratio"),
            Wire(source="ratio", target="rate", label=few(step.mc / (step.vc**0.5 + 1e-8), write, 1)),
            Wire(source="rate", target="next", label="−"),
            Wire(source="next", target="theta", label=_("the next step starts here"), way="under", lane=1),
        ),
    )
