"""Normalisation, activations and dropout, one batch and one number at a time; the place of the LayerNorm in a deep stack."""

from __future__ import annotations

from typing import Any, Final, cast

import streamlit as st

from core.figures.learn import norms as figures
from core.figures.learn.attention_steps import grouped_bars
from core.figures.learn.diagrams.norms import norms_diagram
from core.lecture import activations, claims, norm_examples, norms, notebooks, uses
from core.lecture.claims import norms as said
from core.lecture.norms import Norm
from core.lecture.shown_digits import digits_needed
from pages.learn import diagram, frame, predict, questions, what_moved
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot

PAGE: Final = "norms"

STANDARD: Final = r"\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}"
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


@st.cache_data(show_spinner=False, max_entries=256)
def _example(norm: Norm, level: float) -> norm_examples.NormExample:
    return norm_examples.normalise_example(norm, level=level)


def norm_names() -> dict[str, str]:
    """Each norm's name on the page."""
    return {"layer": "LayerNorm", "batch": "BatchNorm", "instance": "InstanceNorm", "bin": "BiN", "none": _("none")}


def group_names() -> dict[str, str]:
    """The numbers that share one mean and variance, by norm."""
    return {
        "layer": _("one moment<br>of a sample<br>(LayerNorm)"),
        "batch": _("one channel<br>of the batch<br>(BatchNorm)"),
        "instance": _("one channel<br>of a sample<br>(InstanceNorm)"),
    }


def formulas() -> dict[str, str]:
    """Each norm's equation in LaTeX, with the axes of its mean and variance."""
    over = {"layer": _("over channels"), "batch": _("over samples and time"), "instance": _("over time")}
    return {
        "none": r"y = x",
        "bin": r"y = \tfrac12\,\hat x_{\text{batch}} + \tfrac12\,\hat x_{\text{instance}}",
    } | {norm: STANDARD + rf",\quad \mu, \sigma^2 \text{{ {axes}}}" for norm, axes in over.items()}


def _diagram(part: str, into: Any, out: Any, name: str = "", *, dial: str = "", only: str = "") -> None:
    """The layer's diagram with a part's two numbers."""
    numbers = {part: (diagram.write(float(into)), diagram.write(float(out)))}
    diagram.show(norms_diagram(numbers, {part: name} if name else {}), dial=dial, only=only)


def normalisation() -> dict[str, Any]:
    """The same batch under five norms; the outlined cells share one mean and variance."""
    names = norm_names()
    chosen = frame.dials(
        "norm_dial",
        {
            "norm": frame.choice(_("Norm"), names, key="norm"),
            "level": frame.slider(_("Distance of the samples' levels"), 0.0, 10.0, key="norm_level", default=3.0, step=0.5),
            "sample": frame.slider(_("Sample"), 1, 3, key="norm_sample", default=2, reads=True),
            "time": frame.slider(_("Time"), 1, 16, key="norm_time", default=6, reads=True),
            "channel": frame.slider(_("Channel"), 1, 4, key="norm_channel", default=3, reads=True),
        },
    )
    norm = cast(Norm, chosen["norm"])
    example = _example(norm, chosen["level"])
    place = {"sample": chosen["sample"] - 1, "step": chosen["time"] - 1, "channel": chosen["channel"] - 1}
    cell = norm_examples.example_cell(norm, level=chosen["level"], **place)
    predict.ask(lambda: questions.tripled(norm, level=chosen["level"], **place))
    _diagram("norms", cell.x, cell.y, names[norm], dial="norm_dial")
    shown = place["sample"]
    channels = [str(channel + 1) for channel in range(example.after.shape[2])]
    view = f"sample {shown + 1}"
    moved = what_moved.track(view, example.after[shown].T, rows=channels)
    for sample, column in enumerate(st.columns(len(example.before))):
        with column:
            static_plot(
                figures.sample_figure(
                    example.before,
                    example.after,
                    sample,
                    group=cell.group,
                    name=names[norm],
                    moved=moved.rectangles if moved and sample == shown else (),
                ),
                key=f"norm_batch_{sample}",
                alt=_("Sample {n} before and after the norm; cells that share a mean and variance are outlined.").format(
                    n=sample + 1
                ),
            )
    what_moved.tell(view, moved, rows=[_("channel {n}").format(n=channel) for channel in channels])
    frame.look_for(frame.passage(PAGE, "norms"), *claims.told(said.NORMS, example))
    digits = 3 if norm == "none" else digits_needed(norm_examples.normalised_entry, *cell.numbers)
    x, *moments = (frame.tex(value, digits) for value in cell.numbers)
    fractions = [
        rf"\frac{{{x} - ({mean})}}{{\sqrt{{{variance} + 10^{{-5}}}}}}"
        for mean, variance in zip(moments[::2], moments[1::2], strict=True)
    ]
    halves = rf"\tfrac12 \cdot {fractions[0]} + \tfrac12 \cdot {fractions[-1]}"
    shown = x if norm == "none" else halves if norm == "bin" else fractions[0]
    frame.equation(
        formulas()[norm],
        rf"{shown} = {frame.tex(cell.y)}",
        note=_("sample {s}, time {t}, channel {c}; {count} numbers share the mean").format(
            s=chosen["sample"], t=chosen["time"], c=chosen["channel"], count=cell.count
        ),
    )
    groups = group_names()
    static_plot(
        figures.spread_figure([(groups[name], *off) for name, off in example.spread.items()]),
        key="norm_spread",
        alt=_("How far means are from 0 and standard deviations from 1 after the norm, for each kind of group."),
    )
    frame.check(
        _("The formula and PyTorch's layer differ by {gap} at most.").format(gap=f"{example.gap:.0e}"), holds=example.gap < 1e-9
    )
    over = [mean for mean, _off in (example.spread[name] for name in ("layer", "batch", "instance"))]
    on_screen = notebooks.on_screen({"x": cell.x, "y": cell.y, "largest means": over})
    return {"X": example.before, "NORM": norm, "AT": list(place.values()), **on_screen}


