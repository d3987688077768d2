"""Inputs that moved the answer, by integrated gradients, in numbers, and whether maps tell them truly."""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import streamlit as st

from core.explain import summaries
from core.explain.attribution import Attribution, GradientError
from core.figures import attribution as figures
from core.market.features import input_names
from core.market.labels import LabelKind
from core.market.windows import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import cached_results
from pages.markets.cached_results import WindowAnswer
from pages.markets.class_names import class_names
from pages.markets.live_controls import horizon_name
from pages.shared import url_state
from pages.shared.language import _, number, percent, prose_section, significant
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

LIKELIEST: Final = "called"
"""Choice of the likeliest class, by its code in links."""
WARNING_GAP: Final = 0.01
"""Share of the explained difference from which on the completeness gap is shown as a warning."""


class Explained(NamedTuple):
    """The number that is explained: `head` is the index of label and horizon, `label` that of the class."""

    head: int
    label: int


def pick(answer: WindowAnswer) -> Explained:
    """Pickers of label, horizon and class, in one line."""
    predictor = answer.predictor
    labels = {"forward": _("Forward"), "smoothed": _("Smoothed (the paper's)")}  # D24
    present = {kind: text for kind, text in labels.items() if any(head[0] == kind for head in predictor.heads)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="attention_explained"):
        kind = cast(LabelKind, url_state.choice(st.segmented_control, _("Label"), present, key="label"))
        steps = {str(horizon): horizon_name(horizon) for name, horizon in predictor.heads if name == kind}
        horizon = int(url_state.choice(st.selectbox, _("Horizon"), steps, key="h", width=120))
        head = predictor.head(kind, horizon)
        label = pick_class(answer.likeliest[head])
    return Explained(head, label)


def details(window: FrozenWindow, answer: WindowAnswer, explained: Explained) -> None:
    """Attributions of one window in numbers: their sum, the strongest, and every input at every moment (D2)."""
    with st.spinner(_("Integrating gradients…"), show_time=False):
        try:
            attribution = cached_results.attribute(window, *explained)
        except GradientError:
            return  # said above the stage
    _numbers(attribution, explained.label, answer, explained.head)
    names = input_names(answer.predictor.transform)
    st.markdown(_sentence(attribution, names))
    live_plot(
        figures.inputs_figure(attribution.values, window.seconds, names=names, write=significant),
        key="attribution_inputs",
        height=18 * len(names),
        filename="attribution-inputs",
        alt=_("Attribution of every input at every moment, and each input's sum over time."),
    )
    st.caption(prose_section("attention_inputs", answer.predictor.transform))


def pick_class(likeliest: int) -> int:
    """A picker of the class to explain: the likeliest, or another."""
    classes = {LIKELIEST: _("The likeliest")} | class_names()
    label = url_state.choice(st.segmented_control, _("Class to explain"), classes, key="class")
    return likeliest if label == LIKELIEST else CLASSES.index(label)


def _numbers(attribution: Attribution, explained: int, answer: WindowAnswer, head: int) -> None:
    _kind, horizon = answer.predictor.heads[head]
    name = class_names()[CLASSES[explained]]
    off = abs(attribution.gap / attribution.difference) if attribution.difference else 0.0
    stat_strip(
        [
            Stat(name=_("P({name}) here").format(name=name), value=percent(attribution.output, 2), note=horizon_name(horizon)),
            Stat(name=_("at the baseline"), value=percent(attribution.baseline_output, 2)),
            Stat(name=_("to be explained"), value=number(attribution.difference, 5, sign=True)),
            Stat(
                name=_("sum of attributions"),
                value=number(attribution.total, 5, sign=True),
                note=_("{count} gradients").format(count=number(attribution.nodes)),
            ),
            Stat(
                name=_("completeness gap"),
                value=number(attribution.gap, 7, sign=True),
                tone="warning" if off > WARNING_GAP else "plain",
                note=_("{share} of it").format(share=percent(off, 3)),
            ),
        ]
    )


def _sentence(attribution: Attribution, names: Sequence[str]) -> str:
    sums = attribution.values.sum(axis=0)
    parts = [f"{names[index]} ({number(float(sums[index]), 4, sign=True)})" for index, _size in summaries.strongest(abs(sums), 5)]
    return _("Over the whole window these moved it most: {inputs}.").format(inputs=", ".join(parts))
