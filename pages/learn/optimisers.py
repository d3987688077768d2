"""Optimisers on a surface and on a recorded order book, schedules, clipping, and how weights start."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn import optimisers as figures
from core.figures.learn.diagrams.optimisers import optimiser_diagram
from core.lecture import activations, book_task, claims, initialisation, notebooks, optimiser_examples, optimisers
from core.lecture.book_task import BookTask
from core.lecture.claims import optimisers as said
from core.lecture.initialisation import Scheme
from core.lecture.optimisers import OptimiserName, OptimiserWalk, SurfaceName
from core.lecture.shown_digits import digits_needed, flat
from core.market.book import BookError, read_market
from core.market.store.index import RecordingError, recordings
from pages.learn import diagram, frame, predict, questions
from pages.shared import controls
from pages.shared.language import _, number, percent, regional, significant
from pages.shared.live_plot import static_plot

PAGE: Final = "optimisers"
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


def optimiser_names() -> dict[str, str]:
    """Each optimiser's name on the page."""
    return {
        "sgd": "SGD",
        "momentum": _("SGD, momentum 0.9"),
        "adam": "Adam",
        "adam_plain": _("Adam, uncorrected"),
        "adamw": "AdamW",
    }


def rate_dial(key: str, default: str) -> frame.Dial:
    """The learning rate, in steps of about a factor of three."""
    rates = {rate: significant(float(rate)) for rate in RATES}
    return frame.choice(_("Learning rate"), rates, key=key, default=default, widget=st.select_slider, value=float)


def decay_dial() -> frame.Dial:
    """AdamW's weight decay."""
    return frame.slider(_("Weight decay (AdamW)"), 0.0, 0.5, key="adamw_decay", default=0.1, step=0.05)


@st.cache_resource(show_spinner=False, max_entries=128)  # read alone, so that no copy is made of it
def _walks(surface: SurfaceName, rate: float, decay: float) -> dict[OptimiserName, OptimiserWalk]:
    given = optimisers.SURFACES[surface]
    return optimisers.surface_walks(given, steps=STEPS, rate=optimiser_examples.constant(rate), decay=decay)


