"""Optimisers on a surface, with clipping, and schedules."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

import streamlit as st

from core.figures.learn import optimisers as figures
from core.lecture import optimisers
from core.lecture.notebooks import on_screen, rounded
from core.lecture.optimisers import OptimiserName, OptimiserWalk, SurfaceName
from core.lecture.shown_digits import digits_needed, flat
from pages.learn.frame import Worked, choice, slider, stops, tex, tex_row
from pages.learn.lesson_page import LessonPage, Part, PartView, caption, plot, render
from pages.shared.language import N_, _, number, significant

PEAK: Final = 1e-3
"""Rate at the peak of every schedule."""
STEPS: Final = 400
"""Steps walked on a surface."""
CLIPS: Final = ("30", "10", "3", "1", "0.3", "0.1")
RATES: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""In steps of about a factor of three."""
READ: Final = {"adam": "Adam", "adamw": "AdamW", "adam_plain": N_("Adam, uncorrected")}
"""Optimisers whose numbers can be read, by their names on the page."""
SURFACES: Final = {"bowl": N_("A long bowl"), "rosenbrock": N_("Rosenbrock's valley"), "saddle": N_("A saddle")}
ADAM: Final = (
    r"\begin{aligned} m_t &= \beta_1 m_{t-1} + (1-\beta_1) g_t & v_t &= \beta_2 v_{t-1} + (1-\beta_2) g_t^2 \\"
    r"\hat m_t &= \frac{m_t}{1-\beta_1^t} & \hat v_t &= \frac{v_t}{1-\beta_2^t} \\"
    r"\theta_t &= \theta_{t-1} - \eta\left(\frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} + \lambda\,\theta_{t-1}\right)"
    r"\end{aligned}"
)
SCHEDULES: Final = (
    r"\begin{aligned} \eta^{\text{exp}}_t &= \eta_0\,\kappa^{\lfloor t/n_{every} \rfloor} \\"
    r"\eta^{\text{cos}}_t &= \tfrac{\eta_0}{2}\left(1 + \cos\tfrac{\pi t}{E}\right) \\"
    r"\eta^{\text{report}}_t &= \eta_0 \tfrac{t}{w};\ \tfrac{\eta_0}{2}\left(1 + \cos\tfrac{\pi (t-w)}{E-w}\right) \\"
    r"\eta^{\text{IIGA}}_t &= \eta_0 \tfrac{t}{w};\ \eta_{min} + \tfrac{\eta_0 - \eta_{min}}{2}"
    r"\left(1 + \cos\tfrac{\pi (t-w)}{E-w}\right) \end{aligned}"
)


def clips() -> dict[str, str]:
    """The largest norms that a gradient may have."""
    return {"off": _("off")} | {one: significant(float(one)) for one in CLIPS}


def largest(code: str) -> float | None:
    """The norm of a code; None where gradients stay as they are."""
    return None if code == "off" else float(code)


@st.cache_data(show_spinner=False, max_entries=128)
def _walks(surface: SurfaceName, rate: float, decay: float, clip: float | None) -> dict[OptimiserName, OptimiserWalk]:
    return optimisers.surface_walks(optimisers.SURFACES[surface], steps=STEPS, rate=rate, decay=decay, clip=clip)


@st.cache_data(show_spinner=False, max_entries=8)
def _heights(surface: SurfaceName) -> tuple[Any, Any, Any]:
    return optimisers.height_map(optimisers.SURFACES[surface])


def adam_worked(t: int, step: optimisers.AdamStep, name: str, decay: float) -> Worked:
    """One step of Adam with its numbers."""
    update = partial(optimisers.adam_update, decay=decay)
    digits = digits_needed(update, *flat(step.before, step.mc, step.vc), step.rate, result=4)
    g, m, v, mc, vc, before = (tex_row(one.tolist(), digits) for one in (step.g, step.m, step.v, step.mc, step.vc, step.before))
    return Worked(
        ADAM,
        rf"\begin{{aligned}}g_{{{t}}} &= {g} & m_{{{t}}} &= {m} \\ v_{{{t}}} &= {v} & \hat m_{{{t}}} &= {mc} \\ "
        rf"\hat v_{{{t}}} &= {vc} & \eta &= {tex(step.rate, 4)} \\ \theta_{{{t - 1}}} &= {before} & "
        rf"\theta_{{{t}}} &= {tex_row(step.after.tolist(), 4)}\end{{aligned}}",
        _("{name}, β₁ = 0.9, β₂ = 0.999, ε = 1e-8, λ = {decay}").format(name=name, decay=number(decay, 2)),
    )


def clip_worked(t: int, step: optimisers.AdamStep, largest: float) -> Worked:
    """The gradient's length is capped and its direction kept, with this step's numbers."""
    return Worked(
        r"g \leftarrow g \cdot \min\!\left(1, \frac{\text{max\_norm}}{\|g\|}\right)",
        rf"\|g_{{{t}}}\| = {tex(step.norm)} \to {tex(min(step.norm, largest))}",
    )


