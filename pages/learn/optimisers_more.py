"""Schedules, clipping and initialisation."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from core.figures.learn import optimisers as figures
from core.lecture import activations, initialisation, optimiser_examples
from core.lecture.initialisation import Scheme
from core.lecture.shown_digits import digits_needed
from pages.learn import frame
from pages.shared import url_state
from pages.shared.language import _, number, significant
from pages.shared.live_plot import static_plot

PEAK = 1e-3
FLOOR = 1e-4


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
            "step": frame.Dial(_("Step"), lambda: url_state.slider(_("Step"), 0, 1000, key="at_step", default=300)),
            "warmup": frame.Dial(
                _("Warm-up steps"), lambda: url_state.slider(_("Warm-up steps"), 1, 500, key="warmup", default=100)
            ),
            "floor": frame.Dial(
                _("lr_min, share of the peak"),
                lambda: url_state.slider(_("lr_min, share of the peak"), 0.0, 0.5, key="floor", default=0.1, step=0.05),
            ),
            "factor": frame.Dial(
                _("Exponential factor γ"),
                lambda: url_state.slider(_("Exponential factor γ"), 0.5, 0.99, key="gamma", default=0.8, step=0.01),
            ),
            "every": frame.Dial(
                _("Steps between its decays"),
                lambda: url_state.slider(_("Steps between its decays"), 10, 500, key="every", default=100, step=10),
            ),
        },
    )
    t, warmup, floor = int(chosen["step"]), int(chosen["warmup"]), PEAK * chosen["floor"]
    rates = optimiser_examples.rates(
        total=1000, peak=PEAK, warmup=warmup, floor=floor, factor=chosen["factor"], every=chosen["every"]
    )
    static_plot(
        figures.schedules_figure(rates, names=names, step=t, peak=PEAK), key="schedules",
        alt=_("Learning rate by step for four schedules."),
    )  # fmt: skip
    frame.look_for(frame.passage("optimisers", "schedules"))
    at = {code: frame.tex(1e3 * float(values[t]), 4) for code, values in rates.items()}
    frame.equation(
        r"\begin{aligned} \text{exponential: } & \alpha_0\,\gamma^{\lfloor t/s \rfloor} \\"
        r"\text{cosine: } & \tfrac{\alpha_0}{2}\left(1 + \cos\tfrac{\pi t}{T}\right) \\"
        r"\text{warm-up, report: } & \alpha_0 \tfrac{t}{w};\ \tfrac{\alpha_0}{2}\left(1 + \cos\tfrac{\pi (t-w)}{T-w}\right) \\"
        r"\text{warm-up, IIGA: } & \alpha_0 \tfrac{t}{w};\ \alpha_{min} + \tfrac{\alpha_0 - \alpha_{min}}{2}"
        r"\left(1 + \cos\tfrac{\pi (t-w)}{T-w}\right) \end{aligned}",
        r"\begin{aligned} "
        + r" \\ ".join(rf"\alpha_{{{t}}} &= {value} \cdot 10^{{-3}}" for value in at.values())
        + r"\end{aligned}",
        words=_("in the same order; α₀ = 0.001, T = 1000"),
    )
    return {"STEP": t, "WARMUP": warmup, "FLOOR": floor}


def clipping() -> dict[str, Any]:
    """A gradient's length is capped, its direction stays."""
    chosen = frame.dials(
        "clip_dial",
        {
            "norm": frame.Dial(
                _("Largest norm"), lambda: url_state.slider(_("Largest norm"), 0.1, 5.0, key="max_norm", default=1.0, step=0.1)
            ),
            "g1": frame.Dial("g₁", lambda: url_state.slider("g₁", -5.0, 5.0, key="g1", default=3.0, step=0.1)),
            "g2": frame.Dial("g₂", lambda: url_state.slider("g₂", -5.0, 5.0, key="g2", default=2.0, step=0.1)),
        },
    )
    largest = chosen["norm"]
    before, after, length = optimiser_examples.clipped((chosen["g1"], chosen["g2"]), largest)
    digits = digits_needed(optimiser_examples.clip_to, *before, largest, length)
    static_plot(
        figures.clip_figure(before, after, largest), key="clip",
        alt=_("The gradient, the circle of the largest norm, and the clipped gradient on it."),
    )  # fmt: skip
    frame.look_for(frame.passage("optimisers", "clipping"))
    frame.equation(
        r"\nabla\theta \leftarrow \nabla\theta \cdot \min\!\left(1, \frac{\text{max\_norm}}{\|\nabla\theta\|}\right)",
        rf"{frame.tex_row(before)} \cdot "
        rf"\min\!\left(1, \frac{{{frame.tex(largest, 1)}}}{{{frame.tex(length, digits)}}}\right) "
        rf"= {frame.tex_row(after, 3)}",
    )
    norms, clipped_norms = optimiser_examples.clipped_walk(largest)
    static_plot(
        figures.norms_figure(norms, clipped_norms, largest), key="clip_walk",
        alt=_("Gradient norm by step of a walk into the long bowl, before and after clipping."),
    )  # fmt: skip
    return {"LARGEST": largest}


