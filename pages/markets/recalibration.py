"""Probabilities as written beside those recalibrated from this market's own past, and sets of classes at a promised coverage."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.figures import market as figures
from core.market.answers.recalibration import EXPERTS, MEMORY, MIN_OUTCOMES, REFIT_STEPS, SCORED_AFTER, AdaptiveScores
from core.market.book import STEP_MS
from core.market.session import MarketSession
from core.models.tlob import CLASSES
from pages.markets.call_rules import class_names
from pages.markets.live_controls import ViewChoices, details, horizon_name
from pages.shared import controls
from pages.shared.language import _, duration, number, percent
from pages.shared.live_plot import live_plot


def show(session: MarketSession, choices: ViewChoices) -> None:
    """The chosen head's calibration before and after, the newest set, and which label threshold is in use."""
    scores: AdaptiveScores = session.read_board(lambda board: board.adaptive(choices.head))
    st.header(_("Recalibrated on this market, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    _describe_threshold(scores, session.entry.alphas[choices.head])
    if scores.newest is not None and scores.outcomes >= MIN_OUTCOMES:
        _describe_newest(scores, scores.newest)
    st.caption(_describe_weights(scores.weights))
    if not scores.scored:
        controls.notice(
            "loading", _("Scores begin in {count} outcomes.").format(count=number(max(1, SCORED_AFTER + 1 - scores.outcomes)))
        )
        return
    st.dataframe(_table(scores), hide_index=True, width="stretch", height="content")
    st.caption(
        _(
            "{count} outcomes, the same for both, after the first {first}. Temperature and class rates are fitted every "
            "{time} to outcomes known by then. Calls and the ledger keep the probabilities as written: these are derived "
            "from them."
        ).format(count=number(scores.scored), first=number(SCORED_AFTER), time=duration(REFIT_STEPS * STEP_MS / 1e3))
    )
    st.caption(
        _(
            "Sets: promised {promised}, delivered {delivered}, over the last {count} {last}; {size} classes on average. "
            "An empty set is a row so uncertain that no class was sure enough; it counts as a miss."
        ).format(
            promised=percent(scores.promised, 0),
            delivered=percent(scores.delivered),
            count=number(min(MEMORY, scores.scored)),
            last=percent(scores.delivered_last),
            size=number(scores.mean_size, 2),
        )
    )
    if (box := details("recalibrated")) is not None:
        with box:
            live_plot(
                figures.reliability_figure(
                    {_("As written"): scores.written.reliability, _("Recalibrated"): scores.adapted.reliability}
                ),
                key="recalibrated",
                height=280,
                filename="recalibrated",
                alt=_("How often the likeliest class came true by its probability, as written and recalibrated."),
            )


def _describe_threshold(scores: AdaptiveScores, card_alpha: float) -> None:
    if not scores.own_threshold:
        sentence = _("A move counts from {alpha} basis points on: the card's threshold for this market.")
        alpha = card_alpha
    elif not scores.settled:
        sentence = _(
            "The card does not know this market. Until its first quarter hour is over, a move counts from {alpha} basis points "
            "on, the mean of other markets; then from half the mean move of that quarter hour."
        )
        alpha = card_alpha
    else:
        sentence = _(
            "The card does not know this market: here a move counts from {alpha} basis points on, half the mean move of its own "
            "first quarter hour. The scoreboard above and the ledger keep the mean of other markets, {card}."
        )
        alpha = scores.alpha
    st.caption(sentence.format(alpha=number(alpha * 1e4, 3), card=number(card_alpha * 1e4, 3)))


def _describe_newest(scores: AdaptiveScores, newest: tuple[tuple[float, float, float], list[int]]) -> None:
    p, classes = newest
    names = [class_names()[name] for name in CLASSES]
    chances = ", ".join(f"{name} {percent(share)}" for name, share in zip(names, p, strict=True))
    if classes:
        text = _("Now, recalibrated: {chances}. With {promised} coverage: **{set}**.")
    else:
        text = _("Now, recalibrated: {chances}. With {promised} coverage no class is sure enough.")
    st.markdown(text.format(chances=chances, promised=percent(scores.promised, 0), set=" / ".join(names[k] for k in classes)))


def _describe_weights(weights: Mapping[str, float]) -> str:
    """Says whom the recalibrated probabilities follow now."""
    names = dict(zip(EXPERTS, (_("a third each"), _("class rates so far"), _("as written"), _("refitted")), strict=True))
    shares = ", ".join(f"{names[name]} {percent(weight, 0)}" for name, weight in weights.items())
    return _("Recalibrated is the mean of four, by how well each has foretold so far: {shares}.").format(shares=shares)


def _table(scores: AdaptiveScores) -> pd.DataFrame:
    return pd.DataFrame(
        {_("Probabilities"): name, _("Calibration error"): percent(one.ece), _("Log loss"): number(one.log_loss, 3)}
        for name, one in ((_("As written"), scores.written), (_("Recalibrated"), scores.adapted))
    )
