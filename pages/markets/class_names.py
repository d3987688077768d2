"""Words for an answer: the three classes, and whether the model knows the market."""

import streamlit as st

from core.market.predictor import POOLED, MarketCard
from core.models.tlob import CLASSES
from pages.shared.language import _


def class_names() -> dict[str, str]:
    """The three classes in the reader's language, by code."""
    return dict(zip(CLASSES, (_("Down"), _("Stationary"), _("Up")), strict=True))


def unknown_market(entry: MarketCard, model: str) -> None:
    """Says so where the model was not trained on this market."""
    if entry.name == POOLED:
        st.caption(
            _(":material/info: **{model} was not trained on this market**: its constants here are means over others.").format(
                model=model
            )
        )
