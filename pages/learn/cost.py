"""Cost of the models: parameters, multiply-adds and memory by formula, by count, and in time on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from core.figures.learn import cost as figures
from core.figures.learn.diagrams.cost import cost_diagram
from core.lecture import claims as claims_of
from core.lecture import cost, cost_count, cost_growth, notebooks
from core.lecture.claims import Claim
from core.lecture.claims import cost as said
from core.lecture.cost import Kind
from core.lecture.cost_count import Row, Setup
from core.lecture.cost_growth import HEADS, TOKENS, WIDTHS, Layer
from pages.learn import diagram, frame, predict, questions
from pages.learn.amounts import amount, tex_amount, tex_amounts
from pages.shared import controls
from pages.shared.language import _, number, percent, significant, size
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

T = TypeVar("T")
PAGE = "cost"
RUNS = 5
"""Forward passes timed."""


@st.cache_data(show_spinner=False, max_entries=64)
def _rows(setup: Setup) -> list[Row]:
    return cost_count.rows(setup.config, setup.tokens)


@st.cache_data(show_spinner=False, max_entries=512)
def _layer(tokens: int, width: int, heads: int) -> Layer:
    return cost_growth.layer(tokens, width, heads)


@st.cache_data(show_spinner=False)
def _claims(frames: int, batch: int) -> list[cost_growth.DocumentNumber]:
    return cost_growth.claims(frames, batch)


def kind_names() -> dict[Kind, str]:
    """Each kind of module, by its name on the page."""
    return {
        "attention": _("attention"), "feed_forward": _("feed-forward"), "convolution": _("convolutions"),
        "embedding": _("embedding"), "positions": _("positions"), "norm": _("norms"), "head": _("head"),
    }  # fmt: skip


def setup_names(setups: dict[str, Setup]) -> dict[str, str]:
    """Each configuration's name on the page."""
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


def _diagram(tokens: int = 128, width: int = 40, heads: int = 1, *, dial: str = "") -> None:
    """The diagram of one layer; TLOB's first one where the part has no layer of its own."""
    diagram.show(cost_diagram(_layer(tokens, width, heads), amount=amount, size=size), dial=dial)


