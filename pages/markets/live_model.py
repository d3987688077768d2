"""The model of the live page: its checkpoint's card, its scores on test data, and its parameters."""

import zlib
from contextlib import suppress
from dataclasses import replace
from statistics import StatisticsError
from typing import Any, Final

import pandas as pd
import streamlit as st

from core import checkpoints, front
from core.market.predictor import DEFAULT, POOLED, MarketCard, Predictor
from core.market.sources import MarketSource
from core.models.parameters import by_part, count
from pages.markets import cached_results
from pages.markets.live_controls import horizon_name
from pages.markets.live_scores import rival_names
from pages.shared import controls, url_state
from pages.shared.language import _, number, prose

DOCUMENT: Final = "tlob_document"
"""The checkpoint of the document's own form, whose scores stand beside the shipped one's (D6)."""
KEY: Final = "model"


def chosen() -> str:
    """The checkpoint that the reader, or the link, has chosen; the shipped one by default."""
    name = st.session_state.get(KEY) or st.query_params.get(KEY) or st.session_state.get(f"{KEY}:kept")
    linked = st.query_params.get(KEY)
    if linked is not None and linked != st.session_state.get(f"{KEY}:seen"):
        name = linked
    return str(name) if name in cached_results.model_names() else DEFAULT


def pick() -> None:
    """The choice of a checkpoint; a press runs the page again with it."""
    names = cached_results.model_names()
    if len(names) > 1:
        with st.popover(_("Model"), icon=":material/badge:", width="content"):
            url_state.choice(st.selectbox, _("Checkpoint"), {name: name for name in names}, key=KEY, default=DEFAULT)


def told_apart(source: MarketSource) -> MarketSource:
    """The source as one of its own for a checkpoint other than the default, so that those who share a feed share its model."""
    name = chosen()
    if name == DEFAULT:
        return source
    mark = f"{zlib.crc32(name.encode()):08x}"  # not the name, in which a card could find another market's words
    return replace(source, owner=".".join(part for part in (source.owner, mark) if part))


def draw_model(predictor: Predictor, entry: MarketCard, head: int) -> None:
    """An expander with the model's scores and its card, made once it is opened."""
    title = _("Model and card: {name}").format(name=predictor.card["name"])
    if (box := controls.opened(title, icon=":material/badge:", key="model_card")) is None:
        return
    label, horizon = predictor.heads[head]
    with box:
        if entry.name != POOLED:
            st.markdown(_("Thresholds and constants of this market, from its training part."))
        left, right = st.columns([3, 2])
        with left:
            st.markdown(_("**Test part of each market it was trained on** (the last 20 % of time, not used to choose anything)"))
            st.dataframe(_test_table(predictor.card, label), hide_index=True, width="stretch")
            with suppress(KeyError, StatisticsError):
                tlob, momentum = front.mean_matthews(predictor.card["metrics"], label, horizon)
                mean = _("Mean of the markets, {horizon} ahead: Matthews correlation {tlob}, momentum {momentum}.")
                st.markdown(mean.format(horizon=horizon_name(horizon), tlob=number(tlob, 2), momentum=number(momentum, 2)))
        with right:
            st.markdown(_("**Parameters, counted in the live model: {count}**").format(count=number(count(predictor.model))))
            st.dataframe(_parameter_table(predictor), hide_index=True, width="stretch", height=260)
        if predictor.config.mirrored:
            st.markdown(_("The answer is the mean of two passes, over the book and over the same book upside down."))
        st.markdown(prose("tlob_card"))
        st.json(
            {key: value for key, value in predictor.card.items() if key not in ("metrics", "markets", "history")}, expanded=False
        )


def _test_table(card: dict[str, Any], chosen: str) -> pd.DataFrame:
    """Scores on the test parts by market, horizon and forecaster, of a label."""
    names = {"tlob": "TLOB", DOCUMENT: _("TLOB, the document's form")} | rival_names()
    calls = {"likeliest": _("likeliest class"), "threshold": _("fitted threshold")}
    document = _checkpoint_tests(DOCUMENT) if card["name"] != DOCUMENT else {}
    measures = {
        "macro_f1": _("Macro-F1"),
        "matthews": _("Matthews"),
        "accuracy": _("Accuracy"),
        "log_loss": _("Log loss"),
        "ece": _("Calibration error"),
    }
    rows = []
    for place, result in _by_head(card["metrics"].get("test", {})).items():
        market, label, horizon = place
        if label != chosen:
            continue
        others = {DOCUMENT: document[place]} if place in document else {}
        for name, scores in ({"tlob": result} | others | result["baselines"]).items():
            rows.append(
                {
                    _("Market"): market,
                    _("Horizon"): horizon,
                    _("Forecaster"): names[name],
                    _("Calls"): calls[scores["call"]] if "call" in scores else "",
                    **{title: number(scores[key], 3) if key in scores else "" for key, title in measures.items()},
                }
            )
    return pd.DataFrame(rows)


def _by_head(tests: dict[str, list[dict[str, Any]]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """A card's test results by market, label and horizon."""
    return {(market, one["label"], one["horizon"]): one for market, results in tests.items() for one in results}


def _checkpoint_tests(name: str) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Test results of another checkpoint; none where it is not there."""
    if name not in checkpoints.names(folder=checkpoints.FOLDER):
        return {}
    return _by_head(checkpoints.read_card(name, folder=checkpoints.FOLDER)["metrics"].get("test", {}))


def _parameter_table(predictor: Predictor) -> pd.DataFrame:
    layers = {f"layers.{i}": name for i, name in enumerate(predictor.model.layer_names)}
    heads = {f"classifiers.{i}": f"{kind} {steps}" for i, (kind, steps) in enumerate(predictor.heads)}
    return pd.DataFrame(
        [
            {_("Part"): layers.get(part) or heads.get(part) or part, _("Parameters"): number(n)}
            for part, n in by_part(predictor.model).items()
        ]
    )
