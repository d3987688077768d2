"""Walks: optimisers on a surface of two weights, and on a logistic regression over a recorded order book."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn import optimisers as figures
from core.lecture import book_task, optimiser_examples, optimisers
from core.lecture.book_task import BookTask
from core.lecture.optimisers import OptimiserName, OptimiserWalk, SurfaceName
from core.lecture.shown_digits import digits_needed, flat
from core.market.book import BookError, read_market
from core.market.library import LibraryError, recordings
from pages.learn import frame
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot

RATES: Final = ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1")
ADAM: Final = (
    r"\begin{aligned} m_t &= \beta_1 m_{t-1} + (1-\beta_1) g_t & v_t &= \beta_2 v_{t-1} + (1-\beta_2) g_t^2 \\"
    r"\hat m_t &= \frac{m_t}{1-\beta_1^t} & \hat v_t &= \frac{v_t}{1-\beta_2^t} \\"
    r"\theta_t &= \theta_{t-1} - \eta\left(\frac{\hat m_t}{\sqrt{\hat v_t} + \epsilon} + \lambda\,\theta_{t-1}\right)"
    r"\end{aligned}"
)


def optimiser_names() -> dict[str, str]:
    """Each optimiser as a person calls it."""
    return {
        "sgd": "SGD",
        "momentum": _("SGD, momentum 0.9"),
        "adam": "Adam",
        "adam_plain": _("Adam, uncorrected"),
        "adamw": "AdamW",
    }


def rate_dial(key: str, default: str) -> frame.Dial:
    """The learning rate, on steps of about a factor of three."""
    return frame.Dial(
        _("Learning rate"),
        lambda: float(
            url_state.choice(st.select_slider, _("Learning rate"), {rate: rate for rate in RATES}, key=key, default=default)
        ),
    )


def decay_dial() -> frame.Dial:
    """AdamW's weight decay."""
    return frame.Dial(
        _("Weight decay (AdamW)"),
        lambda: url_state.slider(_("Weight decay (AdamW)"), 0.0, 0.5, key="adamw_decay", default=0.1, step=0.05),
    )


@st.cache_data(show_spinner=False, max_entries=128)
def _walks(surface: SurfaceName, rate: float, steps: int, decay: float) -> dict[str, OptimiserWalk]:
    one = optimisers.SURFACES[surface]
    return {
        name: optimisers.surface_walk(one, name, steps=steps, rate=optimiser_examples.constant(rate), decay=decay)
        for name in optimisers.OPTIMISERS
    }


@st.cache_data(show_spinner=False, max_entries=8)
def _heights(surface: SurfaceName) -> tuple[Any, Any, Any]:
    return optimisers.height_map(optimisers.SURFACES[surface])


def surface() -> dict[str, Any]:
    """Five optimisers from the same start, at the same rate."""
    surfaces = {
        "bowl": _("A long bowl"), "rosenbrock": _("Rosenbrock's valley"), "saddle": _("A saddle"),
        "himmelblau": _("Himmelblau's four minima"),
    }  # fmt: skip
    names, adams = optimiser_names(), {"adam": "Adam", "adamw": "AdamW", "adam_plain": _("Adam, uncorrected")}
    chosen = frame.dials(
        "walk_dial",
        {
            "step": frame.Dial(_("Step"), lambda: url_state.slider(_("Step"), 1, 400, key="walk_step", default=60)),
            "rate": rate_dial("lr", "0.03"),
            "surface": frame.Dial(
                _("Surface"),
                lambda: url_state.choice(st.segmented_control, _("Surface"), surfaces, key="surface", required=True),
                lambda code: surfaces[code],
            ),
            "decay": decay_dial(),
            "adam": frame.Dial(
                _("Whose numbers"),
                lambda: url_state.choice(st.segmented_control, _("Whose numbers"), adams, key="whose", required=True),
                lambda code: adams[code],
            ),
        },
    )
    where, t = cast(SurfaceName, chosen["surface"]), int(chosen["step"])
    walks = _walks(where, chosen["rate"], 400, chosen["decay"])
    x, y, heights = _heights(where)
    static_plot(
        figures.surface_figure(
            x, y, heights, {name: walk.points for name, walk in walks.items()}, names=names,
            minima=optimisers.SURFACES[where].minima, step=t,
        ),
        key="surface_plot",
        alt=_("Level lines of the loss, and the path of each optimiser up to this step."),
    )  # fmt: skip
    frame.look_for(frame.passage("optimisers", "surface"))
    gone = [names[name] for name, walk in walks.items() if walk.diverged]
    if gone:
        st.caption(_("Ran away at this rate and was stopped: {names}.").format(names=", ".join(gone)))
    one = optimiser_examples.adam_step(
        where, cast(OptimiserName, chosen["adam"]), t, rate=optimiser_examples.constant(chosen["rate"]), decay=chosen["decay"]
    )
    decay = chosen["decay"] if chosen["adam"] == "adamw" else 0.0
    update = partial(optimiser_examples.adam_update, decay=decay)
    digits = digits_needed(update, *flat(one.before, one.mc, one.vc), one.rate, result=4)
    lines = [
        rf"g_{{{t}}} &= {frame.tex_row(one.g.tolist(), digits)} & m_{{{t}}} &= {frame.tex_row(one.m.tolist(), digits)}",
        rf"v_{{{t}}} &= {frame.tex_row(one.v.tolist(), digits)} & \hat m_{{{t}}} &= {frame.tex_row(one.mc.tolist(), digits)}",
        rf"\hat v_{{{t}}} &= {frame.tex_row(one.vc.tolist(), digits)} & \eta &= {frame.tex(one.rate, 4)}",
        rf"\theta_{{{t - 1}}} &= {frame.tex_row(one.before.tolist(), digits)} & "
        rf"\theta_{{{t}}} &= {frame.tex_row(one.after.tolist(), 4)}",
    ]
    frame.equation(
        ADAM,
        r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}",
        words=_("{name}, β₁ = 0.9, β₂ = 0.999, ε = 1e-8, λ = {decay}").format(name=names[chosen["adam"]], decay=number(decay, 2)),
    )
    lowest = min(float(one.losses.min()) for one in walks.values())
    static_plot(
        figures.losses_figure(
            {name: walk.losses - min(0.0, lowest) for name, walk in walks.items()}, names=names, step=t,
            title=_("Loss") if lowest >= 0 else _("Loss above the lowest reached"),
        ),
        key="surface_losses",
        alt=_("Loss by step for each optimiser."),
    )  # fmt: skip
    return {"SURFACE": where, "RATE": chosen["rate"], "DECAY": chosen["decay"], "STEPS": t}