def models() -> dict[str, Any]:
    """Every configuration beside the others."""
    setups = cost_count.setups()
    names, wrong = setup_names(setups), 0
    rows: list[dict[str, Any]] = []
    shares: dict[str, dict[str, int]] = {}
    _diagram()
    for code, setup in controls.counted(setups.items(), _("Counting each model's multiply-adds…")):
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
    own = [place for place, setup in enumerate(setups.values()) if not setup.shipped]
    macs = [int(rows[place][_("MACs, counted")]) for place in own]
    if not predict.ask(lambda: questions.costliest_model([rows[place][_("Model")] for place in own], macs)):
        return predict.covered()
    labels = {str(kind): label for kind, label in kind_names().items()}
    static_plot(
        figures.kinds_figure(shares, labels), key="cost_kinds",
        alt=_("For each model the share of attention, feed-forward, convolutions and the rest in its multiply-adds."),
    )  # fmt: skip
    lean = cost.total(cost.parts(setups["tlob-lean"].config, 0))
    frame.equation(
        r"\text{MACs} = \sum_{\text{linear}} T\, n_{in}\, n_{out} + \sum_{\text{attention}} 2\, T_q T_k\, N d_k"
        r" + \sum_{\text{conv}} H'W' k_{conv}^2 \tfrac{c_{in}}{G} c_{out}",
        r"\begin{aligned} "
        + r" \\ ".join(rf"\text{{{row[_('Model')]}}} &: {tex_amount(row[_('MACs, counted')])}" for row in rows[:6])
        + r" \end{aligned}",
        note=_("one sample: a window, an image, a clip of {frames} frames, a date of {symbols} symbols").format(
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
    return cost_count.tlob_values(setups)


def _table(rows: list[dict[str, Any]], name: str) -> None:
    table = pd.DataFrame(rows)
    shown = {column: st.column_config.NumberColumn(format="localized") for column in table.select_dtypes("number").columns}
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=shown)
    with frame.controls_block(f"{name}_table"):
        controls.download_table(_("Table"), lambda: table, key=f"cost_{name}", filename=f"cost-{name}", formats=("csv",))


def stops(label: str, short: str, values: Sequence[int], default: int, key: str) -> frame.Dial:
    """A dial for one of some whole numbers."""
    options = frame.whole_numbers(*values)
    return frame.choice(label, options, key=key, default=str(default), widget=st.select_slider, value=int, short=short)


def modules() -> dict[str, Any]:
    """One model, one row per module, with T and D to move and a forward pass to time."""
    setups = cost_count.setups()
    names = setup_names(setups)

    def tokens(_values: object) -> int:  # the stops depend on the model, whose dial is drawn first
        code = str(st.session_state["setup"])
        setup = setups[code]
        default = cost.tokens_of(setup.config, setup.tokens)
        return int(stops(_("Tokens T"), "T", cost_growth.token_choices(setup), default, f"t_{code}").draw({}))

    def width(_values: object) -> int:
        code = str(st.session_state["setup"])
        setup = setups[code]
        return int(stops(_("Width D"), "D", cost_growth.width_choices(setup), setup.config.width, f"d_{code}").draw({}))

    chosen = frame.dials(
        "cost_dial",
        {
            "setup": frame.choice(_("Model"), names, key="setup", widget=st.selectbox),
            "t": frame.Dial("T", tokens),
            "d": frame.Dial("D", width),
        },
    )
    setup = cost_growth.sized(setups[chosen["setup"]], chosen["t"], chosen["d"])
    rows = _rows(setup)
    module_costs = [row.part for row in rows]
    total, kinds = cost.total(module_costs), kind_names()
    sums = cost.macs_by_kind(module_costs)
    by_name = {kinds[kind]: macs for kind, macs in sums.items()}
    if not predict.ask(lambda: questions.costliest_kind(names[chosen["setup"]], by_name, chosen["t"], chosen["d"])):
        return predict.covered()
    _diagram(chosen["t"], chosen["d"], dial="cost_dial")
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
        r"\text{linear} &: T n_{in} n_{out} \\ \text{convolution} &: H'W'k_{conv}^2\tfrac{c_{in}}{G}c_{out} \end{aligned}",
        rf"{numbers} = {sum_}",
        note=_("T = {t}, D = {d}; the sum of the table's formulas").format(t=chosen["t"], d=chosen["d"]),
    )
    _table(
        [
            {
                _("Module"): row.part.module,
                _("Kind"): kinds[row.part.kind],
                _("Shapes: in → out, map"): " → ".join(", ".join(map(str, shape)) for shape in row.shapes) or "–",
                _("Parameters, formula"): row.part.parameters,
                _("Parameters, counted"): row.parameters,
                _("Share of the parameters"): percent(row.parameters / counted.all_parameters, 2),
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
    _look("modules", said.MODULES, setup)
    listed = [(row.part.module, row.part.kind, row.parameters, row.macs) for row in rows]
    shown_sums = {"parameters": counted.all_parameters, "multiply-adds": counted.all_macs}
    return {"ROWS": listed, "T": chosen["t"], "D": chosen["d"], **notebooks.on_screen(shown_sums)}


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


def _look(which: str, claims: Iterable[Claim[T]], numbers: T) -> None:
    """Shows what to look for on a part: its passage, and what is true of the numbers."""
    frame.look_for(frame.passage(PAGE, which), *claims_of.told(claims, numbers))


def _layer_dials(key: str) -> tuple[int, int, int]:
    chosen = frame.dials(
        key,
        {
            "t": stops(_("Tokens T"), "T", TOKENS, 128, "layer_t"),
            "d": stops(_("Width D"), "D", WIDTHS, 40, "layer_d"),
            "n": stops(_("Heads N"), "N", HEADS, 1, "layer_n"),
        },
    )
    _diagram(chosen["t"], chosen["d"], chosen["n"], dial=key)
    return chosen["t"], chosen["d"], chosen["n"]


def growth() -> dict[str, Any]:
    """Scores against projections and the feed-forward network, with their constants."""
    t, d, n = _layer_dials("growth_dial")
    predict.ask(lambda: questions.tokens_doubled(t, d, n))
    found, along = _layer(t, d, n), cost_growth.growth(d, n)
    shown, sum_ = tex_amounts((found.projections, found.scores, found.feed_forward), found.macs)
    static_plot(
        figures.growth_figure(along, at=t), key="cost_growth",
        alt=_("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
    )  # fmt: skip
    frame.equation(
        r"\underbrace{4TD^2}_{Q,K,V,O} + \underbrace{2T^2D}_{QK^\top,\ AV} + \underbrace{8TD^2}_{\text{FFN}}",
        rf"\begin{{aligned}} & 4 \cdot {t} \cdot {d}^2 + 2 \cdot {t}^2 \cdot {d} + 8 \cdot {t} \cdot {d}^2 \\"
        rf"&= {' + '.join(shown)} = {sum_} \end{{aligned}}",
        note=_("multiply-adds of one layer; biases, softmax and norms are no matrix products and not counted"),
    )
    frame.equation(
        r"2T^2D = 4TD^2 \Leftrightarrow T = 2D, \qquad 2T^2D = 12TD^2 \Leftrightarrow T = 6D",
        rf"T = {frame.tex(along.crossing_attention, 0)}, \qquad T = {frame.tex(along.crossing_layer, 0)}",
        note=_("the orders O(T²D) and O(TD²) alone would cross at T = D = {d}").format(d=d),
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
    points = [("; ".join(dict.fromkeys(models_here)), *place) for place, models_here in together.items()]
    static_plot(
        figures.plane_figure(points, chosen=(t, d)), key="cost_plane",
        alt=_("Each model's attention by its width and its number of tokens, with the lines T = D, 2D and 6D."),
    )  # fmt: skip
    _look("growth", said.GROWTH, found)
    sums = {"projections": found.projections, "scores": found.scores, "feed-forward": found.feed_forward}
    crossings = [along.crossing_attention, along.crossing_layer]
    return {"T": t, "D": d, **notebooks.on_screen(sums | {"counted": found.counted, "crossings": crossings})}


def memory() -> dict[str, Any]:
    """Memory of the N T^2 attention weights against that of the feed-forward middle."""
    t, d, n = _layer_dials("memory_dial")
    predict.ask(lambda: questions.heads_doubled(t, d, n))
    found, along = _layer(t, d, n), cost_growth.growth(d, n)
    static_plot(
        figures.memory_figure(along, at=t), key="cost_memory",
        alt=_("Bytes of one layer's attention maps and of its feed-forward middle along T."),
    )  # fmt: skip
    frame.equation(
        r"\underbrace{N T^2}_{A}, \quad \underbrace{T \cdot 4D}_{\text{FFN}}, \qquad T^\ast = \frac{4D}{N}",
        rf"\begin{{aligned}} {n} \cdot {t}^2 \cdot 4\,\mathrm{{B}} &= {_tex_size(found.maps)} \\"
        rf"{t} \cdot 4 \cdot {d} \cdot 4\,\mathrm{{B}} &= {_tex_size(found.middle)} \\"
        rf"T^\ast &= {frame.tex(along.crossing_memory, 1)} \end{{aligned}}",
        note=_("float32: four bytes a number. More heads cost no more multiply-adds, but more maps."),
    )
    frame.check(
        _("At T = {t} the maps take {share} times the feed-forward middle.").format(
            t=number(t), share=significant(found.maps / found.middle)
        ),
        holds=True,
    )
    shown = {"maps": found.maps, "middle": found.middle, "equal at T": along.crossing_memory}
    return {"T": t, "D": d, "N": n, **notebooks.on_screen(shown | {"maps over middle": found.maps / found.middle})}


def _tex_size(count: int) -> str:
    return rf"\text{{{size(count)}}}"


def claim_names() -> dict[str, str]:
    """Name of each comparison of a document's number with a count."""
    return {
        "tlob_table": _("TLOB parameters: table, with its sum corrected"),
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
    """The numbers of tlob-architecture 6 and iiga-equations 14.3 beside counts."""
    chosen = frame.dials(
        "claims_dial",
        {
            "frames": frame.slider(_("Frames of a clip"), 1, 48, key="frames", default=12),
            "batch": frame.slider(_("Clips in the batch"), 1, 8, key="batch", default=2),
        },
    )
    frames, batch = chosen["frames"], chosen["batch"]
    found, names = _claims(frames, batch), claim_names()
    _diagram(dial="claims_dial")
    whole = next(claim for claim in found if claim.code == "iiga_total_batch")
    if not predict.ask(lambda: questions.whole_against_document(frames, batch, whole.document, whole.counted)):
        return predict.covered()
    static_plot(
        figures.claims_figure([(names[claim.code], claim.document, claim.counted) for claim in found]), key="cost_claims",
        alt=_("What is counted as a multiple of what the documents say, for each of their numbers."),
    )  # fmt: skip
    by_code = {claim.code: claim.counted for claim in found}
    layers, cnn = (by_code[code] for code in ("iiga_layers_one", "iiga_cnn_one"))
    (one_frame,), all_frames = tex_amounts([cnn // frames], cnn, compute=lambda one: frames * one)
    frame.equation(
        r"4\,(12TD^2 + 2T^2D), \qquad T \cdot \text{MobileNetV2}(224^2)",
        rf"\begin{{aligned}} 4\,(12 \cdot {frames} \cdot 1280^2 + 2 \cdot {frames}^2 \cdot 1280) &= {tex_amount(layers)} \\"
        rf"{frames} \cdot {one_frame} &= {all_frames} \end{{aligned}}",
        note=_("MACs of one clip; L = 2 layers are four attentions (D16)"),
    )
    _table(
        [
            {
                _("Number"): names[claim.code],
                _("The document says"): round(claim.document),
                _("Counted"): claim.counted,
                _("Counted / said"): round(claim.counted / claim.document, 3),
            }
            for claim in found
        ],
        "claims",
    )
    _look("claims", said.DOCUMENTS, found)
    documents = {claim.code: claim.document for claim in found}
    shown = notebooks.on_screen({"attention layers": layers, "convolutions": cnn})
    return {"FRAMES": frames, "CNN": cnn // frames, "SAID": documents, "COUNTED": by_code, **shown}


part = frame.open_page(
    PAGE,
    _("Cost"),
    parts={
        "models": _("All models"),
        "modules": _("Module by module"),
        "growth": _("T²D and TD²"),
        "memory": _("Memory"),
        "claims": _("The documents' numbers"),
    },
)
diagram.slot()
parts = {"models": models, "modules": modules, "growth": growth, "memory": memory, "claims": claims}
values = parts[part]()
if values:
    if part in ("models", "memory"):
        frame.look_for(frame.passage(PAGE, part))
    frame.close_page(
        PAGE,
        sources=_(
            "iiga-equations sections 1 and 14; tlob-architecture sections 6.1 to 6.3; vit-report section 1; "
            "Sandler et al. 2018; D4, D7, D16"
        ),
        values=values,
    )
else:  # its code and what to look for hold the answer too
    frame.link_only()
