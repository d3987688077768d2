"""Normalisation, activations, dropout; the place of the LayerNorm in a deep stack, and how its weights start."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final

import streamlit as st

from core.figures.learn import norms as figures
from core.figures.learn.attention_steps import grouped_bars
from core.lecture import activations, initialisation, norms
from core.lecture.initialisation import Scheme
from core.lecture.norms import Norm
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import digits_needed, flat
from pages.learn.frame import Worked, choice, slider, tex, tex_row
from pages.learn.lesson_page import Drawn, LessonPage, Part, PartView, caption, check, plot, render, written
from pages.learn.what_moved import Followed
from pages.shared.language import N_, _, number, percent, significant

STANDARD: Final = r"\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}"
DRAWN: Final[dict[str, str]] = {
    "xavier": r"W \sim \mathcal{U}\!\left(-\sqrt{\tfrac{6}{n_{in}+n_{out}}},\ \sqrt{\tfrac{6}{n_{in}+n_{out}}}\right)",
    "he": r"W \sim \mathcal{N}\!\left(0, \tfrac{2}{n_{in}}\right)",
    "report_qkv": r"W \sim \mathcal{U}(-0.5\sqrt{2/D}, 0.5\sqrt{2/D})",
    "report_out": r"W \sim \mathcal{U}(-0.8\sqrt{2/D}, 0.8\sqrt{2/D})",
    "report_second": r"\text{scale } 0.5\,\sqrt{1/D_{ff}}",
    "normal": r"W \sim \mathcal{N}(0, 1)",
}
"""Weights at the start, by scheme."""
NORMS: Final = {"layer": "LayerNorm", "batch": "BatchNorm", "instance": "InstanceNorm", "bin": "BiN", "none": N_("none")}
NAMES: Final = {"gelu": "GELU", "gelu_tanh": N_("GELU, tanh form"), "relu": "ReLU", "relu6": "ReLU6"} | {
    "sigmoid": "sigmoid",
    "tanh": "tanh",
}
"""Norms and activations by their names on the page."""
SEED: Final = 1
"""The draw of the stack's weights that is followed; the lines are the means of all draws."""
ACTIVATION_FORMULAS: Final = {
    "relu": (r"\max(0, x)", r"\mathbb{1}[x > 0]"),
    "relu6": (r"\min(\max(0, x), 6)", r"\mathbb{1}[0 < x < 6]"),
    "gelu": (r"x\,\Phi(x)", r"\Phi(x) + x\,\phi(x)"),
    "gelu_tanh": (
        r"\tfrac12 x\left(1 + \tanh\!\left[\sqrt{\tfrac2\pi}\,(x + 0.044715\,x^3)\right]\right)",
        r"\tfrac12(1 + u) + \tfrac12 x (1 - u^2)\sqrt{\tfrac2\pi}\,(1 + 0.134145\,x^2)",
    ),
    "sigmoid": (r"\frac{1}{1 + e^{-x}}", r"f(x)\,(1 - f(x))"),
    "tanh": (r"\frac{e^x - e^{-x}}{e^x + e^{-x}}", r"1 - f(x)^2"),
}

_example = st.cache_data(show_spinner=False, max_entries=256)(norms.normalise_example)
_last = st.cache_data(show_spinner=False, max_entries=256)(norms.last_gradient)
_every = st.cache_data(show_spinner=False)(norms.last_gradients)


def _normalised(norm: Norm, cell: norms.NormalisedCell, at: tuple[int, int, int]) -> Worked:
    """One number of the batch, normalised."""
    over = {"layer": _("over channels"), "batch": _("over samples and time"), "instance": _("over time")}
    halves = r"y = \tfrac12\,\hat x_{\text{batch}} + \tfrac12\,\hat x_{\text{instance}}"
    formulas = {"none": r"y = x", "bin": halves}
    formulas |= {name: STANDARD + rf",\quad \mu, \sigma^2 \text{{ {axes}}}" for name, axes in over.items()}
    s, t, c = at
    if norm == "none":
        where = _("sample {s}, time {t}, channel {c}").format(s=s, t=t, c=c)
        return Worked(formulas[norm], rf"y = {tex(cell.y)}", where)
    moments = list(zip(cell.means, cell.variances, strict=True))
    shown = partial(tex, digits=digits_needed(norms.normalised_entry, cell.x, *flat(moments)))
    fractions = [
        rf"\frac{{{shown(cell.x)} - ({shown(mean)})}}{{\sqrt{{{shown(variance)} + 10^{{-5}}}}}}" for mean, variance in moments
    ]
    if norm == "bin":
        fractions = [rf"\tfrac12 \cdot {fractions[0]} + \tfrac12 \cdot {fractions[-1]}"]
    note = _("sample {s}, time {t}, channel {c}; {count} numbers share the mean").format(s=s, t=t, c=c, count=cell.count)
    return Worked(formulas[norm], rf"{fractions[0]} = {tex(cell.y)}", note)