def input_names() -> list[str]:
    """The inputs of the order-book task, in its order (`core.lecture.book_task.INPUTS`)."""
    levels = [_("imbalance, level {n}").format(n=level) for level in range(1, 6)]
    moves = [_("move of {n} s").format(n=seconds) for seconds in (1, 5, 15)]
    return [*levels, _("spread"), *moves, _("constant")]


@st.cache_data(show_spinner=False)
def _book(name: str) -> BookTask:
    """The task on a bundled recording.

    Raises:
        LibraryError, BookError, ValueError: where the recording is missing, damaged or too short.
    """
    rows = read_market([next(one.path for one in recordings() if one.name == name)])
    return book_task.book_task(rows.levels, rows.timestamps)


@st.cache_data(show_spinner=False, max_entries=64)
def _learned(recording: str, rate: float, decay: float) -> dict[str, OptimiserWalk]:
    task = _book(recording)
    return {
        name: book_task.learn(task, name, steps=300, rate=optimiser_examples.constant(rate), decay=decay)
        for name in optimisers.OPTIMISERS
    }


def book() -> dict[str, Any]:
    """The same five on a logistic regression over a recorded order book."""
    names = optimiser_names()
    try:
        offered = {one.name: f"{one.symbol}, {one.venue} {one.kind}" for one in recordings()}
        first = next((name for name in offered if "nexo" in name), None)
        chosen = frame.dials(
            "book_dial",
            {
                "rate": rate_dial("book_lr", "0.03"),
                "recording": frame.Dial(
                    _("Recording"),
                    lambda: url_state.choice(st.selectbox, _("Recording"), offered, key="book_rec", default=first),
                    lambda code: offered[code],
                ),
                "decay": decay_dial(),
            },
        )
        task = _book(chosen["recording"])
    except (LibraryError, BookError, ValueError) as problem:
        controls.error_box(str(problem), remedy=_("Choose another recording."))
        return {}
    walks = _learned(chosen["recording"], chosen["rate"], chosen["decay"])
    static_plot(
        figures.losses_figure(
            {name: walk.losses for name, walk in walks.items()}, names=names, log=False, keep="book",
            title=_("Training loss (nats a row)"),
        ),
        key="book_losses",
        alt=_("Training loss of the logistic regression by step, for each optimiser."),
    )  # fmt: skip
    frame.look_for(frame.passage("optimisers", "book"))
    theta = walks["adam"].points[-1]
    frame.equation(
        r"\begin{gathered} L(\theta) = \frac1n\sum_i \log(1 + e^{z_i}) - y_i z_i,\quad z = X\theta \\"
        r"\nabla L = \frac1n X^{\top}(\sigma(z) - y) \end{gathered}",
        rf"n = {len(task.targets)},\quad L(0) = {frame.tex(float(walks['adam'].losses[0]), 4)},\quad "
        rf"L(\theta_{{300}}) = {frame.tex(float(walks['adam'].losses[-1]), 4)}",
        words=_("Adam; does the mean mid of the next 5 s lie above the mid now, rows where it moves"),
    )
    st.dataframe(
        pd.DataFrame(
            {
                _("Optimiser"): [names[name] for name in walks],
                _("Training loss"): [number(float(walk.losses[-1]), 4) for walk in walks.values()],
                _("Held-out loss"): [
                    number(book_task.loss(walk.points[-1], task.test_inputs, task.test_targets), 4) for walk in walks.values()
                ],
                _("Held-out accuracy"): [
                    percent(book_task.accuracy(walk.points[-1], task.test_inputs, task.test_targets)) for walk in walks.values()
                ],
            }
        ),
        hide_index=True,
    )
    st.caption(
        _("Always answering what training saw more often: {share} of the {count} held-out rows.").format(
            share=percent(task.majority), count=number(len(task.test_targets))
        )
    )
    static_plot(
        figures.weights_figure(input_names(), theta), key="book_weights",
        alt=_("The weight of each input after training with Adam."),
    )  # fmt: skip
    return {"RATE": chosen["rate"], "DECAY": chosen["decay"]}
