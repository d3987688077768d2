"""Alerts as a visitor may have them: each their own, and addresses only for those whom the table lets."""

from __future__ import annotations

from core.market.alert_monitor import alert_book
from core.market.alerts import AlertBook, AlertEvent, AlertRule, rules_from_json, rules_to_json
from core.market.feeds.background import background_loop
from core.market.webhook import check_receiver
from core.service.access import Action, Visitor, outlives_tab


def book() -> AlertBook:
    """The process's alerts. Those of an owner who is more than a browser tab are kept on disk."""
    return alert_book(outlives_tab)


def meet(by: Visitor) -> None:
    """Know that the visitor is here, so that their alerts hold for what they play."""
    book().meet(by.id, by.owner)


def rules(by: Visitor, market: str | None = None) -> list[AlertRule]:
    """The visitor's rules, or those of one market."""
    return book().rules(by.owner, market)


def events(owner: str, feed: str, since: float = 0.0) -> list[AlertEvent]:
    """Alerts that went off for an owner by one feed after this time, oldest first."""
    return [event for event in book().log(owner, since) if event.feed == feed]


def add(by: Visitor, rule: AlertRule) -> None:
    """Add a rule of the visitor's.

    Raises:
        NotAllowed: where the visitor may not, or not with an address. AlertError: where it is not kept.
    """
    _check(by, [rule])
    book().put(rule)


def remove(by: Visitor, rule_id: str) -> None:
    """Remove one of the visitor's rules.

    Raises:
        NotAllowed: where the visitor may not. AlertError: where that cannot be kept.
    """
    by.require(Action.ALERT)
    book().change(by.owner, lambda rules: [rule for rule in rules if rule.id != rule_id])


def exported(by: Visitor) -> str:
    """The visitor's rules as a file's text, without addresses.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.ALERT)
    return rules_to_json(rules(by))


def replace(by: Visitor, text: str) -> None:
    """Take the rules of a file instead of the visitor's own.

    Raises:
        NotAllowed: where the visitor may not, or not with an address. AlertError: where the file or a rule cannot be used.
    """
    wanted = rules_from_json(text, by.owner)
    _check(by, wanted)
    book().change(by.owner, lambda _: wanted)


def _check(by: Visitor, wanted: list[AlertRule]) -> None:
    by.require(Action.ALERT, own=all(rule.owner == by.owner for rule in wanted))
    receivers = {rule.receiver: rule.webhook for rule in wanted if rule.webhook}
    if receivers:
        by.require(Action.WEBHOOK)
    for webhook in receivers.values():
        background_loop().submit(check_receiver(webhook)).result()