def normalisation(
    norm: Annotated[Norm, choice(_("Norm"), NORMS, key="norm")],
    level: Annotated[float, slider(_("Distance of the samples' levels"), 0.0, 10.0, key="norm_level", default=3.0, step=0.5)],
    sample: Annotated[int, slider(_("Sample"), 1, 3, key="norm_sample", default=2, reads=True)],
    time: Annotated[int, slider(_("Time"), 1, 16, key="norm_time", default=6, reads=True)],
    channel: Annotated[int, slider(_("Channel"), 1, 4, key="norm_channel", default=3, reads=True)],
) -> PartView:
    """The same batch under five norms; the outlined cells share one mean and variance."""
    example, name = _example(norm, level=level), _(NORMS[norm])
    place = {"sample": sample - 1, "step": time - 1, "channel": channel - 1}
    cell = norms.example_cell(norm, level=level, **place)
    alt = _("Sample {n} before and after the norm; cells that share a mean and variance are outlined.")

    def one(n: int, moved: Any = None) -> list[Drawn]:
        change = moved if n == sample else None
        drawn = figures.sample_matrices(example.before, example.after, n - 1, group=cell.group, name=name, moved=change)
        return [plot(each, f"norm_batch_{n - 1}_{state}", alt.format(n=n)) for state, each in enumerate(drawn)]

    def figure(moved: Any) -> list[Any]:
        return [[one(n + 1, moved) for n in range(len(example.before))]]

    channels = [_("channel {number}").format(number=n + 1) for n in range(example.after.shape[2])]
    return PartView(
        equation=_normalised(norm, cell, (sample, time, channel)),
        figure=figure,
        followed=Followed(name=f"sample {sample}", values=example.after[sample - 1].T, rows=channels),
        more=[
            check(
                _("The formula and PyTorch's layer differ by {gap} at most.").format(gap=written(example.gap, -1)),
                example.gap < 1e-9,
            )
        ],
        asked=lambda: (_("the normalised number"), cell.y),
        notebook_values=lambda: (
            {"X": example.before, "NORM": norm, "AT": list(place.values())} | on_screen({"x": cell.x, "y": cell.y})
        ),
    )


def activation(
    at: Annotated[float, slider("x", -4.0, 8.0, key="act_x", default=1.0, step=0.1)],
    name: Annotated[str, choice(_("Activation"), NAMES, key="act")],
) -> PartView:
    """One activation, its derivative, and the point that is being read."""
    (x, curves), comparison = activations.curves(), activations.compared(name, at)
    value, slope = comparison["value"], comparison["derivative"]
    gap = max(abs(value - comparison["torch"]), abs(slope - comparison["autograd"]))
    labelled = {_(NAMES[code]): pair for code, pair in curves.items()}
    drawn = figures.activation_figure(x, labelled, chosen=_(NAMES[name]), at=at, value=value, slope=slope)
    f, derivative = ACTIVATION_FORMULAS[name]
    agree = _("The formula and PyTorch differ by {gap} at most, in value and derivative.").format(gap=written(gap, -1))
    return PartView(
        equation=Worked(
            rf"\begin{{aligned}} f(x) &= {f} \\ f'(x) &= {derivative} \end{{aligned}}",
            rf"\begin{{aligned}} f({tex(at, 1)}) &= {tex(value, 5)} \\f'({tex(at, 1)}) &= {tex(slope, 5)} \end{{aligned}}",
        ),
        figure=[plot(drawn, "activation", _("The activation, its tangent at the chosen point, and below its derivative."))],
        more=[check(agree, gap < 1e-9)],
        asked=lambda: (_("the slope at x"), slope),
        notebook_values=lambda: {"NAME": name, "AT": at} | on_screen({"value": value, "derivative": slope}, 5),
    )