@st.cache_data(show_spinner=False, max_entries=128)
def _step_captions(surface: SurfaceName, rate: float, decay: float, language: str) -> list[str]:
    """Each step's losses, the start first, in the reader's language; a walk that has ended keeps its last."""
    names, walks = optimiser_names(), _walks(surface, rate, decay)
    return [
        _("Step {step}: loss {losses}").format(
            step=number(step),
            losses=" · ".join(f"{names[code]} {significant(float(walk.losses[min(step, len(walk.losses) - 1)]))}"
                              for code, walk in walks.items()),
        )
        for step in range(STEPS + 1)
    ]  # fmt: skip


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
            "step": frame.slider(_("Step"), 1, STEPS, key="walk_step", default=60),
            "rate": rate_dial("lr", "0.03"),
            "surface": frame.choice(_("Surface"), surfaces, key="surface"),
            "decay": decay_dial(),
            "adam": frame.choice(_("Optimiser of the numbers"), adams, key="whose"),
        },
    )
    where, t = cast(SurfaceName, chosen["surface"]), int(chosen["step"])
    predict.ask(lambda: questions.lowest(where, rate=chosen["rate"], decay=chosen["decay"], step=t, names=names))
    walks = _walks(where, chosen["rate"], chosen["decay"])
    x, y, heights = _heights(where)
    static_plot(
        figures.surface_figure(
            x, y, heights, {name: walk.points for name, walk in walks.items()}, names=names,
            minima=optimisers.SURFACES[where].minima, step=STEPS,
        ),
        key="surface_plot",
        play=figures.surface_play(
            {name: walk.points for name, walk in walks.items()},
            _step_captions(where, chosen["rate"], chosen["decay"], regional()),
            start=t,
        ),
        alt=_("Level lines of the loss, and the path of each optimiser up to this step."),
    )  # fmt: skip
    paths = said.Walked(surface=optimisers.SURFACES[where], walks=walks, decay=chosen["decay"])
    frame.look_for(frame.passage(PAGE, "surface"), *claims.told(said.SURFACE, paths))
    diverged = [names[name] for name, walk in walks.items() if walk.diverged]
    if diverged:
        st.caption(_("Diverged at this rate and stopped: {names}.").format(names=", ".join(diverged)))
    step = optimiser_examples.adam_step(
        where, cast(OptimiserName, chosen["adam"]), t, rate=optimiser_examples.constant(chosen["rate"]), decay=chosen["decay"]
    )
    diagram.show(optimiser_diagram(step, write=diagram.write), dial="walk_dial")
    decay = chosen["decay"] if chosen["adam"] == "adamw" else 0.0
    update = partial(optimiser_examples.adam_update, decay=decay)
    digits = digits_needed(update, *flat(step.before, step.mc, step.vc), step.rate, result=4)
    lines = [
        rf"g_{{{t}}} &= {frame.tex_row(step.g.tolist(), digits)} & m_{{{t}}} &= {frame.tex_row(step.m.tolist(), digits)}",
        rf"v_{{{t}}} &= {frame.tex_row(step.v.tolist(), digits)} & \hat m_{{{t}}} &= {frame.tex_row(step.mc.tolist(), digits)}",
        rf"\hat v_{{{t}}} &= {frame.tex_row(step.vc.tolist(), digits)} & \eta &= {frame.tex(step.rate, 4)}",
        rf"\theta_{{{t - 1}}} &= {frame.tex_row(step.before.tolist(), digits)} & "
        rf"\theta_{{{t}}} &= {frame.tex_row(step.after.tolist(), 4)}",
    ]
    frame.equation(
        ADAM,
        r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}",
        note=_("{name}, β₁ = 0.9, β₂ = 0.999, ε = 1e-8, λ = {decay}").format(name=names[chosen["adam"]], decay=number(decay, 2)),
    )
    lowest = min(float(walk.losses.min()) for walk in walks.values())
    static_plot(
        figures.losses_figure(
            {name: walk.losses - min(0.0, lowest) for name, walk in walks.items()}, names=names, step=t,
            title=_("Loss") if lowest >= 0 else _("Loss above the lowest reached"),
        ),
        key="surface_losses",
        alt=_("Loss by step for each optimiser."),
    )  # fmt: skip
    start = notebooks.rounded(optimisers.SURFACES[where].start, 6)
    walked = {"SURFACE": where, "NAME": chosen["adam"], "RATE": chosen["rate"], "DECAY": decay, "STEPS": t, "START": start}
    return walked | notebooks.on_screen({"g": step.g, "before": step.before, "theta": step.after}, 4)


def _diagram(dial: str, *, clip: str = "", rate: str = "") -> None:
    """The diagram of a part that takes no step itself: Adam's step on the surface chosen last."""
    state = st.session_state
    where, t = state.get("surface:kept", "bowl"), int(state.get("walk_step:kept", 60))
    step = optimiser_examples.adam_step(
        cast(SurfaceName, where), "adam", t, rate=optimiser_examples.constant(float(state.get("lr:kept", "0.03")))
    )
    diagram.show(optimiser_diagram(step, write=diagram.write, clip=clip, rate=rate), dial=dial)


def input_names() -> list[str]:
    """The inputs of the order-book task, in the order of `core.lecture.book_task.INPUTS`."""
    levels = [_("imbalance, level {n}").format(n=level) for level in range(1, 6)]
    moves = [_("move of {n} s").format(n=seconds) for seconds in (1, 5, 15)]
    return [*levels, _("spread"), *moves, _("constant")]


