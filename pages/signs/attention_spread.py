"""Spread and reach of each sub-layer's attention on a clip; and the enlarged map as a table."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.figures import signs as figures
from core.figures.attention import NamedMap
from core.signs.gloss_measures import ClipMeasures
from core.signs.recognition import Recognition
from pages.shared import controls
from pages.shared.language import _
from pages.shared.live_plot import live_plot
from pages.signs.recognise_attention import titles


def show(recognition: Recognition, measures: ClipMeasures) -> None:
    """The part of the page."""
    st.header(_("Entropy and distance"), anchor=False)
    names, spreads = titles(recognition), measures.spreads
    entropies = {names[name]: (one.entropy, one.even_entropy) for name, one in spreads.items()}
    distances = {names[name]: (one.distance, one.even_distance) for name, one in spreads.items()}
    parts = (
        ("entropy", _("Entropy"), _("nats"), entropies),
        ("distance", _("Mean distance"), _("seconds"), distances),
    )
    for column, (key, text, unit, values) in zip(st.columns(2), parts, strict=True):
        with column:
            st.markdown(f"**{text}**")
            live_plot(
                figures.spread_figure(values, title=unit),
                key=f"signs_{key}",
                height=240,
                filename=f"signs-{key}",
                alt=_("{what} by sub-layer.").format(what=text),
            )
    st.caption(
        _(
            "Means over all frames and heads. Entropy is 0 where a frame looks at one frame alone. The orange mark is what "
            "looking at all frames alike would give, or for intra-gloss attention at all of its window."
        )
    )


def download(one: NamedMap) -> None:
    """The enlarged map."""

    def table() -> pd.DataFrame:
        seconds = [round(float(second), 3) for second in one.axis.positions]
        return pd.DataFrame(one.weights, columns=seconds, index=seconds).reset_index(names="query \\ key")

    controls.download_table(
        _("Enlarged map"), table, key="signs_map_table", filename=f"attention-{one.name}".replace(" ", "-"), formats=("csv",)
    )