def softmax(
    shift: Annotated[float, slider(_("Added to every score"), 0.0, 120.0, key="soft_shift", default=88.0, step=1.0)],
) -> PartView:
    """Shows why the maximum is subtracted before the exponential."""
    x, safe, plain = norms.softmax_pair(shift)
    broken = bool((plain != plain).any())
    verdict = _("Without the maximum the exponentials overflow: not a number.") if broken else _("Both forms give the same here.")
    scores = [_("score {n}").format(n=index + 1) for index in range(len(x))]
    alt = _("Softmax of five scores with and without subtracting the largest.")
    rows, names = {_("with the maximum"): safe, _("without"): plain}, [significant(one, 4) for one in x]
    bars = grouped_bars(rows, x_title=_("Score"), y_title=_("Probability"), names=names)
    return PartView(
        equation=Worked(
            r"\mathrm{softmax}(x)_i = \frac{e^{x_i - \max_j x_j}}{\sum_k e^{x_k - \max_j x_j}}",
            rf"\begin{{gathered}} x = {tex_row(x.tolist(), 1)} \\ {tex_row(safe.tolist(), 4)} \end{{gathered}}",
            _("float32, the precision the models compute in"),
        ),
        figure=[plot(bars, "stable_softmax", alt)],
        followed=Followed(name="stable softmax", values=safe[:, None], rows=scores, columns=[_("Weight")]),
        more=[check(verdict, not broken)],
        asked=lambda: (_("the largest weight of the stable softmax"), float(safe.max())),
        notebook_values=lambda: {"SCORES": x} | on_screen({"softmax": safe, "overflows": float(broken)}, 4),
    )


def dropout(
    rate: Annotated[float, slider(_("Dropout rate"), 0.0, 0.9, key="drop_rate", default=0.3, step=0.05)],
    draw: Annotated[int, slider(_("Draw"), 1, 20, key="drop_draw", default=1)],
) -> PartView:
    """One draw of dropout, and the mean over many."""
    example = norms.dropout_example(rate, seed=draw)
    before, after = figures.dropout_matrices(example.before, example.after)
    x, y, mean = float(example.before[0, 0]), float(example.after[0, 0]), float(example.means.mean())
    noise = _(
        "Over 400 draws the mean of 64 ones is {mean}, its spread {spread}: dropping adds that spread, and no shift."
    ).format(mean=number(mean, 3), spread=number(float(example.means.std()), 3))
    return PartView(
        equation=Worked(
            r"y_{ij} = \begin{cases} x_{ij} / p & r_{ij} < p \\ 0 & \text{else} \end{cases}\qquad p = 1 - \text{rate}",
            rf"y_{{11}} = {tex(y)},\quad x_{{11}} / p = {tex(x)} / {tex(1 - rate, 2)} = {tex(x / (1 - rate))}",
            _("{share} of the entries kept in this draw").format(share=percent(float(example.kept.mean()), 0)),
        ),
        figure=[
            [
                plot(before, "dropout_before", _("A matrix before dropout.")),
                plot(after, "dropout_after", _("The matrix after dropout: some entries are zero, the others larger.")),
            ]
        ],
        more=[check(noise, abs(mean - 1) < 0.05)],
        asked=lambda: (_("the spread of the mean over many draws"), float(example.means.std())),
        notebook_values=lambda: (
            {"X": example.before, "KEPT": example.kept.astype(int), "RATE": rate}
            | on_screen({"top left": y, "share kept": float(example.kept.mean())})
        ),
    )


