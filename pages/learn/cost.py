"""Cost of the models: parameters, multiply-adds and memory, by formula and by count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.figures.learn import cost as figures
from core.figures.learn.cost import cost_diagram
from core.figures.learn.diagrams.blocks import Diagram
from core.lecture import cost, cost_count, cost_growth, pairs
from core.lecture.claims import cost as said
from core.lecture.claims import told
from core.lecture.cost import Kind
from core.lecture.cost_count import Setup
from core.lecture.cost_growth import HEADS, TOKENS, WIDTHS, Layer
from core.lecture.notebooks import on_screen
from core.lecture.worked import Worked
from pages.learn import frame, questions
from pages.learn.amounts import amount, tex_amount, tex_amounts
from pages.learn.frame import Dial, choice, passage, slider, tex
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, caption, check, plot, render, stats, table
from pages.shared import controls
from pages.shared.language import _, number, percent, significant, size
from pages.shared.stat_strip import Stat

_rows = st.cache_data(show_spinner=False, max_entries=64)(cost_count.rows)
_layer = st.cache_data(show_spinner=False, max_entries=512)(cost_growth.layer)
_claims = st.cache_data(show_spinner=False, max_entries=64)(cost_growth.claims)


def kind_names() -> dict[Kind, str]:
    """Each kind of module, by its name on the page."""
    return {
        "attention": _("attention"), "feed_forward": _("feed-forward"), "convolution": _("convolutions"),
        "embedding": _("embedding"), "positions": _("positions"), "norm": _("norms"), "head": _("head"),
    }  # fmt: skip


def setup_names() -> dict[str, str]:
    """Each configuration's name on the page."""
    known = {
        "tlob": _("TLOB, the document's listing"), "tlob-lean": _("TLOB, lean layers"), "tlob-fi2010": _("TLOB, FI-2010"),
        "vit": _("ViT, default"), "iiga": _("IIGA, the document's"), "dates": _("Transformer of dates"),
    }  # fmt: skip
    kinds = {"tlob": "TLOB", "vit": "ViT", "iiga": "IIGA", "transformer": "Transformer"}
    shipped = _("{model} as shipped: {name}")
    return {
        code: known.get(code) or shipped.format(model=kinds[setup.model], name=setup.name)
        for code, setup in cost_count.setups().items()
    }


def drawing(layer: Layer | None = None) -> Diagram:
    """The diagram of one layer, where the part has one."""
    return cost_diagram(layer, amount=amount, size=size)


def numbers(rows: Sequence[Mapping[str, Any]], name: str) -> Item:
    """A table with its numbers as the reader's language writes them."""
    data = pd.DataFrame(rows)
    shown = {column: st.column_config.NumberColumn(format="localized") for column in data.select_dtypes("number").columns}
    return table(data, f"cost-{name}", height="content", column_config=shown)


def model_row(name: str, setup: Setup) -> tuple[dict[str, Any], bool]:
    """One configuration by formula and by count, and whether they agree."""
    counted, total = (
        cost_count.count(setup.config, setup.tokens),
        cost.total([row.part for row in _rows(setup.config, setup.tokens)]),
    )
    row = {
        _("Model"): name,
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
    return row, (total.parameters, total.macs, total.maps) == (counted.all_parameters, counted.all_macs, counted.maps)


def models() -> PartView:
    """Every configuration beside the others."""
    setups, names = cost_count.setups(), setup_names()
    counting = controls.counted(setups.items(), _("Counting each model's multiply-adds…"))
    rows, equal = zip(*(model_row(names[code], setup) for code, setup in counting), strict=True)
    shares = {
        names[code]: {
            str(kind): macs for kind, macs in cost.macs_by_kind([row.part for row in _rows(setup.config, setup.tokens)]).items()
        }
        for code, setup in setups.items()
    }
    own = [row for row, setup in zip(rows, setups.values(), strict=True) if not setup.shipped]
    kinds = figures.kinds_figure(shares, {str(kind): label for kind, label in kind_names().items()})
    alt = _("For each model the share of attention, feed-forward, convolutions and the rest in its multiply-adds.")
    lean, listed = (cost.total(cost.parts(setups[code].config, 0)).macs for code in ("tlob-lean", "tlob"))
    agree = _("Formula and count agree for all {count} models: parameters, multiply-adds and attention weights.")
    differ = _("Formula and count differ for {count} models.")
    lines = [rf"\text{{{row[_('Model')]}}} &: {tex_amount(row[_('MACs, counted')])}" for row in rows[:6]]
    weighs = _("The lean TLOB weighs {lean}, the listing {listed} MACs a window (D7).")
    note = _("one sample: a window, an image, a clip of {frames} frames, a date of {symbols} symbols")
    return PartView(
        equation=Worked(
            r"\text{MACs} = \sum_{\text{linear}} T\, n_{in}\, n_{out} + \sum_{\text{attention}} 2\, T_q T_k\, N d_k"
            r" + \sum_{\text{conv}} H'W' k_{conv}^2 \tfrac{c_{in}}{G} c_{out}",
            r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}",
            note.format(frames=cost_count.FRAMES, symbols=cost_count.SOURCE),
        ),
        figure=[
            plot(kinds, "cost_kinds", alt),
            numbers(rows, "models"),
            check((agree if all(equal) else differ).format(count=len(rows) if all(equal) else equal.count(False)), all(equal)),
            caption(weighs.format(lean=amount(lean), listed=amount(listed))),
        ],
        notes=[passage("cost", "models")],
        drawing=drawing(),
        question=lambda: questions.costliest_model(
            [row[_("Model")] for row in own], [int(row[_("MACs, counted")]) for row in own]
        ),
        covered=True,
        taken=lambda: cost_count.tlob_values(setups),
    )


