"""Cost of the models: parameters, memory and multiply-adds by count, multiply-adds by formula, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.figures.learn import cost as figures
from core.lecture import cost, cost_count, cost_growth
from core.lecture.cost_count import CostRow, Kind, Setup
from core.lecture.cost_growth import HEADS, TOKENS, WIDTHS
from core.lecture.notebooks import on_screen
from core.lecture.worked import Worked
from pages.learn import frame
from pages.learn.amounts import amount, tex_amount, tex_amounts
from pages.learn.frame import Dial, aligned, choice, passage, tex
from pages.learn.lesson_page import Drawn, LessonPage, Part, PartView, caption, check, markdown, plot, render, stats, table
from pages.shared import controls
from pages.shared.language import _, number, percent, significant, size
from pages.shared.stat_strip import Stat

_layer = st.cache_data(show_spinner=False, max_entries=512)(cost_growth.layer)


def kind_names() -> dict[Kind, str]:
    """Each kind of module, by its name on the page."""
    return {
        "attention": _("attention"),
        "feed_forward": _("feed-forward"),
        "convolution": _("convolutions"),
        "embedding": _("embedding"),
        "positions": _("positions"),
        "norm": _("norms"),
        "head": _("head"),
    }


def setup_names() -> dict[str, str]:
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
    shipped = _("{model} as shipped: {name}")
    return {
        code: known.get(code) or shipped.format(model=kinds[setup.config.model], name=code.removeprefix("shipped-"))
        for code, setup in cost_count.setups().items()
    }


def numbers(rows: Sequence[Mapping[str, Any]]) -> Drawn:
    """A table with its numbers as the reader's language writes them."""
    data = pd.DataFrame(rows)
    shown = {column: st.column_config.NumberColumn(format="localized") for column in data.select_dtypes("number").columns}
    return table(data, height="content", column_config=shown)


def model_row(name: str, setup: Setup) -> tuple[dict[str, Any], bool]:
    """One configuration by formula and by count, and whether they agree."""
    counted, total = cost_count.count(setup.config, setup.tokens), cost_count.total(_rows(setup))
    row = {
        _("Model"): name,
        "T": setup.length,
        "D": setup.config.width,
        _("Parameters, counted"): counted.parameters,
        _("MACs, formula"): total.macs,
        _("MACs, counted"): counted.of(""),
        _("Weights"): size(total.weight_bytes),
        _("Attention maps"): size(total.map_bytes),
        _("Largest tensor"): size(cost.BYTES * total.widest),
    }
    return row, (total.parameters, total.macs, total.maps) == (counted.parameters, counted.of(""), counted.maps)


def _rows(setup: Setup) -> list[CostRow]:
    return cost_count.rows(setup.config, setup.tokens)


def table_of(names: Mapping[str, str]) -> None:
    """Every configuration by formula and by count, which is waited for below the figure."""
    counting = controls.counted(cost_count.setups().items(), _("Counting each model's multiply-adds…"))
    rows, equal = zip(*(model_row(names[code], one) for code, one in counting), strict=True)
    numbers(rows)()
    agree = _(
        "Formula and count of multiply-adds and attention weights agree for all {count} models, whose rows hold every parameter."
    )
    differ = _("Formula and count differ for {count} models.")
    check((agree if all(equal) else differ).format(count=len(rows) if all(equal) else equal.count(False)), all(equal))()


def models(setup: str) -> PartView:
    """Every configuration beside the others, and one of them module by module."""
    setups, names = cost_count.setups(), setup_names()
    parts = {code: _rows(one) for code, one in controls.counted(setups.items(), _("Building each model…"))}
    shares = {names[code]: {str(kind): macs for kind, macs in cost_count.macs_by_kind(of).items()} for code, of in parts.items()}
    macs = {code: cost_count.total(of).macs for code, of in parts.items()}
    kinds = figures.kinds_figure(shares, {str(kind): label for kind, label in kind_names().items()})
    alt = _("For each model the share of attention, feed-forward, convolutions and the rest in its multiply-adds.")
    lean, listed = (cost_count.total(parts[code]) for code in ("tlob-lean", "tlob"))
    lines = [rf"\text{{{names[code]}}} &: {tex_amount(macs[code])}" for code in list(parts)[:6]]
    weighs = _(
        "TLOB as its document lists it has {parameters} parameters and takes {macs} MACs a window; with one projection each, "
        "{lean} and {lean_macs} (D4, D7)."
    ).format(
        parameters=number(listed.parameters), macs=amount(listed.macs), lean=number(lean.parameters), lean_macs=amount(lean.macs)
    )
    note = _("one sample: a window, an image, a clip of {frames} frames, a date of {symbols} symbols")
    return PartView(
        equation=Worked(
            r"\text{MACs} = \sum_{\text{linear}} T\, n_{in}\, n_{out} + \sum_{\text{attention}} 2\, T_q T_k\, N d_k"
            r" + \sum_{\text{conv}} H'W' k_{conv}^2 \tfrac{c_{in}}{G} c_{out}",
            aligned(*lines),
            note.format(frames=cost_count.FRAMES, symbols=cost_count.SOURCE),
        ),
        figure=[plot(kinds, "cost_kinds", alt), caption(weighs)],
        notes=[passage("cost", "models")],
        more=[lambda: table_of(names), lambda: modules(names[setup], setups[setup])],
        asked=lambda: (_("the multiply-adds of the chosen model"), float(macs[setup])),
        notebook_values=lambda: cost_count.tlob_values(setups),
    )