@st.cache_data(show_spinner=False, max_entries=64)
def _signals(activation: str, layers: int) -> dict[str, Any]:
    return {scheme: initialisation.signal(scheme, activation, layers=layers) for scheme in initialisation.SCHEMES}


def initial() -> dict[str, Any]:
    """What becomes of a signal by how the weights start."""
    schemes = {
        "xavier": "Xavier", "he": "He", "report_qkv": _("report: W_Q, W_K, W_V"), "report_out": _("report: W_O"),
        "report_second": _("report: W_2"), "normal": _("N(0, 1)"),
    }  # fmt: skip
    kinds = {name: name for name in activations.ACTIVATIONS}
    chosen = frame.dials(
        "init_dial",
        {
            "scheme": frame.Dial(
                _("Scheme"),
                lambda: url_state.choice(st.segmented_control, _("Scheme"), schemes, key="scheme", required=True),
                lambda code: schemes[code],
            ),
            "activation": frame.Dial(
                _("Activation"),
                lambda: url_state.choice(st.segmented_control, _("Activation"), kinds, key="init_act", required=True),
            ),
            "layers": frame.Dial(_("Layers"), lambda: url_state.slider(_("Layers"), 1, 30, key="init_layers", default=12)),
        },
    )
    scheme = cast(Scheme, chosen["scheme"])
    signals = _signals(chosen["activation"], chosen["layers"])
    static_plot(
        figures.signal_figure(signals, names=schemes, chosen=scheme), key="signal",
        alt=_("Size of the activations by layer for six ways of drawing the weights."),
    )  # fmt: skip
    frame.look_for(frame.passage("optimisers", "init"))
    formula = {
        "xavier": r"W \sim U\!\left(-\sqrt{\tfrac{6}{n_{in}+n_{out}}},\ \sqrt{\tfrac{6}{n_{in}+n_{out}}}\right)",
        "he": r"W \sim N\!\left(0, \tfrac{2}{n_{in}}\right)",
        "report_qkv": r"W \sim U(-0.5\,s, 0.5\,s),\quad s = \sqrt{2/d}",
        "report_out": r"W \sim U(-0.8\,s, 0.8\,s),\quad s = \sqrt{2/d}",
        "report_second": r"\text{scale } 0.5\,\sqrt{1/d_{ff}}",
        "normal": r"W \sim N(0, 1)",
    }[scheme]
    values = signals[scheme]
    frame.equation(
        formula,
        rf"\mathrm{{std}}(W) = {frame.tex(initialisation.spread(scheme, 128, 128), 4)},\quad "
        rf"\mathrm{{rms}}_0 = {frame.tex(float(values[0]))}",
        words=_("width 128; after {layers} layers the root mean square is {value}").format(
            layers=number(chosen["layers"]), value=significant(float(values[-1]))
        ),
    )
    return {"SCHEME": scheme, "ACTIVATION": chosen["activation"]}