def activation() -> dict[str, Any]:
    """One activation, its derivative, and the point that is being read."""
    names = {"gelu": "GELU", "gelu_tanh": _("GELU, tanh form"), "relu": "ReLU", "relu6": "ReLU6"}
    names |= {"sigmoid": "sigmoid", "tanh": "tanh"}
    chosen = frame.dials(
        "act_dial",
        {
            "at": frame.slider("x", -4.0, 8.0, key="act_x", default=1.0, step=0.1),
            "name": frame.choice(_("Activation"), names, key="act"),
        },
    )
    name, at = chosen["name"], chosen["at"]
    predict.ask(lambda: questions.slope(name, names[name], at))
    x, curves = norm_examples.all_curves()
    found = activations.compared(name, at)
    _diagram("activations", at, found["value"], names[name].split(",")[0], dial="act_dial")
    labelled = {names[code]: pair for code, pair in curves.items()}
    static_plot(
        figures.activation_figure(x, labelled, chosen=names[name], at=at, value=found["value"], slope=found["derivative"]),
        key="activation",
        alt=_("The activation, its tangent at the chosen point, and below its derivative."),
    )
    frame.look_for(frame.passage(PAGE, "activations"))
    value, slope = ACTIVATION_FORMULAS[name]
    frame.equation(
        rf"\begin{{aligned}} f(x) &= {value} \\ f'(x) &= {slope} \end{{aligned}}",
        rf"\begin{{aligned}} f({frame.tex(at, 1)}) &= {frame.tex(found['value'], 5)} \\"
        rf"f'({frame.tex(at, 1)}) &= {frame.tex(found['derivative'], 5)} \end{{aligned}}",
    )
    gap = max(abs(found["value"] - found["torch"]), abs(found["derivative"] - found["autograd"]))
    frame.check(
        _("The formula and PyTorch differ by {gap} at most, in value and derivative.").format(gap=f"{gap:.0e}"), holds=gap < 1e-9
    )
    if name.startswith("gelu"):
        grid, values, slopes = norm_examples.gelu_gaps()
        static_plot(
            figures.gelu_gap_figure(grid, values, slopes), key="gelu_gap",
            alt=_("How far the tanh form of GELU and its derivative are from the exact ones."),
        )  # fmt: skip
    shown_at = {"value": found["value"], "derivative": found["derivative"]}
    return {"NAME": name, "AT": at, **notebooks.on_screen(shown_at, 5)}


