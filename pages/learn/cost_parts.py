"""The parts of the page on cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import pandas as pd
import streamlit as st

from core.figures.learn import cost as figures
from core.lecture import cost, cost_count, cost_growth
from core.lecture.cost import Kind
from core.lecture.cost_count import Row, Setup
from core.lecture.cost_growth import HEADS, TOKENS, WIDTHS, Layer
from core.lecture.shown_digits import digits_needed
from core.lecture.shown_digits import total as total_of
from pages.learn import frame
from pages.shared import controls, url_state
from pages.shared.language import _, number, significant, size
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

RUNS = 5
MEGA, GIGA = 1e6, 1e9


@st.cache_data(show_spinner=False, max_entries=64)
def _rows(setup: Setup) -> list[Row]:
    return cost_count.rows(setup.config, setup.tokens)


@st.cache_data(show_spinner=False, max_entries=512)
def _layer(tokens: int, width: int, heads: int) -> Layer:
    return cost_growth.layer(tokens, width, heads)


@st.cache_data(show_spinner=False)
def _claims(frames: int, batch: int) -> list[cost_growth.Claim]:
    return cost_growth.claims(frames, batch)


def kind_names() -> dict[Kind, str]:
    """Each kind of part as a person calls it."""
    return {
        "attention": _("attention"), "feed_forward": _("feed-forward"), "convolution": _("convolutions"),
        "embedding": _("embedding"), "positions": _("positions"), "norm": _("norms"), "head": _("head"),
    }  # fmt: skip


def setup_names(setups: dict[str, Setup]) -> dict[str, str]:
    """Each configuration as a person calls it."""
    known = {
        "tlob": _("TLOB, the document's listing"),
        "tlob-lean": _("TLOB, lean layers"),
        "tlob-fi2010": _("TLOB, FI-2010"),
        "vit": _("ViT, default"),
        "iiga": _("IIGA, the document's"),
        "dates": _("Transformer of dates"),
    }
    kinds = {"tlob": "TLOB", "vit": "ViT", "iiga": "IIGA", "transformer": "Transformer"}
    return {
        code: known.get(code) or _("{model} as shipped: {name}").format(model=kinds[setup.model], name=setup.name)
        for code, setup in setups.items()
    }


def amount(count: float) -> str:
    """A count as a person says it: 62.1 M."""
    if count >= GIGA:
        return f"{significant(count / GIGA, 4)} G"
    return f"{significant(count / MEGA, 3)} M" if count >= MEGA else number(count)


def tex_amount(count: float) -> str:
    """The same for LaTeX."""
    written = amount(count).replace(",", "{,}").replace("\N{NO-BREAK SPACE}", r"\,")
    return written.replace(" M", r"\,\mathrm{M}").replace(" G", r"\,\mathrm{G}")


def tex_amounts(counts: Sequence[int], result: int, *, compute: Callable[..., float] = total_of) -> tuple[list[str], str]:
    """Counts and what they give, for LaTeX, all in one unit and with as many decimals as make the printed numbers agree.

    Args:
        compute: of the counts, in that unit.
    """
    unit, sign = (GIGA, "G") if result >= GIGA else (MEGA, "M") if result >= MEGA else (1, "")
    decimals = 0 if unit == 1 else next(n for n in range(1, 10) if result / unit >= 10 ** (2 - n))
    digits = 0 if unit == 1 else digits_needed(compute, *(count / unit for count in counts), result=decimals)
    mark = rf"\,\mathrm{{{sign}}}" if sign else ""
    shown = [frame.tex(count / unit, digits) + mark if round(count / unit, digits) else tex_amount(count) for count in counts]
    return shown, frame.tex(result / unit, decimals) + mark


def models() -> dict[str, Any]:
    """Every configuration beside the others."""
    setups = cost_count.setups()
    names, wrong = setup_names(setups), 0
    rows: list[dict[str, Any]] = []
    shares: dict[str, dict[str, int]] = {}
    for code, setup in setups.items():
        found = _rows(setup)
        counted = cost_count.count(setup.config, setup.tokens)
        total = cost.total([row.part for row in found])
        shares[names[code]] = {str(kind): macs for kind, macs in cost.macs_by_kind([row.part for row in found]).items()}
        wrong += (total.parameters, total.macs, total.maps) != (counted.all_parameters, counted.all_macs, counted.maps)
        rows.append(
            {
                _("Model"): names[code],
                "T": cost.tokens_of(setup.config, setup.tokens),
                "D": setup.config.width,
                _("Parameters, formula"): total.parameters,
                _("Parameters, counted"): counted.all_parameters,
                _("MACs, formula"): total.macs,
                _("MACs, counted"): counted.all_macs,
                _("Weights"): size(total.weight_bytes),
                _("Attention maps"): size(total.map_bytes),
                _("Largest tensor"): size(cost.BYTES * total.widest),
            }
        )
    labels = {str(kind): label for kind, label in kind_names().items()}
    static_plot(
        figures.kinds_figure(shares, labels), key="cost_kinds",
        alt=_("For each model the share of attention, feed-forward, convolutions and the rest in its multiply-adds."),
    )  # fmt: skip
    lean = cost.total(cost.parts(setups["tlob-lean"].config, 0))
    frame.equation(
        r"\text{MACs} = \sum_{\text{linear}} T\, n_{in}\, n_{out} + \sum_{\text{attention}} 2\, T_q T_k\, N d_k"
        r" + \sum_{\text{conv}} H'W' k^2 \tfrac{c_{in}}{g} c_{out}",
        r"\begin{aligned} "
        + r" \\ ".join(rf"\text{{{row[_('Model')]}}} &: {tex_amount(row[_('MACs, counted')])}" for row in rows[:6])
        + r" \end{aligned}",
        words=_("one sample: a window, an image, a clip of {frames} frames, a date of {symbols} symbols").format(
            frames=cost_count.FRAMES, symbols=cost_count.SOURCE
        ),
    )
    _table(rows, "models")
    frame.check(
        _("Formula and count agree for all {count} models: parameters, multiply-adds and attention weights.").format(
            count=len(rows)
        )
        if not wrong
        else _("Formula and count differ for {count} models.").format(count=wrong),
        holds=not wrong,
    )
    st.caption(
        _("The lean TLOB weighs {lean}, the listing {listed} MACs a window (D7).").format(
            lean=amount(lean.macs), listed=amount(cost.total(cost.parts(setups["tlob"].config, 0)).macs)
        )
    )
    return {}


def _table(rows: list[dict[str, Any]], name: str) -> None:
    table = pd.DataFrame(rows)
    shown = {column: st.column_config.NumberColumn(format="localized") for column in table.select_dtypes("number").columns}
    st.dataframe(table, hide_index=True, width="stretch", height=min(38 + 35 * len(table), 460), column_config=shown)
    with frame.controls_block(f"{name}_table"):
        controls.download_table(_("Table"), lambda: table, key=f"cost_{name}", filename=f"cost-{name}", formats=("csv",))


def _stops(label: str, stops: list[int], own: int, key: str) -> int:
    names = {str(stop): number(stop) for stop in stops}
    return int(url_state.choice(st.select_slider, label, names, key=key, default=str(own)))


def modules() -> dict[str, Any]:
    """One model, a row a module; T and D to move; timed here when asked."""
    setups = cost_count.setups()
    names = setup_names(setups)
    picked: dict[str, Setup] = {}

    def draw_setup() -> str:
        code = url_state.choice(st.selectbox, _("Model"), names, key="setup")
        picked["setup"] = setups[code]
        return code

    def draw(what: str) -> int:
        setup, code = picked["setup"], str(st.session_state["setup"])
        if what == "t":
            own = cost.tokens_of(setup.config, setup.tokens)
            return _stops(_("Tokens T"), cost_growth.token_choices(setup), own, f"t_{code}")
        return _stops(_("Width D"), cost_growth.width_choices(setup), setup.config.width, f"d_{code}")

    chosen = frame.dials(
        "cost_dial",
        {
            "setup": frame.Dial(_("Model"), draw_setup, lambda code: names[code]),
            "t": frame.Dial("T", lambda: draw("t")),
            "d": frame.Dial("D", lambda: draw("d")),
        },
    )
    setup = cost_growth.sized(picked["setup"], chosen["t"], chosen["d"])
    rows = _rows(setup)
    parts = [row.part for row in rows]
    total, kinds = cost.total(parts), kind_names()
    counted = cost_count.count(setup.config, setup.tokens)
    stat_strip(
        [
            Stat(name=_("Parameters"), value=number(counted.all_parameters), note=size(total.weight_bytes)),
            Stat(name=_("Multiply-adds"), value=amount(counted.all_macs), note=_("one sample; {flops} FLOPs").format(
                flops=amount(2 * counted.all_macs))),
            Stat(name=_("Attention maps"), value=number(counted.maps), note=size(total.map_bytes)),
            Stat(name=_("Largest tensor"), value=number(total.widest), note=size(cost.BYTES * total.widest)),
        ]
    )  # fmt: skip
    sums = cost.macs_by_kind(parts)
    static_plot(
        figures.kinds_figure(
            {names[chosen["setup"]]: {str(kind): macs for kind, macs in sums.items()}},
            {str(kind): label for kind, label in kinds.items()},
        ),
        key="cost_modules_kinds",
        alt=_("The share of attention, feed-forward, convolutions and the rest in this model's multiply-adds."),
    )
    shown, sum_ = tex_amounts(list(sums.values()), total.macs)
    numbers = " + ".join(rf"\underbrace{{{one}}}_{{\text{{{kinds[kind]}}}}}" for one, kind in zip(shown, sums, strict=True))
    frame.equation(
        r"\begin{aligned} \text{attention} &: 4TD^2 + 2T^2D \\ \text{feed-forward} &: 2TDD_{ff} \\"
        r"\text{linear} &: T n_{in} n_{out} \\ \text{convolution} &: H'W'k^2\tfrac{c_{in}}{g}c_{out} \end{aligned}",
        rf"{numbers} = {sum_}",
        words=_("T = {t}, D = {d}; the sum of the table's formulas").format(t=chosen["t"], d=chosen["d"]),
    )
    _table(
        [
            {
                _("Module"): row.part.module,
                _("Kind"): kinds[row.part.kind],
                _("Parameters, formula"): row.part.parameters,
                _("Parameters, counted"): row.parameters,
                _("MACs, formula"): row.part.macs,
                _("MACs, counted"): row.macs,
                _("Attention weights"): row.part.maps,
                _("Largest tensor, numbers"): row.part.widest,
            }
            for row in rows
        ],
        "modules",
    )
    wrong = [row.part.module for row in rows if not row.equal]
    frame.check(
        _("Formula and count agree in all {count} modules.").format(count=len(rows))
        if not wrong
        else _("Formula and count differ in {modules}.").format(modules=", ".join(wrong)),
        holds=not wrong,
    )
    _timed(setup, total.macs)
    return {"SETUP": chosen["setup"], "TOKENS": chosen["t"], "WIDTH": chosen["d"]}


def _timed(setup: Setup, macs: int) -> None:
    kept: dict[Setup, list[float]] = st.session_state.setdefault("cost:times", {})
    with frame.controls_block("timing"):
        asked = st.button(_("Time a forward pass on this machine"), icon=":material/timer:", key="cost:time")
    if asked:
        kept.pop(setup, None)
        times: list[float] = []
        bar = st.progress(0.0, _("Building the model…"))
        for spent in cost_count.pass_times(setup.config, setup.tokens, runs=RUNS):
            times.append(spent)
            bar.progress(len(times) / RUNS, _("Pass {n} of {count}").format(n=len(times), count=RUNS))
        bar.empty()
        kept[setup] = times
    if setup in kept:
        spent = median(kept[setup])
        stat_strip(
            [
                Stat(name=_("One forward pass here"), value=f"{significant(1000 * spent)} ms",
                     note=_("median of {count}, one sample, one thread").format(count=RUNS)),
                Stat(name=_("Fastest and slowest"),
                     value=f"{significant(1000 * min(kept[setup]))} – {significant(1000 * max(kept[setup]))} ms",
                     note=_("other work on the machine shows here")),
                Stat(name=_("Multiply-adds a second"), value=amount(macs / spent)),
            ]
        )  # fmt: skip
    else:
        st.caption(_("Not timed yet. The weights are untrained for this: they take the same time."))


def _layer_dials(key: str) -> tuple[int, int, int]:
    chosen = frame.dials(
        key,
        {
            "t": frame.Dial("T", lambda: _stops(_("Tokens T"), list(TOKENS), 128, "layer_t")),
            "d": frame.Dial("D", lambda: _stops(_("Width D"), list(WIDTHS), 40, "layer_d")),
            "n": frame.Dial("N", lambda: _stops(_("Heads N"), list(HEADS), 1, "layer_n")),
        },
    )
    return chosen["t"], chosen["d"], chosen["n"]


def growth() -> dict[str, Any]:
    """Scores against projections and the feed-forward network, with their constants."""
    t, d, n = _layer_dials("growth_dial")
    found, along = _layer(t, d, n), cost_growth.growth(d, n)
    shown, sum_ = tex_amounts((found.projections, found.scores, found.feed_forward), found.macs)
    static_plot(
        figures.growth_figure(along, at=t), key="cost_growth",
        alt=_("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
    )  # fmt: skip
    frame.equation(
        r"\underbrace{4TD^2}_{Q,K,V,O} + \underbrace{2T^2D}_{QK^\top,\ AV} + \underbrace{8TD^2}_{FFN}",
        rf"\begin{{aligned}} & 4 \cdot {t} \cdot {d}^2 + 2 \cdot {t}^2 \cdot {d} + 8 \cdot {t} \cdot {d}^2 \\"
        rf"&= {' + '.join(shown)} = {sum_} \end{{aligned}}",
        words=_("multiply-adds of one layer; biases, softmax and norms are no matrix products and not counted"),
    )
    frame.equation(
        r"2T^2D = 4TD^2 \Leftrightarrow T = 2D, \qquad 2T^2D = 12TD^2 \Leftrightarrow T = 6D",
        rf"T = {frame.tex(along.crossing_attention, 0)}, \qquad T = {frame.tex(along.crossing_layer, 0)}",
        words=_("the orders O(T²D) and O(TD²) alone would cross at T = D = {d}").format(d=d),
    )
    frame.check(
        _("PyTorch counts {counted} in the built layer; the formula says {formula}.").format(
            counted=number(found.counted), formula=number(found.macs)
        ),
        holds=found.counted == found.macs,
    )
    setups = cost_count.setups()
    names = setup_names(setups)
    together: dict[tuple[int, int], list[str]] = {}
    for code, tokens, width in cost_growth.places(setups):
        together.setdefault((tokens, width), []).append(names[code])
    points = [("; ".join(dict.fromkeys(found_here)), *place) for place, found_here in together.items()]
    static_plot(
        figures.plane_figure(points, chosen=(t, d)), key="cost_plane",
        alt=_("Each model's attention by its width and its number of tokens, with the lines T = D, 2D and 6D."),
    )  # fmt: skip
    return {"TOKENS": t, "WIDTH": d}


def memory() -> dict[str, Any]:
    """N T^2 weights against the feed-forward middle."""
    t, d, n = _layer_dials("memory_dial")
    found, along = _layer(t, d, n), cost_growth.growth(d, n)
    static_plot(
        figures.memory_figure(along, at=t), key="cost_memory",
        alt=_("Bytes of one layer's attention maps and of its feed-forward middle along T."),
    )  # fmt: skip
    frame.equation(
        r"\underbrace{N T^2}_{A}, \quad \underbrace{T \cdot 4D}_{FFN}, \qquad T^\ast = \frac{4D}{N}",
        rf"\begin{{aligned}} {n} \cdot {t}^2 \cdot 4\,\mathrm{{B}} &= {_tex_size(found.maps)} \\"
        rf"{t} \cdot 4 \cdot {d} \cdot 4\,\mathrm{{B}} &= {_tex_size(found.middle)} \\"
        rf"T^\ast &= {frame.tex(along.crossing_memory, 1)} \end{{aligned}}",
        words=_("float32: four bytes a number. More heads cost no more multiply-adds, but more maps."),
    )
    frame.check(
        _("At T = {t} the maps take {share} times the feed-forward middle.").format(
            t=number(t), share=significant(found.maps / found.middle)
        ),
        holds=True,
    )
    return {"TOKENS": t, "WIDTH": d}


def _tex_size(count: int) -> str:
    return rf"\text{{{size(count)}}}"


def claim_names() -> dict[str, str]:
    """What each of the documents' numbers is compared with."""
    return {
        "tlob_table": _("TLOB parameters: table, its sum put right"),
        "tlob_listing": _("TLOB parameters: the listing, built"),
        "tlob_scores": _("TLOB, 32 windows: QKᵀ alone, MACs"),
        "tlob_batch": _("TLOB, 32 windows: everything, FLOPs"),
        "iiga_cnn_one": _("IIGA convolutions: one clip, MACs"),
        "iiga_cnn_batch": _("IIGA convolutions: the batch, FLOPs"),
        "iiga_layers_one": _("IIGA attention layers: one clip, MACs"),
        "iiga_layers_batch": _("IIGA attention layers: the batch, FLOPs"),
        "iiga_total_one": _("IIGA in all: one clip, MACs"),
        "iiga_total_batch": _("IIGA in all: the batch, FLOPs"),
    }