def stops(label: str, short: str, values: Sequence[int], default: int, key: str) -> Dial:
    """A dial for one of some whole numbers."""
    options = frame.whole_numbers(*values)
    return choice(label, options, key=key, default=str(default), widget=st.select_slider, value=int, short=short)


def modules(name: str, setup: Setup) -> None:
    """One model, one row a module, by formula and by count."""
    rows, counted, kinds = _rows(setup), cost_count.count(setup.config, setup.tokens), kind_names()
    total = cost_count.total(rows)
    macs = counted.by_row(rows)
    wrong = [row.module for row in rows if row.macs != macs[row.module]]
    strip = stats(
        Stat(name=_("Parameters"), value=number(counted.parameters), note=size(total.weight_bytes)),
        Stat(
            name=_("Multiply-adds"),
            value=amount(counted.of("")),
            note=_("one sample; {flops} FLOPs").format(flops=amount(2 * counted.of(""))),
        ),
        Stat(name=_("Attention maps"), value=number(counted.maps), note=size(total.map_bytes)),
        Stat(name=_("Largest tensor"), value=number(total.widest), note=size(cost.BYTES * total.widest)),
    )
    lines = [
        {
            _("Module"): row.module,
            _("Kind"): kinds[row.kind],
            _("Shapes: in → out, map"): " → ".join(", ".join(map(str, shape)) for shape in row.shapes) or "–",
            _("Parameters, counted"): row.parameters,
            _("Share of the parameters"): percent(row.parameters / counted.parameters, 2),
            _("MACs, formula"): row.macs,
            _("MACs, counted"): macs[row.module],
            _("Attention weights"): row.maps,
            _("Largest tensor, numbers"): row.widest,
        }
        for row in rows
    ]
    agree, differ = _("Formula and count agree in all {count} modules."), _("Formula and count differ in {modules}.")
    verdict = check((differ if wrong else agree).format(count=len(rows), modules=", ".join(wrong)), not wrong)
    for shown in (markdown(f"**{name}.** {passage('cost', 'modules')}"), strip, numbers(lines), verdict):
        shown()


def layer_dials() -> dict[str, Dial]:
    """Sizes of one layer."""
    return {
        "t": stops(_("Tokens T"), "T", TOKENS, 128, "layer_t"),
        "d": stops(_("Width D"), "D", WIDTHS, 40, "layer_d"),
        "n": stops(_("Heads N"), "N", HEADS, 1, "layer_n"),
    }


def growth(t: int, d: int, n: int) -> PartView:
    """Scores against projections and the feed-forward network, with their constants."""
    one, along = _layer(t, d, n), cost_growth.growth(d, n)
    sums = {"projections": one.projections, "scores": one.scores, "feed-forward": one.feed_forward}
    shown, sum_ = tex_amounts(tuple(sums.values()), one.macs)
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
                figures.growth_figure(along, at=t),
                "cost_growth",
                _("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
            ),
            stats(
                Stat(name=_("Scores"), value=percent(one.scores / one.macs)),
                Stat(name=_("Projections"), value=percent(one.projections / one.macs)),
                Stat(name=_("Feed-forward"), value=percent(one.feed_forward / one.macs)),
            ),
            check(counted.format(counted=number(one.counted), formula=number(one.macs)), one.counted == one.macs),
        ],
        notes=[passage("cost", "growth")],
        asked=lambda: (_("the share of the scores in the multiply-adds"), one.scores / one.macs),
        notebook_values=lambda: {
            "T": t,
            "D": d,
            **on_screen(sums | {"counted": one.counted, "crossings": [along.crossing_attention, along.crossing_layer]}),
        },
    )


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
                figures.memory_figure(along, at=t),
                "cost_memory",
                _("Bytes of one layer's attention maps and of its feed-forward middle along T."),
            ),
            check(times.format(t=number(t), share=significant(one.maps / one.middle)), True),
        ],
        notes=[passage("cost", "memory")],
        asked=lambda: (_("the memory of the attention maps"), float(one.maps)),
        notebook_values=lambda: {"T": t, "D": d, "N": n, **on_screen(shown)},
    )


render(
    LessonPage(
        "cost",
        _("Cost"),
        [
            Part(
                "models",
                _("All models"),
                lambda: {
                    "setup": choice(_("Model"), setup_names(), key="setup", widget=st.selectbox),
                },
                models,
                "cost_dial",
            ),
            Part("growth", _("T²D and TD²"), layer_dials, growth, "growth_dial"),
            Part("memory", _("Memory"), layer_dials, memory, "memory_dial"),
        ],
        _(
            "iiga-equations sections 1 and 14; tlob-architecture sections 6.1 to 6.3; vit-report section 1; "
            "Sandler et al. 2018; D4, D7, D16"
        ),
    )
)