def softmax() -> dict[str, Any]:
    """Shows why the maximum is subtracted before the exponential."""
    dial = frame.slider(_("Added to every score"), 0.0, 120.0, key="soft_shift", default=88.0, step=1.0)
    shift = frame.dials("soft_dial", {"shift": dial})["shift"]
    predict.ask(lambda: questions.plain_softmax(shift))
    x, safe, plain = norm_examples.softmax_pair(shift)
    _diagram("softmax", x[0], safe[0], only="shift")
    static_plot(
        figures.softmax_figure(x, safe, plain), key="stable_softmax",
        alt=_("Softmax of five scores with and without subtracting the largest."),
    )  # fmt: skip
    scores = [_("score {n}").format(n=index + 1) for index in range(len(x))]
    moved = what_moved.track("stable softmax", safe[:, None], rows=scores)
    what_moved.tell("stable softmax", moved, rows=scores, columns=[_("weight")])
    frame.look_for(*claims.told(said.SOFTMAX, (x, plain)), frame.passage(PAGE, "softmax"))
    frame.equation(
        r"\mathrm{softmax}(x)_i = \frac{e^{x_i - \max_j x_j}}{\sum_k e^{x_k - \max_j x_j}}",
        rf"\begin{{gathered}} x = {frame.tex_row(x.tolist(), 1)} \\ {frame.tex_row(safe.tolist(), 4)} \end{{gathered}}",
        note=_("float32, the precision the models compute in"),
    )
    broken = bool((plain != plain).any())
    frame.check(
        _("Without the maximum the exponentials overflow: not a number.") if broken else _("Both forms give the same here."),
        holds=not broken,
    )
    return {"SCORES": x, **notebooks.on_screen({"softmax": safe, "overflows": float(broken)}, 4)}


def dropout() -> dict[str, Any]:
    """One draw of dropout, and the mean over many."""
    chosen = frame.dials(
        "drop_dial",
        {
            "rate": frame.slider(_("Dropout rate"), 0.0, 0.9, key="drop_rate", default=0.3, step=0.05),
            "draw": frame.slider(_("Draw"), 1, 20, key="drop_draw", default=1),
        },
    )
    rate = chosen["rate"]
    predict.ask(lambda: questions.dropped(rate))
    example = norm_examples.dropout_example(rate, seed=chosen["draw"])
    rate_shown = _("rate {rate}").format(rate=number(rate, 2))
    _diagram("dropout", example.before[0, 0], example.after[0, 0], rate_shown, dial="drop_dial")
    before, after = figures.dropout_figures(example.before, example.after)
    left, right = st.columns(2)
    with left:
        static_plot(before, key="dropout_before", alt=_("A matrix before dropout."))
    with right:
        static_plot(after, key="dropout_after", alt=_("The matrix after dropout: some entries are zero, the others larger."))
    frame.look_for(frame.passage(PAGE, "dropout"), *claims.told(said.DROPOUT, example))
    frame.equation(
        r"y_{ij} = \begin{cases} x_{ij} / p & r_{ij} < p \\ 0 & \text{else} \end{cases}\qquad p = 1 - \text{rate}",
        rf"y_{{11}} = {frame.tex(float(example.after[0, 0]))},\quad x_{{11}} / p = {frame.tex(float(example.before[0, 0]))} / "
        rf"{frame.tex(1 - rate, 2)} = {frame.tex(float(example.before[0, 0]) / (1 - rate))}",
        note=_("{share} of the entries kept in this draw").format(share=percent(example.kept, 0)),
    )
    static_plot(
        figures.sums_figure(example.means, expected=example.expected), key="dropout_means",
        alt=_("The mean of 64 ones after dropout, over 400 draws, around 1."),
    )  # fmt: skip
    mean = float(example.means.mean())
    frame.check(
        _("Over 400 draws the mean is {mean}: dropping adds noise, and no shift.").format(mean=number(mean, 3)),
        holds=abs(mean - 1) < 0.05,
    )
    shown = {"top left": example.after[0, 0], "share kept": example.kept}
    return {"X": example.before, "KEPT": (example.after != 0).astype(int), "RATE": rate, **notebooks.on_screen(shown)}


@st.cache_data(show_spinner=False, max_entries=256)
def _depth(layers: int, seed: int) -> tuple[norms.DepthGradients, norms.DepthGradients]:
    return norms.depth_gradients(layers, pre_norm=False, seed=seed), norms.depth_gradients(layers, pre_norm=True, seed=seed)


