"""Optimisers on a surface, schedules, clipping, and how weights start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import streamlit as st

from core.figures.learn import optimisers as figures
from core.figures.learn.diagrams.blocks import Diagram, few
from core.figures.learn.optimisers import initial_diagram, optimiser_diagram, step_notes
from core.lecture import activations, initialisation, optimisers
from core.lecture.claims import optimisers as said
from core.lecture.claims import told
from core.lecture.initialisation import Scheme
from core.lecture.notebooks import on_screen, rounded
from core.lecture.optimisers import OptimiserName, OptimiserWalk, SurfaceName, constant
from core.lecture.shown_digits import digits_needed, flat
from core.lecture.worked import Worked
from pages.learn import diagram, questions
from pages.learn.frame import Dial, choice, passage, slider, tex, tex_row
from pages.learn.lesson_page import LessonPage, Part, PartView, caption, plot, render, written
from pages.shared.language import N_, _, ngettext, number, regional, scientific, significant

PEAK: Final = 1e-3
"""Rate at the peak of every schedule."""
STEPS: Final = 400
"""Steps walked on a surface."""
RATES: Final = ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1")
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
DRAWN: Final[dict[str, str]] = {
    "xavier": r"W \sim \mathcal{U}\!\left(-\sqrt{\tfrac{6}{n_{in}+n_{out}}},\ \sqrt{\tfrac{6}{n_{in}+n_{out}}}\right)",
    "he": r"W \sim \mathcal{N}\!\left(0, \tfrac{2}{n_{in}}\right)",
    "report_qkv": r"W \sim \mathcal{U}(-0.5\sqrt{2/D}, 0.5\sqrt{2/D})",
    "report_out": r"W \sim \mathcal{U}(-0.8\sqrt{2/D}, 0.8\sqrt{2/D})",
    "report_second": r"\text{scale } 0.5\,\sqrt{1/D_{ff}}",
    "normal": r"W \sim \mathcal{N}(0, 1)",
}
"""Weights at the start, by scheme."""


def optimiser_names() -> dict[str, str]:
    """Each optimiser's name on the page."""
    names = {"sgd": "SGD", "momentum": _("SGD, momentum 0.9"), "adam": "Adam", "adam_plain": _("Adam, uncorrected")}
    return names | {"adamw": "AdamW"}


def rate_dial(key: str) -> Dial:
    """The learning rate, in steps of about a factor of three."""
    rates = {rate: significant(float(rate)) for rate in RATES}
    return choice(_("Learning rate"), rates, key=key, default="0.03", widget=st.select_slider, value=float)


def decay_dial() -> Dial:
    """AdamW's weight decay."""
    return slider(_("Weight decay (AdamW)"), 0.0, 0.5, key="adamw_decay", default=0.1, step=0.05)


def drawing(notes: Mapping[str, str], *, rate: float | None = None, t: int | None = None) -> Diagram:
    """The diagram with a part's own numbers; the rate is constant where the notes name no schedule."""
    constant_rate = {} if rate is None else {"schedule": _("constant")}
    return optimiser_diagram(constant_rate | dict(notes), t=t, rate="" if rate is None else f"η = {significant(rate)}")


@st.cache_data(show_spinner=False, max_entries=128)
def _walks(surface: SurfaceName, rate: float, decay: float) -> dict[OptimiserName, OptimiserWalk]:
    return optimisers.surface_walks(optimisers.SURFACES[surface], steps=STEPS, rate=constant(rate), decay=decay)


@st.cache_data(show_spinner=False, max_entries=128)
def _step_captions(surface: SurfaceName, rate: float, decay: float, language: str) -> list[str]:
    """Each step's losses, the start first, in the reader's language; a walk that has ended keeps its last."""
    names, walks = optimiser_names(), _walks(surface, rate, decay)

    def losses(step: int) -> str:
        now = ((names[code], float(walk.losses[min(step, len(walk.losses) - 1)])) for code, walk in walks.items())
        return " · ".join(f"{name} {significant(loss)}" for name, loss in now)

    told = _("Step {step}: loss {losses}")
    return [told.format(step=number(step), losses=losses(step)) for step in range(STEPS + 1)]


@st.cache_data(show_spinner=False, max_entries=8)
def _heights(surface: SurfaceName) -> tuple[Any, Any, Any]:
    return optimisers.height_map(optimisers.SURFACES[surface])


def surface_names() -> dict[str, str]:
    """Each surface's name on the page."""
    return {
        "bowl": _("A long bowl"), "rosenbrock": _("Rosenbrock's valley"), "saddle": _("A saddle"),
        "himmelblau": _("Himmelblau's four minima"),
    }  # fmt: skip


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