def depth(layers: Annotated[int, slider(_("Layers"), 2, 16, key="depth_layers", default=8)]) -> PartView:
    """Gradient of the last layer at initialisation against the number of layers, post-norm and pre-norm (Xiong et al. 2020)."""
    post, pre = (_last(layers, pre_norm=pre_norm, seed=SEED) for pre_norm in (False, True))
    draws = [_every(pre_norm=pre_norm) for pre_norm in (False, True)]
    gradients = figures.depth_figure(
        [one.mean(axis=0) for one in draws], [one[SEED - 1] for one in draws], layers=norms.DEPTHS, at=(layers, post, pre)
    )
    return PartView(
        equation=Worked(
            r"\begin{aligned} \text{post: } & x_{l+1} = \mathrm{LayerNorm}(x_l + \mathrm{Sublayer}(x_l)) \\"
            r"\text{pre: } & x_{l+1} = x_l + \mathrm{Sublayer}(\mathrm{LayerNorm}(x_l)) \end{aligned}",
            rf"\begin{{aligned}} \|\nabla^{{\text{{post}}}}_{{{layers}}}\| &= {tex(post)} \\"
            rf"\|\nabla^{{\text{{pre}}}}_{{{layers}}}\| &= {tex(pre)} \end{{aligned}}",
            _("the last of {layers} layers, in this draw").format(layers=number(layers)),
        ),
        figure=[plot(gradients, "depth_gradients", _("Norm of the last layer's gradient by the number of layers, both norms."))],
        asked=lambda: (_("the last layer's gradient in post-norm"), post),
        notebook_values=lambda: {"LAYERS": layers, "SEED": SEED} | on_screen({"post-norm": post, "pre-norm": pre}),
    )


@st.cache_data(show_spinner=False, max_entries=64)
def _signals(activation: str, layers: int) -> dict[str, Any]:
    return {scheme: initialisation.signal(scheme, activation, layers=layers) for scheme in initialisation.SCHEMES}


def scheme_names() -> dict[str, str]:
    """Each way to draw the weights, by its name on the page."""
    return {
        "xavier": "Xavier",
        "he": "He",
        "report_qkv": _("report: {matrix}").format(matrix="W_Q, W_K, W_V"),
        "report_out": _("report: {matrix}").format(matrix="W_O"),
        "report_second": _("report: {matrix}").format(matrix="W_2"),
        "normal": "N(0, 1)",
    }


def initial(
    scheme: Annotated[Scheme, choice(_("Scheme"), scheme_names(), key="scheme")],
    activation: Annotated[str, choice(_("Activation"), {name: name for name in activations.ACTIVATIONS}, key="init_act")],
    layers: Annotated[int, slider(_("Layers"), 1, 30, key="init_layers", default=12)],
) -> PartView:
    """Size of the activations by layer, for several ways to draw the initial weights."""
    signals = _signals(activation, layers)
    std, (sizes, apart) = initialisation.weight_std(scheme, 128, 128), signals[scheme]
    drawn = figures.signal_figure({one: every for one, (every, _apart) in signals.items()}, names=scheme_names(), chosen=scheme)
    note = _("width 128; the root mean square after layer {layers} is {value}")
    ends = _("Two inputs {before} apart end {after} apart.").format(
        before=significant(initialisation.APART), after=significant(apart)
    )
    shown = {"std of a weight": std, "first": sizes[0], "last over first": sizes[-1] / sizes[0]}
    return PartView(
        equation=Worked(
            DRAWN[scheme],
            rf"\mathrm{{std}}(W) = {tex(std, 4)},\quad \mathrm{{rms}}_0 = {tex(sizes[0])}",
            note.format(layers=number(layers), value=significant(sizes[-1])),
        ),
        figure=[plot(drawn, "signal", _("Size of the activations by layer for six ways of drawing the weights."))],
        more=[caption(ends)],
        asked=lambda: (_("the size of the last layer's activations"), float(sizes[-1])),
        notebook_values=lambda: {"SCHEME": scheme, "ACTIVATION": activation, "LAYERS": layers, **on_screen(shown)},
    )


render(
    LessonPage(
        "norms",
        _("Norms, activations, dropout"),
        [
            Part("norms", _("Normalisation"), normalisation, "norm_dial"),
            Part("activations", _("Activations"), activation, "act_dial"),
            Part("softmax", _("Stable softmax"), softmax, "soft_dial"),
            Part("dropout", _("Dropout"), dropout, "drop_dial"),
            Part("depth", "Post-norm, pre-norm", depth, "depth_dial"),
            Part("init", _("Initialisation"), initial, "init_dial"),
        ],
        "vit-report 2.2–2.4, 3.3–3.5, 4; iiga-equations 3.2, 6, 7, 8.2, 9.1, 16; tlob-architecture 2.2; "
        "Xiong et al. 2020; D5, D15, D22",
    )
)
