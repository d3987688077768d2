"""Whether the maps of a window tell the truth: moments deleted, and what is left of the answer."""

from __future__ import annotations

import streamlit as st

from core.explain.attribution import GradientError
from core.explain.faithfulness import Curves
from core.market.windows import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import cached_results as answers
from pages.markets.attention_inputs import no_gradients, pick_class, pick_head
from pages.markets.cached_results import WindowAnswer
from pages.markets.call_rules import class_names, describe_call
from pages.shared import faithfulness_view
from pages.shared.language import _, percent


def show(window: FrozenWindow, reading: WindowAnswer) -> None:
    """The view of one window."""
    head = pick_head(reading)
    label = pick_class(reading.calls[head])
    describe_call(reading.entry.rules[head], reading.probabilities[head].tolist(), reading.calls[head])
    st.caption(
        _("Explained: the probability of {name}, {share}.").format(
            name=class_names()[CLASSES[label]], share=percent(float(reading.probabilities[head][label]))
        )
    )

    def here() -> Curves | None:
        try:
            return answers.deletions(window, head, label)
        except GradientError:
            no_gradients()
            return None

    faithfulness_view.show("tlob", checkpoint=reading.predictor.card, here=here, unit=_("moments"))
