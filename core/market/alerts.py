"""Alerts on a market: rules kept in a file, checked at every look at a session, told once each time a condition begins.

A rule watches one market for one thing: a probability, TLOB's score against momentum's, the feed's state, or the mid-price. What
happened is logged; a webhook gets it as signed JSON (`core.market.webhook`).
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

from core.market.labels import describe_head
from core.market.session_view import Status
from core.market.whole_files import write_bytes
from core.messages import Message, compose

AlertKind = Literal["probability", "score", "feed", "price"]
ALERT_KINDS: tuple[AlertKind, ...] = get_args(AlertKind)
MOST_RULES = 200
LOG_KEPT = 500
FEWEST_SCORED = 100
"""Scored predictions below which a score says nothing."""
LOST = (Status.STALE, Status.FAILED, Status.RECONNECTING)


class AlertError(ValueError):
    """A rule or a file of rules that cannot be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class AlertRule:
    """One thing to watch for on one market.

    Attributes:
        market: key of the feed, such as "live/binance/BTC/USDT".
        kind: "probability": that of the chosen direction at `head` reaches `level`. "score": TLOB's Matthews correlation over
            its latest scored predictions at `head` falls `level` or more below momentum's. "feed": stale, failed or
            reconnecting. "price": the mid crosses `level`, from either side.
        head: label and horizon, such as "forward_50"; for "probability" and "score".
        direction: "up" or "down", for "probability".
        cooldown_s: seconds after an alert in which the same rule stays silent.
        sound, notification: whether the browser plays a sound or shows a notification.
        webhook: address that gets it; "" for none.
    """

    market: str
    kind: AlertKind
    head: str = ""
    direction: str = "up"
    level: float = 0.5
    cooldown_s: float = 60.0
    sound: bool = True
    notification: bool = False
    webhook: str = ""
    enabled: bool = True
    id: str = field(default_factory=lambda: uuid4().hex[:12])

    def __post_init__(self) -> None:
        if self.kind not in ALERT_KINDS:
            raise AlertError(
                compose("an alert cannot watch {kind!r}: choose one of {choices}", kind=self.kind, choices=", ".join(ALERT_KINDS))
            )
        if not isinstance(self.level, int | float) or not math.isfinite(self.level):
            raise AlertError(compose("the level {level!r} is not a number", level=self.level))
        if self.kind == "probability" and not 0 < self.level <= 1:
            raise AlertError(
                compose("a probability of {level:g} does not exist: give a level above 0 and up to 1", level=self.level)
            )
        if self.direction not in ("up", "down"):
            raise AlertError(compose("the direction {direction!r} is neither up nor down", direction=self.direction))
        if not isinstance(self.market, str) or not self.market:
            raise AlertError(compose("an alert needs the key of a market"))
        if self.webhook and not str(self.webhook).startswith(("http://", "https://")):
            raise AlertError(
                compose("the webhook {webhook!r} is no web address: it begins with https:// or http://", webhook=self.webhook)
            )


@dataclass(frozen=True, kw_only=True)
class MarketState:
    """What rules look at.

    Attributes:
        probabilities: head name -> (down, stationary, up) of the newest prediction; empty without one.
        scores: head name -> (scored, Matthews correlation of TLOB, of momentum), over the latest scored predictions.
        mid: NaN before the first row.
    """

    market: str
    symbol: str
    status: Status
    mid: float
    probabilities: dict[str, tuple[float, float, float]]
    scores: dict[str, tuple[int, float, float]]


@dataclass(frozen=True, kw_only=True)
class AlertEvent:
    """An alert that went off: its rule, when (Unix seconds), and what to say."""

    rule: AlertRule
    at: float
    text: Message


def reason(rule: AlertRule, now: MarketState, before_mid: float) -> Message | None:
    """Why the rule's condition holds now; None where it does not.

    Args:
        before_mid: the mid at the look before, NaN where there was none.
    """
    if rule.kind == "feed":
        return (
            compose("{symbol}: the feed is {status}", symbol=now.symbol, status=now.status.value) if now.status in LOST else None
        )
    if rule.kind == "price":
        crossed = (before_mid - rule.level) * (now.mid - rule.level) <= 0 and before_mid != now.mid
        text = compose(
            "{symbol}: the mid crossed {level:,.8g} and is {mid:,.8g}", symbol=now.symbol, level=rule.level, mid=now.mid
        )
        return text if crossed else None
    if rule.kind == "probability":
        p = now.probabilities.get(rule.head)
        share = p[2 if rule.direction == "up" else 0] if p else 0.0
        if share < rule.level:
            return None
        template = (
            "{symbol}: P(up) is {share:.1%} at {head}" if rule.direction == "up" else "{symbol}: P(down) is {share:.1%} at {head}"
        )
        return compose(template, symbol=now.symbol, share=share, head=describe_head(rule.head))
    count, tlob, naive = now.scores.get(rule.head, (0, math.nan, math.nan))
    if count < FEWEST_SCORED or not naive - tlob >= rule.level:
        return None
    return compose(
        "{symbol}: over the last {count:d} scored at {head}, TLOB has {tlob:.2f} and momentum {naive:.2f}",
        symbol=now.symbol,
        count=count,
        head=describe_head(rule.head),
        tlob=tlob,
        naive=naive,
    )