def on_surface(step: int, rate: float, surface: SurfaceName, decay: float, adam: OptimiserName) -> PartView:
    """Five optimisers from the same start, at the same rate."""
    names, walks, given = optimiser_names(), _walks(surface, rate, decay), optimisers.SURFACES[surface]
    paths: dict[str, Any] = {name: walk.points for name, walk in walks.items()}
    drawn = figures.surface_figure(*_heights(surface), paths, names=names, minima=given.minima, step=STEPS)
    play = figures.surface_play(paths, _step_captions(surface, rate, decay, regional()), start=step)
    diverged = ", ".join(names[name] for name, walk in walks.items() if walk.diverged)
    lowest = min(float(walk.losses.min()) for walk in walks.values())
    losses = figures.losses_figure(
        {name: walk.losses - min(0.0, lowest) for name, walk in walks.items()}, names=names, step=step,
        title=_("Loss") if lowest >= 0 else _("Loss above the lowest reached"),
    )  # fmt: skip
    taken = optimisers.adam_step(surface, adam, step, rate=constant(rate), decay=decay)
    own = decay if adam == "adamw" else 0.0
    stopped = caption(_("Diverged at this rate and stopped: {names}.").format(names=diverged))
    walked = {"SURFACE": surface, "NAME": adam, "RATE": rate, "DECAY": own, "STEPS": step, "START": rounded(given.start, 6)}
    return PartView(
        equation=adam_worked(step, taken, names[adam], own),
        figure=[
            plot(drawn, "surface_plot", _("Level lines of the loss, and the path of each optimiser up to this step."), play=play)
        ],
        notes=[passage("optimisers", "surface"), *told(said.surface(given, walks, decay))],
        more=[stopped if diverged else None, plot(losses, "surface_losses", _("Loss by step for each optimiser."))],
        drawing=drawing(step_notes(taken, diagram.write), t=step, rate=rate),
        question=lambda: questions.lowest(surface, rate=rate, decay=decay, step=step, names=names),
        taken=lambda: walked | on_screen({"g": taken.g, "before": taken.before, "theta": taken.after}, 4),
    )


def schedules(step: int, warmup: int, floor: float, factor: float, every: int) -> PartView:
    """Four schedules over one run, read at one step."""
    names = {
        "exponential": _("exponential"), "cosine": _("cosine"), "report": _("warm-up cosine, the report's (to 0)"),
        "iiga": _("warm-up cosine, IIGA's (to lr_min)"),
    }  # fmt: skip
    rates = optimisers.rates(total=1000, peak=PEAK, warmup=warmup, floor=PEAK * floor, factor=factor, every=every)
    at = {code: 1e3 * float(values[step]) for code, values in rates.items()}
    lines = [
        rf"\eta^{{\text{{{symbol}}}}}_{{{step}}} &= {tex(value, 4)} \cdot 10^{{-3}}"
        for symbol, value in zip(("exp", "cos", "report", "IIGA"), at.values(), strict=True)
    ]
    state = [("every", every), ("factor", factor), ("floor", floor), ("step", step), ("warmup", warmup)]
    return PartView(
        equation=Worked(
            SCHEDULES,
            r"\begin{aligned} " + r" \\ ".join(lines) + r"\end{aligned}",
            _("η₀ = 0.001, E = 1000 steps in all; warm-up until step w, then the cosine"),
        ),
        figure=[
            plot(
                figures.schedules_figure(rates, names=names, step=step, peak=PEAK), "schedules",
                _("Learning rate by step for four schedules."),
            )
        ],
        notes=[passage("optimisers", "schedules")],
        drawing=drawing({"schedule": _("the report's")}, rate=float(rates["report"][step])),
        question=lambda: questions.schedule(rates, names, state),
        covered=True,
        taken=lambda: {"STEP": step, "WARMUP": warmup, "FLOOR": floor, "FACTOR": factor, "EVERY": every, **on_screen(at, 4)},
    )  # fmt: skip


def clipping(norm: float, g1: float, g2: float) -> PartView:
    """Clipping: the gradient's length is capped, its direction is kept."""
    before, after, length = optimisers.clipped((g1, g2), norm)
    digits = digits_needed(optimisers.clip_to, *before, norm, length)
    norms, clipped_norms = optimisers.clipped_walk(norm)
    shown = {"norm": length, "clipped": after, "norms of the walk": norms[:3]}
    return PartView(
        equation=Worked(
            r"\nabla\theta \leftarrow \nabla\theta \cdot \min\!\left(1, \frac{\text{max\_norm}}{\|\nabla\theta\|}\right)",
            rf"{tex_row(before)} \cdot "
            rf"\min\!\left(1, \frac{{{tex(norm, 1)}}}{{{tex(length, digits)}}}\right) = {tex_row(after, 3)}",
        ),
        figure=[
            plot(
                figures.clip_figure(before, after, norm), "clip",
                _("The gradient, the circle of the largest norm, and the clipped gradient on it."),
            )
        ],
        notes=told(said.clipping(length, norm, norms)),
        more=[
            plot(
                figures.norms_figure(norms, clipped_norms, norm), "clip_walk",
                _("Gradient norm by step of a walk into the long bowl, before and after clipping."),
            )
        ],
        drawing=drawing({"loss": few(before, diagram.write), "clip": few(after, diagram.write)}),
        question=lambda: questions.clipped((g1, g2), norm),
        taken=lambda: {"G": rounded(before, 6), "LARGEST": norm, **on_screen(shown)},
    )  # fmt: skip