@st.cache_data(show_spinner=False)
def _book(name: str) -> BookTask:
    """The task on a bundled recording.

    Raises:
        RecordingError, BookError, ValueError: where the recording is missing, damaged or too short.
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
    """Five optimisers on a logistic regression over a recorded order book."""
    names = optimiser_names()
    try:
        labels = {one.name: f"{one.market}, {one.venue} {one.kind}" for one in recordings()}
        first = next((name for name in labels if "nexo" in name), None)
        chosen = frame.dials(
            "book_dial",
            {
                "rate": rate_dial("book_lr", "0.03"),
                "recording": frame.choice(_("Recording"), labels, key="book_rec", default=first, widget=st.selectbox),
                "decay": decay_dial(),
            },
        )
        task = _book(chosen["recording"])
    except (RecordingError, BookError, ValueError) as problem:
        controls.error_box(str(problem), remedy=_("Choose another recording."))
        return {}
    _diagram("book_dial")
    walks = _learned(chosen["recording"], chosen["rate"], chosen["decay"])
    static_plot(
        figures.losses_figure(
            {name: walk.losses for name, walk in walks.items()}, names=names, log=False, keep="book",
            title=_("Training loss (nats a row)"),
        ),
        key="book_losses",
        alt=_("Training loss of the logistic regression by step, for each optimiser."),
    )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "book"), *claims.told(said.BOOK, walks))
    theta = walks["adam"].points[-1]
    frame.equation(
        r"\begin{gathered} \mathcal{L}(\theta) = \frac1n\sum_i \log(1 + e^{z_i}) - y_i z_i,\quad z = X\theta \\"
        r"\nabla \mathcal{L} = \frac1n X^{\top}(\mathrm{sigmoid}(z) - y) \end{gathered}",
        rf"n = {len(task.targets)},\quad \mathcal{{L}}(0) = {frame.tex(float(walks['adam'].losses[0]), 4)},\quad "
        rf"\mathcal{{L}}(\theta_{{300}}) = {frame.tex(float(walks['adam'].losses[-1]), 4)}",
        note=_("Adam; does the mean mid of the next 5 s lie above the mid now, rows where it moves"),
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
    rows, up = task.test_inputs, task.test_targets
    shown = {"held-out loss": book_task.loss(theta, rows, up), "held-out accuracy": book_task.accuracy(theta, rows, up)}
    return {"THETA": theta, "ROWS": notebooks.rounded(rows), "UP": up.astype(int), **notebooks.on_screen(shown)}


def schedule() -> dict[str, Any]:
    """Four schedules over one run, read at one step."""
    names = {
        "exponential": _("exponential"),
        "cosine": _("cosine"),
        "report": _("warm-up cosine, the report's (to 0)"),
        "iiga": _("warm-up cosine, IIGA's (to lr_min)"),
    }
    chosen = frame.dials(
        "schedule_dial",
        {
            "step": frame.slider(_("Step"), 0, 1000, key="at_step", default=300),
            "warmup": frame.slider(_("Warm-up steps"), 1, 500, key="warmup", default=100),
            "floor": frame.slider(_("lr_min, share of the peak"), 0.0, 0.5, key="floor", default=0.1, step=0.05),
            "factor": frame.slider(_("Exponential factor κ"), 0.5, 0.99, key="gamma", default=0.8, step=0.01),
            "every": frame.slider(_("Steps between its decays"), 10, 500, key="every", default=100, step=10),
        },
    )
    t, warmup, floor = int(chosen["step"]), int(chosen["warmup"]), PEAK * chosen["floor"]
    rates = optimiser_examples.rates(
        total=1000, peak=PEAK, warmup=warmup, floor=floor, factor=chosen["factor"], every=chosen["every"]
    )
    predict.ask(lambda: questions.schedule(rates, names, sorted(chosen.items())))
    static_plot(
        figures.schedules_figure(rates, names=names, step=t, peak=PEAK), key="schedules",
        alt=_("Learning rate by step for four schedules."),
    )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "schedules"))
    _diagram("schedule_dial", rate=f"η = {significant(float(rates['report'][t]))}")
    at = {code: frame.tex(1e3 * float(values[t]), 4) for code, values in rates.items()}
    frame.equation(
        r"\begin{aligned} \eta^{\text{exp}}_t &= \eta_0\,\kappa^{\lfloor t/n_{every} \rfloor} \\"
        r"\eta^{\text{cos}}_t &= \tfrac{\eta_0}{2}\left(1 + \cos\tfrac{\pi t}{E}\right) \\"
        r"\eta^{\text{report}}_t &= \eta_0 \tfrac{t}{w};\ \tfrac{\eta_0}{2}\left(1 + \cos\tfrac{\pi (t-w)}{E-w}\right) \\"
        r"\eta^{\text{IIGA}}_t &= \eta_0 \tfrac{t}{w};\ \eta_{min} + \tfrac{\eta_0 - \eta_{min}}{2}"
        r"\left(1 + \cos\tfrac{\pi (t-w)}{E-w}\right) \end{aligned}",
        r"\begin{aligned} "
        + r" \\ ".join(
            rf"\eta^{{\text{{{symbol}}}}}_{{{t}}} &= {value} \cdot 10^{{-3}}"
            for symbol, value in zip(("exp", "cos", "report", "IIGA"), at.values(), strict=True)
        )
        + r"\end{aligned}",
        note=_("η₀ = 0.001, E = 1000 steps in all; warm-up until step w, then the cosine"),
    )
    dials = {"STEP": t, "WARMUP": warmup, "FLOOR": chosen["floor"], "FACTOR": chosen["factor"], "EVERY": chosen["every"]}
    return dials | notebooks.on_screen({code: 1e3 * float(values[t]) for code, values in rates.items()}, 4)


def clipping() -> dict[str, Any]:
    """Clipping: the gradient's length is capped, its direction is kept."""
    chosen = frame.dials(
        "clip_dial",
        {
            "norm": frame.slider(_("Largest norm"), 0.1, 5.0, key="max_norm", default=1.0, step=0.1),
            "g1": frame.slider("g₁", -5.0, 5.0, key="g1", default=3.0, step=0.1),
            "g2": frame.slider("g₂", -5.0, 5.0, key="g2", default=2.0, step=0.1),
        },
    )
    largest = chosen["norm"]
    predict.ask(lambda: questions.clipped((chosen["g1"], chosen["g2"]), largest))
    before, after, length = optimiser_examples.clipped((chosen["g1"], chosen["g2"]), largest)
    digits = digits_needed(optimiser_examples.clip_to, *before, largest, length)
    _diagram("clip_dial", clip=f"{number(length, 2)} → {number(min(length, largest), 2)}")
    static_plot(
        figures.clip_figure(before, after, largest), key="clip",
        alt=_("The gradient, the circle of the largest norm, and the clipped gradient on it."),
    )  # fmt: skip
    frame.equation(
        r"\nabla\theta \leftarrow \nabla\theta \cdot \min\!\left(1, \frac{\text{max\_norm}}{\|\nabla\theta\|}\right)",
        rf"{frame.tex_row(before)} \cdot "
        rf"\min\!\left(1, \frac{{{frame.tex(largest, 1)}}}{{{frame.tex(length, digits)}}}\right) "
        rf"= {frame.tex_row(after, 3)}",
    )
    norms, clipped_norms = optimiser_examples.clipped_walk(largest)
    frame.look_for(*claims.told(said.CLIPPING, said.Clipping(length=length, largest=largest, norms=norms)))
    static_plot(
        figures.norms_figure(norms, clipped_norms, largest), key="clip_walk",
        alt=_("Gradient norm by step of a walk into the long bowl, before and after clipping."),
    )  # fmt: skip
    shown = {"norm": length, "clipped": after, "norms of the walk": norms[:3]}
    return {"G": notebooks.rounded(before, 6), "LARGEST": largest, **notebooks.on_screen(shown)}


