"""Alerts of the market on the screen: set, list, remove, export and import; and what went off."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.market.alert_monitor import alert_book, market_of
from core.market.alerts import ALERT_KINDS, AlertError, AlertKind, AlertRule, rules_from_json, rules_to_json
from core.market.labels import Head
from core.market.session import MarketSession
from core.messages import translate
from pages.shared import controls
from pages.shared.language import _, moment, number, percent


def kind_names() -> dict[AlertKind, str]:
    """What an alert watches, in the reader's language."""
    return {
        "probability": _("A probability is reached"),
        "score": _("TLOB falls below momentum"),
        "feed": _("The feed is stale or lost"),
        "price": _("The mid crosses a price"),
    }


def show(session: MarketSession) -> None:
    """The panel, in a popover."""
    book, market = alert_book(), market_of(session.feed.key)
    with st.popover(_("Alerts"), icon=":material/notifications:", width="content"):
        with st.form("alert", border=False):
            rule = _asked(market, session.predictor.heads)
            if st.form_submit_button(_("Set this alert"), icon=":material/add_alert:"):
                try:
                    book.put(AlertRule(**rule))
                except AlertError as error:
                    controls.error_box(str(error))
        for one in book.rules(market):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.markdown(_told(one))
            if right.button(_("Remove"), icon=":material/delete:", key=f"alert:{one.id}"):
                book.remove(one.id)
                st.rerun()
        events = [event for event in book.log() if event.rule.market == market][-5:]
        for event in reversed(events):
            st.caption(f"{moment(datetime.fromtimestamp(event.at, UTC))} · {translate(event.text)}")
        st.download_button(
            _("Export all alerts"), lambda: rules_to_json(book.rules()), "alerts.json", "application/json", key="alerts:export"
        )
        given = st.file_uploader(_("Import alerts (replaces all)"), type="json", key="alerts:import", max_upload_size=1)
        if given is not None and st.button(_("Replace all alerts with this file"), key="alerts:replace"):
            try:
                book.replace(rules_from_json(given.getvalue().decode("utf-8", errors="replace")))
            except AlertError as error:
                controls.error_box(str(error))


def _asked(market: str, heads: Sequence[Head]) -> dict[str, Any]:
    names = kind_names()
    kind = st.selectbox(_("Watch for"), ALERT_KINDS, format_func=names.__getitem__, key="alert:kind")
    options = [f"{label}_{horizon}" for label, horizon in heads]
    head = st.selectbox(_("Label and horizon (probability, score)"), options, index=min(2, len(options) - 1), key="alert:head")
    directions = {"up": _("Up"), "down": _("Down")}
    direction = st.selectbox(
        _("Direction (probability)"), list(directions), format_func=lambda code: directions[code], key="alert:direction"
    )
    level = st.number_input(_("Level: probability (0 to 1), gap in score, or price"), value=0.7, format="%.6g", key="alert:level")
    sound = st.toggle(_("Sound"), value=True, key="alert:sound")
    notification = st.toggle(_("Browser notification"), key="alert:notification")
    webhook = st.text_input(
        _("Webhook"),
        placeholder="https://",
        key="alert:webhook",
        help=_("Gets the alert as JSON, signed, and again if it fails."),
    )
    return {
        "market": market,
        "kind": kind,
        "head": str(head),
        "direction": str(direction),
        "level": float(level),
        "sound": sound,
        "notification": notification,
        "webhook": webhook.strip(),
    }


def _told(rule: AlertRule) -> str:
    name = kind_names()[rule.kind]
    if rule.kind == "feed":
        return name
    if rule.kind == "price":
        return f"{name}: {number(rule.level, 2)}"
    if rule.kind == "score":
        return f"{name}: {number(rule.level, 2)} · {rule.head}"
    direction = _("Up") if rule.direction == "up" else _("Down")
    return f"{name}: {direction} {percent(rule.level)} · {rule.head}"
