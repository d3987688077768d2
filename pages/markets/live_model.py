"""What answers on the live page: the checkpoint, its card, and how it did on data it never saw."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from core import checkpoints
from core.market.predictor import POOLED, MarketCard, Predictor
from core.models.parameters import by_part, count
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.markets.live_scores import rule_names
from pages.shared.language import _, number, prose

DOCUMENT: Final = "tlob_document"
"""The checkpoint of the document's own form, which is reported beside the shipped one (D6)."""


def show(predictor: Predictor, entry: MarketCard, choices: ViewChoices) -> None:
    """Model and card, folded away until asked for."""
    with st.expander(_("Model and card: {name}").format(name=predictor.card["name"]), icon=":material/badge:"):
        st.markdown(
            _("This market is not in the card: the pooled thresholds and constants of the markets it was trained on are used.")
            if entry.name == POOLED
            else _("Thresholds and constants of this market, from its training part.")
        )
        st.markdown(
            _("A move counts from {alpha} basis points on ({horizon} ahead).").format(
                alpha=number(entry.alphas[choices.head] * 1e4, 3), horizon=horizon_name(choices.horizon)
            )
        )
        left, right = st.columns([3, 2])
        with left:
            st.markdown(_("**Test part of each market it was trained on** (the last 20 % of time, which chose nothing)"))
            st.dataframe(_test_table(predictor.card, choices), hide_index=True, width="stretch")
        with right:
            st.markdown(_("**Parameters, counted in the live model: {count}**").format(count=number(count(predictor.model))))
            st.dataframe(_parameter_table(predictor), hide_index=True, width="stretch", height=260)
        if predictor.config.mirrored:
            st.markdown(mirrored_words())
        st.markdown(prose("tlob_card"))
        st.json(
            {key: value for key, value in predictor.card.items() if key not in ("metrics", "markets", "history")}, expanded=False
        )


def mirrored_words() -> str:
    """What a mirrored model does, in a sentence."""
    return _(
        "The answer is the mean of two passes: over the book, and over the same book upside down (sides swapped, prices "
        "negated), whose up counts as down; so the model has no preferred direction."
    )


def _test_table(card: dict[str, Any], choices: ViewChoices) -> pd.DataFrame:
    names = rule_names() | {DOCUMENT: _("TLOB, the document's form")}
    beside = _results_of_document(card)
    rows = []
    for market, results in card["metrics"].get("test", {}).items():
        for result in results:
            if result["label"] != choices.label:
                continue
            other = beside.get((market, result["label"], result["horizon"]))
            found_by = {"tlob": result} | ({DOCUMENT: other} if other else {}) | result["baselines"]
            for rule, found in found_by.items():
                rows.append(
                    {
                        _("Market"): market,
                        _("Horizon"): result["horizon"],
                        _("Rule"): names[rule],
                        _("Macro-F1"): number(found["macro_f1"], 3),
                        _("Matthews"): number(found["matthews"], 3),
                        _("Accuracy"): number(found["accuracy"], 3),
                    }
                )
    return pd.DataFrame(rows)


def _results_of_document(card: dict[str, Any]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Test results of the document's form (D6), by market, label and horizon; none where it is the model itself, or not here."""
    if card["name"] == DOCUMENT or DOCUMENT not in checkpoints.names("tlob", folder=checkpoints.FOLDER):
        return {}
    tested = checkpoints.read_card(DOCUMENT, folder=checkpoints.FOLDER)["metrics"].get("test", {})
    return {(market, one["label"], one["horizon"]): one for market, results in tested.items() for one in results}


def _parameter_table(predictor: Predictor) -> pd.DataFrame:
    layers = {f"layers.{i}": name for i, name in enumerate(predictor.model.layer_names)}
    heads = {f"classifiers.{i}": f"{kind} {steps}" for i, (kind, steps) in enumerate(predictor.heads)}
    return pd.DataFrame(
        [
            {_("Part"): layers.get(part) or heads.get(part) or part, _("Parameters"): number(n)}
            for part, n in by_part(predictor.model).items()
        ]
    )