def on_surface(
    step: Annotated[int, slider(_("Step"), 1, STEPS, key="walk_step", default=60)],
    rate: Annotated[float, stops(_("Learning rate"), RATES, key="lr", default=0.03)],
    surface: Annotated[SurfaceName, choice(_("Surface"), SURFACES, key="surface")],
    decay: Annotated[float, slider(_("Weight decay (AdamW)"), 0.0, 0.5, key="adamw_decay", default=0.1, step=0.05)],
    clip: Annotated[
        float | None,
        choice(_("Largest gradient norm"), clips(), key="clip", widget=st.select_slider, value=largest, short=_("Clipping")),
    ],
    adam: Annotated[OptimiserName, choice(_("Optimiser of the numbers"), READ, key="whose")],
) -> PartView:
    """Four optimisers from the same start, at the same rate."""
    names = {"sgd": "SGD"} | {code: _(name) for code, name in READ.items()}
    walks, given = _walks(surface, rate, decay, clip), optimisers.SURFACES[surface]
    paths: dict[str, Any] = {name: walk.points for name, walk in walks.items()}
    drawn = figures.surface_figure(*_heights(surface), paths, names=names, minima=given.minima, step=step)
    diverged = ", ".join(names[name] for name, walk in walks.items() if walk.diverged)
    lowest = min(float(walk.losses.min()) for walk in walks.values())
    losses = figures.losses_figure(
        {name: walk.losses - min(0.0, lowest) for name, walk in walks.items()},
        names=names,
        step=step,
        title=_("Loss") if lowest >= 0 else _("Loss above the lowest reached"),
    )
    adam_now = optimisers.adam_step(surface, adam, step, rate=rate, decay=decay, clip=clip)
    own = decay if adam == "adamw" else 0.0
    equations = [adam_worked(step, adam_now, names[adam], own), *([] if clip is None else [clip_worked(step, adam_now, clip)])]
    stopped = caption(_("Diverged at this rate and stopped: {names}.").format(names=diverged))
    walked = {"SURFACE": surface, "NAME": adam, "RATE": rate, "DECAY": own, "LARGEST": clip or 0.0, "STEPS": step}
    return PartView(
        equation=equations,
        figure=[plot(drawn, "surface_plot", _("Level lines of the loss, and the path of each optimiser up to this step."))],
        more=[stopped if diverged else None, plot(losses, "surface_losses", _("Loss by step for each optimiser."))],
        asked=lambda: (_("the loss of {name} at this step").format(name=names[adam]), float(walks[adam].losses[: step + 1][-1])),
        notebook_values=lambda: (
            walked
            | {"START": rounded(given.start, 6)}
            | on_screen({"g": adam_now.g, "before": adam_now.before, "theta": adam_now.after}, 4)
        ),
    )


def schedules(
    step: Annotated[int, slider(_("Step"), 0, 1000, key="at_step", default=300)],
    warmup: Annotated[int, slider(_("Warm-up steps"), 1, 500, key="warmup", default=100)],
    floor: Annotated[float, slider(_("lr_min, share of the peak"), 0.0, 0.5, key="floor", default=0.1, step=0.05)],
    factor: Annotated[float, slider(_("Exponential factor κ"), 0.5, 0.99, key="gamma", default=0.8, step=0.01)],
    every: Annotated[int, slider(_("Steps between its decays"), 10, 500, key="every", default=100, step=10)],
) -> PartView:
    """Four schedules over one run, read at one step."""
    names = {
        "exponential": _("exponential"),
        "cosine": _("cosine"),
        "report": _("warm-up cosine, the report's (to 0)"),
        "iiga": _("warm-up cosine, IIGA's (to lr_min)"),
    }
    followed = optimisers.rates(total=1000, peak=PEAK, warmup=warmup, floor=PEAK * floor, factor=factor, every=every)
    at = {code: 1e3 * float(values[step]) for code, values in followed.items()}
    lines = [
        rf"\eta^{{\text{{{symbol}}}}}_{{{step}}} &= {tex(value, 4)} \cdot 10^{{-3}}"
        for symbol, value in zip(("exp", "cos", "report", "IIGA"), at.values(), strict=True)
    ]
    return PartView(
        equation=Worked(
            SCHEDULES,
            r"\begin{aligned} " + r" \\ ".join(lines) + r"\end{aligned}",
            _("η₀ = 0.001, E = 1000 steps in all; warm-up until step w, then the cosine"),
        ),
        figure=[
            plot(
                figures.schedules_figure(followed, names=names, step=step, peak=PEAK),
                "schedules",
                _("Learning rate by step for four schedules."),
            )
        ],
        asked=lambda: (_("the rate of IIGA's schedule"), float(followed["iiga"][step])),
        notebook_values=lambda: {
            "STEP": step,
            "WARMUP": warmup,
            "FLOOR": floor,
            "FACTOR": factor,
            "EVERY": every,
            **on_screen(at, 4),
        },
    )


render(
    LessonPage(
        "optimisers",
        _("Optimisers and schedules"),
        [
            Part("surface", _("On a surface"), on_surface, "walk_dial"),
            Part("schedules", _("Schedules"), schedules, "schedule_dial"),
        ],
        "vit-report 2.2, 2.3, 2.7, 2.8, 3.6; iiga-equations 13; Kingma, Ba 2015; Loshchilov, Hutter 2019; D12",
        moved={"clipping": "part=surface&clip=1", "init": "norms?part=init"},
    )
)