def stops(label: str, short: str, values: Sequence[int], default: int, key: str) -> Dial:
    """A dial for one of some whole numbers."""
    options = frame.whole_numbers(*values)
    return choice(label, options, key=key, default=str(default), widget=st.select_slider, value=int, short=short)


def module_dials() -> dict[str, Dial]:
    """A model, and its T and D, whose stops depend on it."""
    setups = cost_count.setups()

    def tokens(values: Mapping[str, Any]) -> int:
        code, setup = values["setup"], setups[values["setup"]]
        default = cost.tokens_of(setup.config, setup.tokens)
        return int(stops(_("Tokens T"), "T", cost_growth.token_choices(setup), default, f"t_{code}").draw(values))

    def width(values: Mapping[str, Any]) -> int:
        code, setup = values["setup"], setups[values["setup"]]
        return int(stops(_("Width D"), "D", cost_growth.width_choices(setup), setup.config.width, f"d_{code}").draw(values))

    model = choice(_("Model"), setup_names(), key="setup", widget=st.selectbox)
    return {"setup": model, "t": Dial("T", tokens), "d": Dial("D", width)}


def modules(setup: str, t: int, d: int) -> PartView:
    """One model, one row per module, with T and D to move."""
    it, name, kinds = cost_growth.sized(cost_count.setups()[setup], t, d), setup_names()[setup], kind_names()
    rows, counted = _rows(it.config, it.tokens), cost_count.count(it.config, it.tokens)
    total, sums = cost.total([row.part for row in rows]), cost.macs_by_kind([row.part for row in rows])
    wrong = [row.part.module for row in rows if not row.equal]
    shares = {name: {str(kind): macs for kind, macs in sums.items()}}
    strip = stats(
        Stat(name=_("Parameters"), value=number(counted.all_parameters), note=size(total.weight_bytes)),
        Stat(name=_("Multiply-adds"), value=amount(counted.all_macs), note=_("one sample; {flops} FLOPs").format(
            flops=amount(2 * counted.all_macs))),
        Stat(name=_("Attention maps"), value=number(counted.maps), note=size(total.map_bytes)),
        Stat(name=_("Largest tensor"), value=number(total.widest), note=size(cost.BYTES * total.widest)),
    )  # fmt: skip
    lines = [
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
    ]
    agree, differ = _("Formula and count agree in all {count} modules."), _("Formula and count differ in {modules}.")
    return PartView(
        equation=module_sum(sums, total.macs, t, d),
        figure=[
            strip,
            plot(
                figures.kinds_figure(shares, {str(kind): label for kind, label in kinds.items()}), "cost_modules_kinds",
                _("The share of attention, feed-forward, convolutions and the rest in this model's multiply-adds."),
            ),
            numbers(lines, "modules"),
            check((differ if wrong else agree).format(count=len(rows), modules=", ".join(wrong)), not wrong),
        ],
        notes=[passage("cost", "modules"), *told(said.modules(it))],
        drawing=drawing(),
        question=lambda: questions.costliest_kind(name, {kinds[kind]: macs for kind, macs in sums.items()}, t, d),
        covered=True, spoils=True,
    )  # fmt: skip