@st.cache_data(show_spinner=False, max_entries=64)
def _signals(activation: str, layers: int) -> dict[str, Any]:
    return {scheme: initialisation.signal(scheme, activation, layers=layers) for scheme in initialisation.SCHEMES}


def scheme_names() -> dict[str, str]:
    """Each way to draw the weights, by its name on the page."""
    return {
        "xavier": "Xavier", "he": "He", "report_qkv": _("report: W_Q, W_K, W_V"), "report_out": _("report: W_O"),
        "report_second": _("report: W_2"), "normal": _("N(0, 1)"),
    }  # fmt: skip


def rms(size: float) -> str:
    """A size that may grow without end."""
    return written(size, -1) if size < 1e5 else scientific(size)


def initial(scheme: Scheme, activation: str, layers: int) -> PartView:
    """Size of the activations by layer, for several ways to draw the initial weights."""
    signals = _signals(activation, layers)
    std, sizes = initialisation.weight_std(scheme, 128, 128), [float(one) for one in signals[scheme].sizes]
    drawn = figures.signal_figure({one: it.sizes for one, it in signals.items()}, names=scheme_names(), chosen=scheme)
    note = ngettext(
        "width 128; after {layers} layer the root mean square is {value}",
        "width 128; after {layers} layers the root mean square is {value}",
        layers,
    )
    shown = {"std of a weight": std, "first": sizes[0], "last over first": sizes[-1] / sizes[0]}
    return PartView(
        equation=Worked(
            DRAWN[scheme],
            rf"\mathrm{{std}}(W) = {tex(std, 4)},\quad \mathrm{{rms}}_0 = {tex(sizes[0])}",
            note.format(layers=number(layers), value=significant(sizes[-1])),
        ),
        figure=[plot(drawn, "signal", _("Size of the activations by layer for six ways of drawing the weights."))],
        notes=[passage("optimisers", "init"), *told(said.init(signals[scheme]))],
        drawing=initial_diagram(signals[scheme].sizes, activation, write=rms),
        taken=lambda: {"SCHEME": scheme, "ACTIVATION": activation, "LAYERS": layers, **on_screen(shown)},
    )


ADAMS: Final = {"adam": "Adam", "adamw": "AdamW", "adam_plain": N_("Adam, uncorrected")}

render(
    LessonPage(
        "optimisers",
        _("Optimisers and schedules"),
        [
            Part("surface", _("On a surface"), lambda: {
                "step": slider(_("Step"), 1, STEPS, key="walk_step", default=60),
                "rate": rate_dial("lr"),
                "surface": choice(_("Surface"), surface_names(), key="surface"),
                "decay": decay_dial(),
                "adam": choice(_("Optimiser of the numbers"), {code: _(name) for code, name in ADAMS.items()}, key="whose"),
            }, on_surface, "walk_dial"),
            Part("schedules", _("Schedules"), lambda: {
                "step": slider(_("Step"), 0, 1000, key="at_step", default=300),
                "warmup": slider(_("Warm-up steps"), 1, 500, key="warmup", default=100),
                "floor": slider(_("lr_min, share of the peak"), 0.0, 0.5, key="floor", default=0.1, step=0.05),
                "factor": slider(_("Exponential factor κ"), 0.5, 0.99, key="gamma", default=0.8, step=0.01),
                "every": slider(_("Steps between its decays"), 10, 500, key="every", default=100, step=10),
            }, schedules, "schedule_dial"),
            Part("clipping", _("Clipping"), lambda: {
                "norm": slider(_("Largest norm"), 0.1, 5.0, key="max_norm", default=1.0, step=0.1),
                "g1": slider("g₁", -5.0, 5.0, key="g1", default=3.0, step=0.1),
                "g2": slider("g₂", -5.0, 5.0, key="g2", default=2.0, step=0.1),
            }, clipping, "clip_dial"),
            Part("init", _("Initialisation"), lambda: {
                "scheme": choice(_("Scheme"), scheme_names(), key="scheme"),
                "activation": choice(_("Activation"), {name: name for name in activations.ACTIVATIONS}, key="init_act"),
                "layers": slider(_("Layers"), 1, 30, key="init_layers", default=12),
            }, initial, "init_dial"),
        ],
        _(
            "vit-report sections 2.2, 2.3, 2.7, 2.8, 3.6 and 4 (listing 1); iiga-equations sections 13 and 16.2; Kingma and Ba "
            "2015; Loshchilov and Hutter 2019; D12"
        ),
    )
)  # fmt: skip
