"""Says how a call was made: the likeliest class, or a threshold fitted on validation data (D25)."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.market.calibration import CallRule, RuleKind
from core.market.predictor import POOLED, MarketCard
from core.models.tlob import CLASSES
from pages.shared.language import _, percent, significant


def class_names() -> dict[str, str]:
    """The three classes in the reader's language, by code."""
    return dict(zip(CLASSES, (_("Down"), _("Stationary"), _("Up")), strict=True))


def rule_names() -> dict[RuleKind, str]:
    """Names of the rules by which calls are made, by the card's code."""
    return {"likeliest": _("likeliest class"), "threshold": _("fitted threshold")}


def describe_call(rule: CallRule, probabilities: Sequence[float], called: int) -> None:
    """Shows the rule that made this call, its threshold, and whether the class called is the likeliest.

    Args:
        probabilities: (3,) in the order of `CLASSES`. called: index of the class called.
    """
    likeliest = max(range(len(CLASSES)), key=lambda label: probabilities[label])
    texts = []
    if called != likeliest:
        name = class_names()[CLASSES[likeliest]]
        texts.append(
            _("**Not the likeliest class**: {name} has {share}.").format(name=name, share=percent(probabilities[likeliest]))
        )
    if rule.kind == "threshold":
        texts.append(
            _(
                "Rule fitted on validation: Down or Up is called above {odds} times Stationary's probability, here {threshold}."
            ).format(odds=significant(rule.odds), threshold=percent(rule.threshold(probabilities)))
        )
    else:
        texts.append(_("Rule: the likeliest class is called."))
    st.caption(" ".join(texts))


def unknown_market(entry: MarketCard, model: str) -> None:
    """Says so where the model was not trained on this market."""
    if entry.name == POOLED:
        st.caption(
            _(
                ":material/info: **{model} was not trained on this market**: its thresholds and constants here are means over "
                "the markets that it was trained on, and its scores on those say little about this one."
            ).format(model=model)
        )