class AlertBook:
    """The rules, what they last saw, and the log of what went off. Safe from any thread.

    Args:
        path: JSON file of the rules; None keeps them in memory alone. What is in it is read at once.
        deliver: called with every event that has a webhook.
        clock: Unix seconds.

    Raises:
        AlertError: where the file is damaged.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        deliver: Callable[[AlertEvent], object] = lambda event: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._deliver, self._clock = path, deliver, clock
        self._lock = threading.Lock()
        self._rules: dict[str, AlertRule] = {}
        self._held: dict[str, bool] = {}
        self._told: dict[str, float] = {}
        self._mids: dict[str, float] = {}
        self._log: deque[AlertEvent] = deque(maxlen=LOG_KEPT)
        if path is not None and path.exists():
            self.replace(rules_from_json(path.read_text(encoding="utf-8")))

    def rules(self, market: str | None = None) -> list[AlertRule]:
        """All rules, or those of one market."""
        with self._lock:
            return [rule for rule in self._rules.values() if market in (None, rule.market)]

    def put(self, rule: AlertRule) -> None:
        """Add a rule, or replace the one of the same id.

        Raises:
            AlertError: where there are too many.
        """
        with self._lock:
            if rule.id not in self._rules and len(self._rules) >= MOST_RULES:
                raise AlertError(compose("there are {count} alerts: remove one first", count=MOST_RULES))
            self._rules[rule.id] = rule
            self._held.pop(rule.id, None)
            self._save()

    def remove(self, rule_id: str) -> None:
        """Remove a rule; nothing happens where there is none."""
        with self._lock:
            self._rules.pop(rule_id, None)
            self._save()

    def replace(self, rules: Iterable[AlertRule]) -> None:
        """Take these rules instead of all that are there."""
        wanted = {rule.id: rule for rule in rules}
        if len(wanted) > MOST_RULES:
            raise AlertError(compose("the file has {count} alerts: {most} at most are kept", count=len(wanted), most=MOST_RULES))
        with self._lock:
            self._rules = wanted
            self._held.clear()
            self._save()

    def log(self, since: float = 0.0) -> list[AlertEvent]:
        """Events after this time, oldest first."""
        with self._lock:
            return [event for event in self._log if event.at > since]

    def check(self, now: MarketState) -> list[AlertEvent]:
        """Look at a market; returns what goes off.

        A rule goes off when its condition begins to hold, not again while it holds, nor within its cooldown.
        """
        events = []
        at = self._clock()
        with self._lock:
            before_mid = self._mids.get(now.market, math.nan)
            if math.isfinite(now.mid):
                self._mids[now.market] = now.mid
            for rule in self._rules.values():
                if rule.market != now.market or not rule.enabled:
                    continue
                text = reason(rule, now, before_mid)
                began = text is not None and not self._held.get(rule.id, False)
                self._held[rule.id] = text is not None and rule.kind != "price"
                if text is not None and began and at - self._told.get(rule.id, -math.inf) >= rule.cooldown_s:
                    self._told[rule.id] = at
                    events.append(AlertEvent(rule=rule, at=at, text=text))
            self._log.extend(events)
        for event in events:
            if event.rule.webhook:
                self._deliver(event)
        return events

    def _save(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._path, rules_to_json(self._rules.values()).encode())


def rules_to_json(rules: Iterable[AlertRule]) -> str:
    """Rules as the text of a file to keep or to pass on."""
    return json.dumps({"alerts": [asdict(rule) for rule in rules]}, indent=1, ensure_ascii=False) + "\n"


def rules_from_json(text: str) -> list[AlertRule]:
    """The inverse of `rules_to_json`.

    Raises:
        AlertError: where the text is no such file, or a rule in it cannot be used.
    """
    known = {one.name for one in fields(AlertRule)}
    try:
        entries: list[dict[str, Any]] = json.loads(text)["alerts"]
        rules = []
        for number, entry in enumerate(entries, 1):
            unknown = set(entry) - known
            if unknown:
                raise AlertError(compose("alert {number} has the unknown field {name!r}", number=number, name=min(unknown)))
            rules.append(AlertRule(**entry))
    except AlertError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AlertError(compose("the file holds no alerts: choose one that this page exported")) from error
    return rules