def claims() -> dict[str, Any]:
    """tlob-architecture 6 and iiga-equations 14.3, their numbers beside counts."""
    chosen = frame.dials(
        "claims_dial",
        {
            "frames": frame.Dial(
                _("Frames of a clip"), lambda: url_state.slider(_("Frames of a clip"), 1, 48, key="frames", default=12)
            ),
            "batch": frame.Dial(
                _("Clips in the batch"), lambda: url_state.slider(_("Clips in the batch"), 1, 8, key="batch", default=2)
            ),
        },
    )
    frames, batch = chosen["frames"], chosen["batch"]
    found, names = _claims(frames, batch), claim_names()
    static_plot(
        figures.claims_figure([(names[one.code], one.said, one.found) for one in found]), key="cost_claims",
        alt=_("What is counted as a multiple of what the documents say, for each of their numbers."),
    )  # fmt: skip
    by_code = {one.code: one.found for one in found}
    layers, cnn = (by_code[code] for code in ("iiga_layers_one", "iiga_cnn_one"))
    (one_frame,), all_frames = tex_amounts([cnn // frames], cnn, compute=lambda one: frames * one)
    frame.equation(
        r"4\,(12TD^2 + 2T^2D), \qquad T \cdot \text{MobileNetV2}(224^2)",
        rf"\begin{{aligned}} 4\,(12 \cdot {frames} \cdot 1280^2 + 2 \cdot {frames}^2 \cdot 1280) &= {tex_amount(layers)} \\"
        rf"{frames} \cdot {one_frame} &= {all_frames} \end{{aligned}}",
        words=_("MACs of one clip; L = 2 layers are four attentions (D16)"),
    )
    _table(
        [
            {
                _("Number"): names[one.code],
                _("The document says"): round(one.said),
                _("Counted"): one.found,
                _("Counted / said"): round(one.found / one.said, 3),
            }
            for one in found
        ],
        "claims",
    )
    return {}
