"""Whether the maps of a window tell the truth: moments deleted, and what is left of the answer."""

from __future__ import annotations

import streamlit as st

from core.explain.attribution import GradientError
from core.explain.faithfulness import Curves
from core.market.frozen import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import attention_answers as answers
from pages.markets.attention_answers import Reading
from pages.markets.attention_inputs import no_gradients, pick_class, pick_head
from pages.markets.live_panels import class_names
from pages.shared import truth
from pages.shared.language import _, percent


def show(window: FrozenWindow, reading: Reading) -> None:
    """The view of one window."""
    head = pick_head(reading)
    label = pick_class(reading.calls[head])
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

    truth.show("tlob", checkpoint=reading.predictor.card, here=here, unit=_("moments"))
