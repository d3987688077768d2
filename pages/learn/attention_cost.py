"""A part of the lesson on attention: the growth of a layer's cost, and the chosen model's counts, module by module."""

from __future__ import annotations

from typing import Annotated, Final

import streamlit as st

from core.figures.learn.attention_steps import growth_figure
from core.lecture import cost, cost_count
from core.lecture.notebooks import on_screen
from pages.learn.frame import Worked, choice, passage, stops, tex
from pages.learn.lesson_page import Item, PartView, caption, check, markdown, plot, stats, table
from pages.shared import controls
from pages.shared.language import _, number, percent, significant, size
from pages.shared.stat_strip import Stat

TOKENS: Final = (4, 8, 12, 16, 24, 32, 50, 64, 100, 128, 197, 256, 512, 1024, 2048, 4096, 8192)
WIDTHS: Final = (16, 32, 40, 64, 96, 128, 144, 256, 512, 768, 1280, 2048)
HEADS: Final = (1, 2, 4, 8)
"""Every number of heads divides every width."""


def setup_names() -> dict[str, str]:
    """Each configuration's name on the page."""
    known = {
        "tlob": _("TLOB, the document's listing"),
        "tlob-lean": _("TLOB, lean layers"),
        "tlob-fi2010": "TLOB, FI-2010",
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


def equations(one: cost.Layer) -> list[Worked]:
    """Multiply-adds and memory of one layer, and the lengths at which two of their terms are equal."""
    t, d, n = one.tokens, one.width, one.heads
    terms = (one.projections, one.scores, one.feed_forward)
    return [
        Worked(
            r"\underbrace{4TD^2}_{Q,K,V,O} + \underbrace{2T^2D}_{QK^\top,\ AV} + \underbrace{8TD^2}_{\text{FFN}}",
            rf"\begin{{aligned}} & 4 \cdot {t} \cdot {d}^2 + 2 \cdot {t}^2 \cdot {d} + 8 \cdot {t} \cdot {d}^2 \\"
            rf"&= {' + '.join(tex(term, 0) for term in terms)} \\ &= {tex(one.macs, 0)} \end{{aligned}}",
            _("multiply-adds of one layer; biases, softmax and norms are no matrix products and not counted"),
        ),
        Worked(
            r"2T^2D = 4TD^2 \Leftrightarrow T = 2D, \qquad 2T^2D = 12TD^2 \Leftrightarrow T = 6D",
            rf"T = {tex(cost.crossing_attention(d), 0)}, \qquad T = {tex(cost.crossing_layer(d), 0)}",
            _("the orders O(T²D) and O(TD²) alone would cross at T = D = {d}").format(d=d),
        ),
        Worked(
            r"\underbrace{N T^2}_{A}, \quad \underbrace{T \cdot 4D}_{\text{FFN}}, \qquad T^\ast = \frac{4D}{N}",
            rf"\begin{{aligned}} {n} \cdot {t}^2 \cdot 4\,\mathrm{{B}} &= \text{{{size(one.maps)}}} \\"
            rf"{t} \cdot 4 \cdot {d} \cdot 4\,\mathrm{{B}} &= \text{{{size(one.middle)}}} \\"
            rf"T^\ast &= {tex(cost.crossing_memory(d, n), 1)} \end{{aligned}}",
            _("float32: four bytes a number. More heads cost no more multiply-adds, but more maps."),
        ),
    ]


def growth(
    t: Annotated[int, stops(_("Tokens") + " T", TOKENS, key="layer_t", default=128, short="T")],
    d: Annotated[int, stops(_("Width D"), WIDTHS, key="layer_d", default=40, short="D")],
    n: Annotated[int, stops(_("Heads") + " N", HEADS, key="layer_n", default=1, short="N")],
    setup: Annotated[str, choice(_("Model"), setup_names(), key="setup", widget=st.selectbox)],
) -> PartView:
    """Scores against projections and the feed-forward network, with their constants, and a model's own counts."""
    one, counted = cost.layer(t, d, n), cost_count.layer_macs(t, d, n)
    terms = {"projections": one.projections, "scores": one.scores, "feed-forward": one.feed_forward}
    crossings = [cost.crossing_attention(d), cost.crossing_layer(d)]
    sentence = _("PyTorch counts {counted} in the built layer; the formula says {formula}.")
    return PartView(
        equation=equations(one),
        figure=[
            plot(
                growth_figure(d, at=t),
                "cost_growth",
                _("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
            ),
            stats(
                Stat(name=_("Scores"), value=percent(one.scores / one.macs)),
                Stat(name=_("Projections"), value=percent(one.projections / one.macs)),
                Stat(name=_("Feed-forward"), value=percent(one.feed_forward / one.macs)),
            ),
            check(sentence.format(counted=number(counted), formula=number(one.macs)), counted == one.macs),
        ],
        more=model_counts(setup),
        asked=lambda: (_("the share of the scores in the multiply-adds"), one.scores / one.macs),
        notebook_values=lambda: {
            "T": t,
            "D": d,
            "N": n,
            **on_screen(terms | {"counted": counted, "crossings": crossings, "maps": one.maps, "middle": one.middle}),
        },
    )


def model_counts(code: str) -> list[Item]:
    """One model, a row a module, counted in the built model (D4, D7)."""
    setups = cost_count.setups()
    counting = controls.counted((code, "tlob", "tlob-lean"), _("Counting each model's multiply-adds…"))
    counted, listed, lean = (cost_count.count(setups[one].config, setups[one].tokens) for one in counting)
    strip = stats(
        Stat(name=_("Parameters"), value=number(counted.parameters), note=size(cost.BYTES * counted.parameters)),
        Stat(
            name=_("Multiply-adds"),
            value=millions(counted.macs),
            note=_("one sample; {flops} FLOPs").format(flops=millions(2 * counted.macs)),
        ),
        Stat(name=_("Attention maps"), value=number(counted.maps), note=size(cost.BYTES * counted.maps)),
    )
    rows = [
        {
            _("Module"): row.module,
            _("Shapes: in → out, map"): " → ".join(", ".join(map(str, shape)) for shape in row.shapes) or "–",
            _("Parameters, counted"): row.parameters,
            _("Share of the parameters"): percent(row.parameters / counted.parameters, 2),
            _("MACs, counted"): row.macs,
        }
        for row in counted.rows
    ]
    localized = {
        name: st.column_config.NumberColumn(format="localized") for name in (_("Parameters, counted"), _("MACs, counted"))
    }
    weighs = _(
        "TLOB as its document lists it has {parameters} parameters and takes {macs} MACs a window; with one projection each, "
        "{lean} and {lean_macs} (D4, D7)."
    ).format(
        parameters=number(listed.parameters),
        macs=millions(listed.macs),
        lean=number(lean.parameters),
        lean_macs=millions(lean.macs),
    )
    heading = f"**{setup_names()[code]}.** {passage('attention_steps', 'cost_of_a_model')}"
    return [markdown(heading), strip, caption(weighs), table(rows, height="content", column_config=localized)]


def millions(count: int) -> str:
    """A count as people read it: 62.1 M."""
    return f"{significant(count / 1e6, 3)} M"
