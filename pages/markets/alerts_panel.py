"""Alerts of the market on the screen, the reader's own: set, list, remove, export and import; and what went off."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.market.alert_monitor import market_of, state_of
from core.market.alerts import DELTA_S, MAX_CONDITIONS, WATCHED, AlertError, AlertRule, Condition
from core.market.session import MarketSession
from core.service import alerts
from core.service.access import Action, NotAllowed, Visitor, outlives_tab
from pages.markets.live_controls import horizon_name
from pages.shared import controls, permissions
from pages.shared.language import _, duration, moment, percent, significant


def kinds() -> dict[str, tuple[str, str]]:
    """Name and name of the level of each kind of condition, in the reader's language."""
    return {
        "probability": (_("A probability is reached"), _("Probability, from 0 to 1")),
        "score": (_("TLOB falls below momentum"), _("By how much its Matthews correlation is lower")),
        "feed": (_("The feed is stale or lost, or its book stands still"), ""),
        "price": (_("The mid crosses a price"), _("Price")),
        "imbalance": (_("The book leans to a side"), _("Imbalance, from 0 to 1")),
        "wall": (_("A large resting size is eaten"), _("Size, at least")),
        "delta": (_("Volume delta against the price"), _("Delta over {count} s").format(count=DELTA_S)),
    }


def show(session: MarketSession) -> None:
    """The panel, in a popover."""
    by, market = permissions.visitor(), market_of(session.feed.key)
    alerts.meet(by)
    with st.popover(_("Alerts"), icon=":material/notifications:", width="content"):
        chosen = _kinds_chosen()
        with st.form("alert", border=False):
            first, *others = [_asked(kind, session, i) for i, kind in enumerate(chosen)]
            told = _how(by, lasts=len(chosen) > 1 or not WATCHED[chosen[0]].instant)
            if st.form_submit_button(_("Set this alert"), icon=":material/add_alert:"):
                try:
                    also = tuple(Condition(**other) for other in others)
                    alerts.add(by, AlertRule(market=market, owner=by.owner, also=also, **first, **told))
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


def _kinds_chosen() -> list[str]:
    """The kinds to watch for at once: after each that is chosen, another may be."""
    names = {kind: name for kind, (name, _level) in kinds().items()}
    chosen = [st.selectbox(_("Watch for"), list(names), format_func=names.__getitem__, key="alert:kind")]
    while len(chosen) < MAX_CONDITIONS:
        more = st.selectbox(
            _("And at the same time"),
            list(names),
            index=None,
            format_func=names.__getitem__,
            placeholder=_("Nothing else"),
            key=f"alert:kind:{len(chosen)}",
        )
        if more is None:
            break
        chosen.append(more)
    return chosen


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


def _asked(kind: str, session: MarketSession, place: int) -> dict[str, Any]:
    """The widgets of one condition, and what they say as its fields."""
    watched, (name, level) = WATCHED[kind], kinds()[kind]
    fields: dict[str, Any] = {"kind": kind}
    end = f":{place}" if place else ""
    if end:
        st.markdown(f"**{name}**")
    if watched.head:
        forward_first = sorted(session.predictor.heads, key=lambda head: head[0] != "forward")  # D24
        heads = {code: head_name(code) for code in (f"{label}_{horizon}" for label, horizon in forward_first)}
        middle = min(2, len(heads) - 1)
        fields["head"] = st.selectbox(
            _("Label and horizon"), list(heads), index=middle, format_func=heads.__getitem__, key=f"alert:head{end}"
        )
    if watched.directed:
        directions = direction_names()
        fields["direction"] = st.selectbox(
            _("Direction"), list(directions), format_func=directions.__getitem__, key=f"alert:direction{end}"
        )
    if level:
        begins = {"probability": 0.7, "score": 0.05, "price": state_of(session).mid, "imbalance": 0.5}.get(kind, 0.0)
        fields["level"] = st.number_input(
            level, value=0.0 if math.isnan(begins) else begins, step=0.05, format="%.10g", key=f"alert:{kind}{end}"
        )
    return fields


def _how(by: Visitor, *, lasts: bool) -> dict[str, Any]:
    """The widgets of how long it is to hold and how it is told, and what they say as fields of a rule."""
    fields: dict[str, Any] = {}
    if lasts:
        fields["for_s"] = st.number_input(_("Held for so many seconds"), value=0.0, step=1.0, format="%.10g", key="alert:for")
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
    text = " + ".join(map(_described, rule.conditions))
    if rule.for_s:
        text = _("{what}, for {time}").format(what=text, time=duration(rule.for_s))
    return f"{text} → {controls.plain(rule.receiver)}" if rule.webhook else text


def _described(one: Condition) -> str:
    watched, (name, level) = WATCHED[one.kind], kinds()[one.kind]
    words = [direction_names()[one.direction]] if watched.directed else []
    if level:
        words.append(percent(one.level) if watched.levels == (0, 1) else significant(one.level, 10))
    parts = [" ".join(words), head_name(one.head) if watched.head else ""]
    return ": ".join([name, *([" · ".join(filter(None, parts))] if level else [])])