@st.cache_data(show_spinner=False, max_entries=64)
def _signals(activation: str, layers: int) -> dict[str, Any]:
    return {scheme: initialisation.signal(scheme, activation, layers=layers) for scheme in initialisation.SCHEMES}


def initial() -> dict[str, Any]:
    """Size of the activations by layer, for several ways to draw the initial weights."""
    schemes = {
        "xavier": "Xavier", "he": "He", "report_qkv": _("report: W_Q, W_K, W_V"), "report_out": _("report: W_O"),
        "report_second": _("report: W_2"), "normal": _("N(0, 1)"),
    }  # fmt: skip
    kinds = {name: name for name in activations.ACTIVATIONS}
    chosen = frame.dials(
        "init_dial",
        {
            "scheme": frame.choice(_("Scheme"), schemes, key="scheme"),
            "activation": frame.choice(_("Activation"), kinds, key="init_act"),
            "layers": frame.slider(_("Layers"), 1, 30, key="init_layers", default=12),
        },
    )
    scheme = cast(Scheme, chosen["scheme"])
    signals = _signals(chosen["activation"], chosen["layers"])
    _diagram("init_dial")
    static_plot(
        figures.signal_figure({one: signal.sizes for one, signal in signals.items()}, names=schemes, chosen=scheme), key="signal",
        alt=_("Size of the activations by layer for six ways of drawing the weights."),
    )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "init"), *claims.told(said.INIT, signals[scheme]))
    formula = {
        "xavier": r"W \sim \mathcal{U}\!\left(-\sqrt{\tfrac{6}{n_{in}+n_{out}}},\ \sqrt{\tfrac{6}{n_{in}+n_{out}}}\right)",
        "he": r"W \sim \mathcal{N}\!\left(0, \tfrac{2}{n_{in}}\right)",
        "report_qkv": r"W \sim \mathcal{U}(-0.5\sqrt{2/D}, 0.5\sqrt{2/D})",
        "report_out": r"W \sim \mathcal{U}(-0.8\sqrt{2/D}, 0.8\sqrt{2/D})",
        "report_second": r"\text{scale } 0.5\,\sqrt{1/D_{ff}}",
        "normal": r"W \sim \mathcal{N}(0, 1)",
    }[scheme]
    values = signals[scheme].sizes
    frame.equation(
        formula,
        rf"\mathrm{{std}}(W) = {frame.tex(initialisation.weight_std(scheme, 128, 128), 4)},\quad "
        rf"\mathrm{{rms}}_0 = {frame.tex(float(values[0]))}",
        note=_("width 128; after {layers} layers the root mean square is {value}").format(
            layers=number(chosen["layers"]), value=significant(float(values[-1]))
        ),
    )
    shown = {
        "std of a weight": initialisation.weight_std(scheme, 128, 128),
        "first": float(values[0]),
        "last over first": float(values[-1] / values[0]),
    }
    chosen_net = {"SCHEME": scheme, "ACTIVATION": chosen["activation"], "LAYERS": chosen["layers"]}
    return chosen_net | notebooks.on_screen(shown)


part = frame.open_page(
    PAGE,
    _("Optimisers and schedules"),
    parts={
        "surface": _("On a surface"),
        "book": _("On real data"),
        "schedules": _("Schedules"),
        "clipping": _("Clipping"),
        "init": _("Initialisation"),
    },
)
diagram.slot()
parts = {"surface": surface, "book": book, "schedules": schedule, "clipping": clipping, "init": initial}
values = parts[part]()
frame.close_page(
    PAGE,
    sources=_(
        "vit-report sections 2.2, 2.3, 2.7, 2.8, 3.6 and 4 (listing 1); iiga-equations sections 13 and 16.2; Kingma and Ba 2015; "
        "Loshchilov and Hutter 2019; D12"
    ),
    values=values,
)