def module_sum(sums: Mapping[Kind, int], macs: int, t: int, d: int) -> Worked:
    """The multiply-adds of a model by kind of module."""
    kinds, (shown, sum_) = kind_names(), tex_amounts(list(sums.values()), macs)
    parts = " + ".join(rf"\underbrace{{{one}}}_{{\text{{{kinds[kind]}}}}}" for one, kind in zip(shown, sums, strict=True))
    return Worked(
        r"\begin{aligned} \text{attention} &: 4TD^2 + 2T^2D \\ \text{feed-forward} &: 2TDD_{ff} \\"
        r"\text{linear} &: T n_{in} n_{out} \\ \text{convolution} &: H'W'k_{conv}^2\tfrac{c_{in}}{G}c_{out} \end{aligned}",
        rf"{parts} = {sum_}",
        _("T = {t}, D = {d}; the sum of the table's formulas").format(t=t, d=d),
    )


def layer_dials() -> dict[str, Dial]:
    """Sizes of one layer."""
    return {
        "t": stops(_("Tokens T"), "T", TOKENS, 128, "layer_t"),
        "d": stops(_("Width D"), "D", WIDTHS, 40, "layer_d"),
        "n": stops(_("Heads N"), "N", HEADS, 1, "layer_n"),
    }


def growth(t: int, d: int, n: int) -> PartView:
    """Scores against projections and the feed-forward network, with their constants."""
    one, along, names = _layer(t, d, n), cost_growth.growth(d, n), setup_names()
    sums = {"projections": one.projections, "scores": one.scores, "feed-forward": one.feed_forward}
    shown, sum_ = tex_amounts(tuple(sums.values()), one.macs)
    together: dict[tuple[int, int], list[str]] = {}
    for code, tokens, width in cost_growth.places(cost_count.setups()):
        together.setdefault((tokens, width), []).append(names[code])
    points = [("; ".join(dict.fromkeys(here)), *place) for place, here in together.items()]
    counted = _("PyTorch counts {counted} in the built layer; the formula says {formula}.")
    return PartView(
        equation=(
            Worked(
                r"\underbrace{4TD^2}_{Q,K,V,O} + \underbrace{2T^2D}_{QK^\top,\ AV} + \underbrace{8TD^2}_{\text{FFN}}",
                rf"\begin{{aligned}} & 4 \cdot {t} \cdot {d}^2 + 2 \cdot {t}^2 \cdot {d} + 8 \cdot {t} \cdot {d}^2 \\"
                rf"&= {' + '.join(shown)} = {sum_} \end{{aligned}}",
                _("multiply-adds of one layer; biases, softmax and norms are no matrix products and not counted"),
            ),
            Worked(
                r"2T^2D = 4TD^2 \Leftrightarrow T = 2D, \qquad 2T^2D = 12TD^2 \Leftrightarrow T = 6D",
                rf"T = {tex(along.crossing_attention, 0)}, \qquad T = {tex(along.crossing_layer, 0)}",
                _("the orders O(T²D) and O(TD²) alone would cross at T = D = {d}").format(d=d),
            ),
        ),
        figure=[
            plot(
                figures.growth_figure(along, at=t), "cost_growth",
                _("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
            ),
            check(counted.format(counted=number(one.counted), formula=number(one.macs)), one.counted == one.macs),
            plot(
                figures.plane_figure(points, chosen=(t, d)), "cost_plane",
                _("Each model's attention by its width and its number of tokens, with the lines T = D, 2D and 6D."),
            ),
        ],
        notes=[passage("cost", "growth"), *told(said.growth(one))],
        drawing=drawing(one),
        question=lambda: questions.tokens_doubled(t, d, n),
        covered=True,
        taken=lambda: {"T": t, "D": d, **on_screen(
            sums | {"counted": one.counted, "crossings": [along.crossing_attention, along.crossing_layer]}
        )},
    )  # fmt: skip


def memory(t: int, d: int, n: int) -> PartView:
    """Memory of the N T^2 attention weights against that of the feed-forward middle."""
    one, along = _layer(t, d, n), cost_growth.growth(d, n)
    times = _("At T = {t} the maps take {share} times the feed-forward middle.")
    shown = {
        "maps": one.maps,
        "middle": one.middle,
        "equal at T": along.crossing_memory,
        "maps over middle": one.maps / one.middle,
    }
    return PartView(
        equation=Worked(
            r"\underbrace{N T^2}_{A}, \quad \underbrace{T \cdot 4D}_{\text{FFN}}, \qquad T^\ast = \frac{4D}{N}",
            rf"\begin{{aligned}} {n} \cdot {t}^2 \cdot 4\,\mathrm{{B}} &= \text{{{size(one.maps)}}} \\"
            rf"{t} \cdot 4 \cdot {d} \cdot 4\,\mathrm{{B}} &= \text{{{size(one.middle)}}} \\"
            rf"T^\ast &= {tex(along.crossing_memory, 1)} \end{{aligned}}",
            _("float32: four bytes a number. More heads cost no more multiply-adds, but more maps."),
        ),
        figure=[
            plot(
                figures.memory_figure(along, at=t), "cost_memory",
                _("Bytes of one layer's attention maps and of its feed-forward middle along T."),
            ),
            check(times.format(t=number(t), share=significant(one.maps / one.middle)), True),
        ],
        notes=[passage("cost", "memory")],
        drawing=drawing(one),
        question=lambda: questions.heads_doubled(t, d, n),
        taken=lambda: {"T": t, "D": d, "N": n, **on_screen(shown)},
    )  # fmt: skip


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


def claims(frames: int, batch: int) -> PartView:
    """The numbers of tlob-architecture 6 and iiga-equations 14.3 beside counts."""
    measured, names = _claims(frames, batch), claim_names()
    whole = next(claim for claim in measured if claim.code == "iiga_total_batch")
    counted = {claim.code: claim.counted for claim in measured}
    layers, cnn = counted["iiga_layers_one"], counted["iiga_cnn_one"]
    (one_frame,), all_frames = tex_amounts([cnn // frames], cnn, compute=lambda one: frames * one)
    bars = figures.claims_figure([(names[claim.code], claim.document, claim.counted) for claim in measured])
    rows = [
        {
            _("Number"): names[claim.code],
            _("The document says"): round(claim.document),
            _("Counted"): claim.counted,
            _("Counted / said"): round(claim.counted / claim.document, 3),
        }
        for claim in measured
    ]
    return PartView(
        equation=Worked(
            r"4\,(12TD^2 + 2T^2D), \qquad T \cdot \text{MobileNetV2}(224^2)",
            rf"\begin{{aligned}} 4\,(12 \cdot {frames} \cdot 1280^2 + 2 \cdot {frames}^2 \cdot 1280) &= {tex_amount(layers)} \\"
            rf"{frames} \cdot {one_frame} &= {all_frames} \end{{aligned}}",
            _("MACs of one clip; L = 2 layers are four attentions (D16)"),
        ),
        figure=[
            plot(bars, "cost_claims", _("What is counted as a multiple of what the documents say, for each of their numbers.")),
            numbers(rows, "claims"),
        ],
        notes=[passage("cost", "claims"), *told(said.documents(measured))],
        more=pairs_of_layers(),
        drawing=drawing(),
        question=lambda: questions.whole_against_document(frames, batch, whole.document, whole.counted),
        covered=True,
        taken=lambda: {
            "FRAMES": frames, "CNN": cnn // frames, "SAID": {claim.code: claim.document for claim in measured},
            "COUNTED": counted, **on_screen({"attention layers": layers, "convolutions": cnn}),
        },
    )  # fmt: skip


def pairs_of_layers() -> list[Item]:
    """Accuracy by TLOB's number of pairs: the document's, and of small networks trained here."""
    rows = [
        {
            _("Pairs of layers"): number(count),
            _("The document says"): percent(said_accuracy),
            _("Here, seed by seed"): " · ".join(percent(one) for one in pairs.MEASURED.get(count, ())) or "–",
        }
        for count, said_accuracy in pairs.CLAIMED.items()
    ]
    note = _(
        "Accuracy by number of pairs (tlob-architecture 1.2 and 7.3, which name no data, label, seeds or spread). Here: small "
        "networks on five bundled recordings, {windows} test windows; on the same windows the momentum rule is right on "
        "{momentum}, more often than any of them. So few seeds show no best number of pairs."
    )
    return [table(rows), caption(note.format(windows=number(pairs.WINDOWS), momentum=percent(pairs.MOMENTUM)))]


render(
    LessonPage(
        "cost",
        _("Cost"),
        [
            Part("models", _("All models"), dict, models),
            Part("modules", _("Module by module"), module_dials, modules, "cost_dial"),
            Part("growth", _("T²D and TD²"), layer_dials, growth, "growth_dial"),
            Part("memory", _("Memory"), layer_dials, memory, "memory_dial"),
            Part("claims", _("The documents' numbers"), lambda: {
                "frames": slider(_("Frames of a clip"), 1, 48, key="frames", default=12),
                "batch": slider(_("Clips in the batch"), 1, 8, key="batch", default=2),
            }, claims, "claims_dial"),
        ],
        _(
            "iiga-equations sections 1 and 14; tlob-architecture sections 6.1 to 6.3; vit-report section 1; "
            "Sandler et al. 2018; D4, D7, D16"
        ),
    )
)  # fmt: skip