def depth() -> dict[str, Any]:
    """Gradient of each layer at initialisation, post-norm against pre-norm."""
    chosen = frame.dials(
        "depth_dial",
        {
            "layers": frame.slider(_("Layers"), 2, 16, key="depth_layers", default=8),
            "seed": frame.slider(_("Draw of the weights"), 1, 10, key="depth_seed", default=1),
        },
    )
    predict.ask(lambda: questions.deeper(chosen["layers"], chosen["seed"]))
    post, pre = _depth(chosen["layers"], chosen["seed"])
    static_plot(
        figures.depth_figure(post.gradients, pre.gradients, title=_("Gradient norm of the layer")), key="depth_gradients",
        alt=_("Norm of the gradient by each layer's weights, post-norm against pre-norm."),
    )  # fmt: skip
    frame.look_for(*claims.told(said.DEPTH, (post, pre)), frame.passage(PAGE, "depth"))
    last = chosen["layers"]
    ratio_post, ratio_pre = (float(one.gradients[-1] / one.gradients[0]) for one in (post, pre))
    _diagram("depth", ratio_post, ratio_pre, dial="depth_dial")
    frame.equation(
        r"\begin{aligned} \text{post: } & x_{l+1} = \mathrm{LayerNorm}(x_l + \mathrm{Sublayer}(x_l)) \\"
        r"\text{pre: } & x_{l+1} = x_l + \mathrm{Sublayer}(\mathrm{LayerNorm}(x_l)) \end{aligned}",
        rf"\begin{{aligned}} \|\nabla^{{\text{{post}}}}_{{{last}}}\| / "
        rf"\|\nabla^{{\text{{post}}}}_1\| &= {frame.tex(ratio_post)} \\"
        rf"\|\nabla^{{\text{{pre}}}}_{{{last}}}\| / \|\nabla^{{\text{{pre}}}}_1\| &= {frame.tex(ratio_pre)} \end{{aligned}}",
        note=_("last layer against first, post-norm above, pre-norm below"),
    )
    static_plot(
        figures.depth_figure(
            post.activations, pre.activations, title=_("Root mean square of the activations"), first=0, log=False
        ),
        key="depth_activations",
        alt=_("Size of the activations by layer, post-norm against pre-norm."),
    )
    shown = {"post-norm": ratio_post, "pre-norm": ratio_pre}
    return {"LAYERS": last, "SEED": chosen["seed"], **notebooks.on_screen(shown)}


def without_root() -> dict[str, Any]:
    """LayerNorm beside the notebook's formula, which lacks the square root (D22)."""
    chosen = frame.dials(
        "root_dial",
        {
            "scale": frame.slider(_("All features times"), 0.1, 10.0, key="root_scale", default=2.0, step=0.1, short=_("Scale")),
            "sample": frame.slider(_("Item"), 1, 3, key="root_item", default=1),
        },
    )
    drawn = notebooks.rounded(norms.example_batch()[chosen["sample"] - 1, 0].numpy(), 2)
    x = chosen["scale"] * drawn
    right, written = uses.without_root(x)
    frame.equation(
        r"\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \qquad \text{D22: } \frac{x - \mu}{\sigma^2 + \varepsilon}",
        rf"\begin{{aligned}} \sigma &= {frame.tex(float(x.std()))},\ \sigma^2 = {frame.tex(float(x.var()))} \\ "
        rf"\mathrm{{std}}(\hat x) &= {frame.tex(float(right.std()))} \\ "
        rf"\text{{D22: }} &= {frame.tex(float(written.std()))} \end{{aligned}}",
        note=_("without the root the spread is 1 over the spread of the input"),
    )
    static_plot(
        grouped_bars({"x": x, _("with the root"): right, _("without"): written}, x_title=_("Feature"), y_title=_("Value")),
        key="root_bars",
        alt=_("Four features of an item, with LayerNorm and with the formula that lacks the root."),
    )
    frame.check(
        _("Both agree only where the spread is 1; here they differ by {gap} at most.").format(
            gap=number(float(abs(right - written).max()), 3)
        ),
        holds=float(abs(right - written).max()) < 0.01,
    )
    frame.look_for(frame.passage(PAGE, "without_root"))
    shown = {"with the root": right, "without": written, "spread with": right.std(), "spread without": written.std()}
    return {"X": drawn, "SCALE": chosen["scale"], **notebooks.on_screen(shown)}


part = frame.open_page(
    PAGE,
    _("Norms, activations, dropout"),
    parts={
        "norms": _("Normalisation"),
        "activations": _("Activations"),
        "softmax": _("Stable softmax"),
        "dropout": _("Dropout"),
        "depth": _("Post-norm, pre-norm"),
        "without_root": _("Without the root"),
    },
)
diagram.slot()
parts = {
    "norms": normalisation,
    "activations": activation,
    "softmax": softmax,
    "dropout": dropout,
    "depth": depth,
    "without_root": without_root,
}
values = parts[part]()
frame.close_page(
    PAGE,
    sources=_(
        "vit-report sections 2.3, 2.4, 3.3 to 3.5; iiga-equations sections 3.2, 6, 7, 8.2, 9.1 and 16; tlob-architecture "
        "section 2.2; Xiong et al. 2020; D5, D15, D22"
    ),
    values=values,
)
