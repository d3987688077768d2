"""Faithfulness of a window's maps: how the answer falls as the moments they rank highest are deleted."""

from __future__ import annotations

import streamlit as st

from core.explain.attribution import GradientError
from core.explain.faithfulness import Curves
from core.explain.progress import Told
from core.market.windows import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import cached_results
from pages.markets.attention_inputs import no_gradients, pick_class, pick_head
from pages.markets.cached_results import WindowAnswer
from pages.markets.call_rules import class_names, describe_call
from pages.shared import faithfulness_view
from pages.shared.language import _, percent


def show(window: FrozenWindow, answer: WindowAnswer) -> None:
    """Deletion curves of one window, beside those of the bundled sample."""
    head = pick_head(answer)
    label = pick_class(answer.calls[head])
    describe_call(answer.entry.rules[head], answer.probabilities[head].tolist(), answer.calls[head])
    st.caption(
        _("Explained: the probability of {name}, {share}.").format(
            name=class_names()[CLASSES[label]], share=percent(float(answer.probabilities[head][label]))
        )
    )

    def here(_told: Told) -> Curves | None:
        try:
            return cached_results.deletions(window, head, label)
        except GradientError:
            no_gradients()
            return None

    faithfulness_view.show("tlob", checkpoint=answer.predictor.card, here=here, unit=_("moments"))
