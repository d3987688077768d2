"""Alerts of the market on the screen, the reader's own: set, list, remove, export and import; and what went off."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.market.alert_monitor import market_of
from core.market.alerts import ALERT_KINDS, AlertError, AlertKind, AlertRule
from core.market.session import MarketSession
from core.service import alerts
from core.service.access import Action, NotAllowed, Visitor, outlives_tab
from pages.markets.live_controls import horizon_name
from pages.shared import controls, permissions
from pages.shared.language import _, moment, number, percent, significant


def kind_names() -> dict[AlertKind, str]:
    """Names of the kinds of alert, in the reader's language."""
    return {
        "probability": _("A probability is reached"),
        "score": _("TLOB falls below momentum"),
        "feed": _("The feed is stale or lost, or its book stands still"),
        "price": _("The mid crosses a price"),
    }


def show(session: MarketSession) -> None:
    """The panel, in a popover."""
    by, market = permissions.visitor(), market_of(session.feed.key)
    alerts.meet(by)
    with st.popover(_("Alerts"), icon=":material/notifications:", width="content"):
        names = kind_names()
        kind = st.selectbox(_("Watch for"), ALERT_KINDS, format_func=names.__getitem__, key="alert:kind")
        with st.form("alert", border=False):
            asked = {"market": market, "kind": kind, "owner": by.owner, **_asked(kind, session, by)}
            if st.form_submit_button(_("Set this alert"), icon=":material/add_alert:"):
                try:
                    alerts.add(by, AlertRule(**asked))
                except (AlertError, NotAllowed) as error:
                    controls.error_box(str(error))
        for one in alerts.rules(by, market):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.markdown(describe(one))
            if right.button(_("Remove"), icon=":material/delete:", key=f"alert:remove:{one.id}"):
                _remove(by, one)
        for event in reversed(alerts.events(by.owner, session.feed.key)[-5:]):
            st.caption(f"{moment(datetime.fromtimestamp(event.at, UTC))} · {controls.told(event.text)}")
        if not outlives_tab(by.owner):
            st.caption(_("Alerts last as long as this browser tab: export them to keep them."))
        st.download_button(
            _("Export all alerts"),
            lambda: alerts.exported(by),
            "alerts.json",
            "application/json",
            key="alerts:export",
            help=_("Without the addresses of webhooks, which are secrets."),
        )
        given = st.file_uploader(_("Import alerts (replaces all)"), type="json", key="alerts:import", max_upload_size=1)
        if given is not None and st.button(_("Replace all alerts with this file"), key="alerts:replace"):
            try:
                alerts.replace(by, given.getvalue().decode("utf-8", errors="replace"))
            except (AlertError, NotAllowed) as error:
                controls.error_box(str(error))


def _remove(by: Visitor, rule: AlertRule) -> None:
    try:
        alerts.remove(by, rule.id)
    except (AlertError, NotAllowed) as error:
        controls.error_box(str(error))
        return
    st.rerun()


def head_name(code: str) -> str:
    """A rule's label and horizon, such as "forward_50", in the reader's language."""
    label, _line, steps = code.rpartition("_")
    labels = {"forward": _("Forward"), "smoothed": _("Smoothed")}
    return f"{labels[label]}, {horizon_name(int(steps))}" if label in labels and steps.isdecimal() else controls.plain(code)


def direction_names() -> dict[str, str]:
    """The directions of a move, in the reader's language."""
    return {"up": _("Up"), "down": _("Down")}


def _asked(kind: AlertKind, session: MarketSession, by: Visitor) -> dict[str, Any]:
    """The widgets of this kind of alert, and what they say as fields of a rule."""
    fields: dict[str, Any] = {}
    if kind in ("probability", "score"):
        forward_first = sorted(session.predictor.heads, key=lambda head: head[0] != "forward")  # D24
        heads = {code: head_name(code) for code in (f"{label}_{horizon}" for label, horizon in forward_first)}
        fields["head"] = st.selectbox(
            _("Label and horizon"), list(heads), index=min(2, len(heads) - 1), format_func=heads.__getitem__, key="alert:head"
        )
    if kind == "probability":
        directions = direction_names()
        fields["direction"] = st.selectbox(
            _("Direction"), list(directions), format_func=directions.__getitem__, key="alert:direction"
        )
        fields["level"] = st.number_input(_("Probability, from 0 to 1"), value=0.7, step=0.05, key="alert:probability")
    elif kind == "score":
        fields["level"] = st.number_input(
            _("By how much its Matthews correlation is lower"), value=0.05, step=0.01, key="alert:gap"
        )
    elif kind == "price":
        levels = session.view(1).levels
        mid = float(levels[-1, 0] + levels[-1, 2]) / 2 if len(levels) else 0.0
        fields["level"] = st.number_input(_("Price"), value=mid, format="%.10g", key="alert:price")
    fields["sound"] = st.toggle(_("Sound"), value=True, key="alert:sound")
    fields["notification"] = st.toggle(_("Browser notification"), key="alert:notification")
    if by.may(Action.WEBHOOK):
        webhook = st.text_input(
            _("Webhook"),
            placeholder="https://",
            key="alert:webhook",
            help=_("Gets the alert as JSON, signed, and again if it fails. Its host is on the public internet."),
        )
        fields["webhook"] = webhook.strip()
    return fields


def describe(rule: AlertRule) -> str:
    """A rule in a line, of its webhook the host alone."""
    name = kind_names()[rule.kind]
    if rule.kind == "price":
        name = f"{name}: {significant(rule.level, 10)}"
    elif rule.kind == "score":
        name = f"{name}: {number(rule.level, 2)} · {head_name(rule.head)}"
    elif rule.kind == "probability":
        name = f"{name}: {direction_names()[rule.direction]} {percent(rule.level)} · {head_name(rule.head)}"
    return f"{name} → {controls.plain(rule.receiver)}" if rule.webhook else name
