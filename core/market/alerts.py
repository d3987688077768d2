"""Alerts on a market: each owner's rules, checked at every look at a session, told once each time a condition begins.

A rule watches one market for one thing: a probability, TLOB's score against momentum's, the feed's state, or the mid-price. What
happened is logged for its owner; a webhook gets it as signed JSON (`core.market.webhook`).
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit
from uuid import uuid4

from core.files import write_bytes
from core.market.labels import LABEL_KINDS, describe_head
from core.market.session_view import Status
from core.messages import Message, Refusal, compose

AlertKind = Literal["probability", "score", "feed", "price"]
ALERT_KINDS: Final[tuple[AlertKind, ...]] = get_args(AlertKind)
FORMER: Final = "operator"
"""Owner of the rules that were stored before rules had owners."""
MAX_RULES: Final = 40
"""Rules of one owner."""
MAX_OWNERS: Final = 200
"""Owners whose rules are kept in memory alone; the one unseen for longest goes first."""
MAX_TABS, MAX_LOG, MAX_TEXT = 1_000, 50, 200
"""Browser tabs that are known, events kept of one owner, and characters of a field."""
MAX_LEVEL: Final = 1e12
MAX_COOLDOWN_S: Final = 86_400.0
MIN_SCORED: Final = 100
"""Scored predictions below which a score says nothing."""
LOST: Final = (Status.STALE, Status.FAILED, Status.RECONNECTING)
"""Statuses in which the book of now is not known. Of one that is stalled it is, as far as the venue says."""
_HEAD: Final = re.compile(rf"({'|'.join(LABEL_KINDS)})_[1-9]\d{{0,3}}")
_PRINTED: Final = re.compile(r"[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?")
_ID: Final = re.compile(r"[0-9a-f]{8,32}")
_SERVERS: Final = ("id", "owner", "webhook")
"""Fields that no file for a person holds: the first two are the server's, and an address is a secret."""

log = logging.getLogger(__name__)


class AlertError(Refusal, ValueError):
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
        owner: whose it is. id: given by the server.

    Raises:
        AlertError: where a field is of another type or out of its range.
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
    owner: str = ""
    id: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        for name in ("market", "kind", "head", "direction", "webhook", "owner", "id"):
            text = getattr(self, name)
            if not isinstance(text, str) or len(text) > MAX_TEXT * (10 if name == "webhook" else 1):
                raise AlertError("{field} is not a text of at most {count} characters", field=name, count=MAX_TEXT)
        if not _ID.fullmatch(self.id):
            raise AlertError(compose("an alert's id is given by the server"))
        if wrong := [name for name in ("sound", "notification", "enabled") if not isinstance(getattr(self, name), bool)]:
            raise AlertError("{field} is neither true nor false", field=wrong[0])
        for name in ("level", "cooldown_s"):
            if not _is_number(value := getattr(self, name)):
                raise AlertError("{field} {value!r} is not a number", field=name, value=value)
        self._check_watched()
        if not 0 <= self.cooldown_s <= MAX_COOLDOWN_S:
            raise AlertError("cooldown_s of {value:g} is not between 0 and {most:g}", value=self.cooldown_s, most=MAX_COOLDOWN_S)
        if self.webhook and not _is_web_address(self.webhook):
            raise AlertError(compose("the webhook is no web address: it begins with https:// or http:// and names a host"))

    def _check_watched(self) -> None:
        if not _PRINTED.fullmatch(self.market):
            raise AlertError(compose("an alert needs the key of a market"))
        if self.kind not in ALERT_KINDS:
            raise AlertError(
                "an alert cannot watch {kind!r}: choose one of {choices}", kind=self.kind, choices=", ".join(ALERT_KINDS)
            )
        if (self.head or self.kind in ("probability", "score")) and not _HEAD.fullmatch(self.head):
            raise AlertError("{head!r} is no label and horizon: one such as forward_50 is right", head=self.head)
        if self.direction not in ("up", "down"):
            raise AlertError("the direction {direction!r} is neither up nor down", direction=self.direction)
        if self.kind == "probability" and not 0 < self.level <= 1:
            raise AlertError("a probability of {level:g} does not exist: give a level above 0 and up to 1", level=self.level)
        if abs(self.level) > MAX_LEVEL:
            raise AlertError("the level {level:g} is more than any market has", level=self.level)

    @property
    def receiver(self) -> str:
        """Host of the webhook's address, the one part of it that is shown; "" without."""
        return urlsplit(self.webhook).hostname or ""


@dataclass(frozen=True, kw_only=True)
class MarketState:
    """State of a market that rules are tested on.

    Attributes:
        feed: key of the feed, its owner included. market: without.
        owners: those whose rules it may set off; None for all, as of a live market.
        probabilities: head name -> (down, stationary, up) of the newest prediction; empty without one.
        scores: head name -> (scored, Matthews correlation of TLOB, of momentum), over the latest scored predictions.
        mid: NaN before the first row.
    """

    feed: str
    market: str
    symbol: str
    status: Status
    mid: float
    probabilities: dict[str, tuple[float, float, float]]
    scores: dict[str, tuple[int, float, float]]
    owners: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class AlertEvent:
    """An alert that went off: its rule, by which feed, when (Unix seconds), and what to say."""

    rule: AlertRule
    feed: str
    at: float
    text: Message


def reason(rule: AlertRule, now: MarketState, before_mid: float) -> Message | None:
    """Returns the reason that the rule's condition holds now, or None.

    Args:
        before_mid: the mid at the look before, NaN where there was none.
    """
    if rule.kind == "feed":
        return (
            compose("{symbol}: the feed is {status}", symbol=now.symbol, status=now.status.value)
            if now.status in (*LOST, Status.STALLED)
            else None
        )
    if rule.kind == "price":
        crossed = (before_mid - rule.level) * (now.mid - rule.level) <= 0 and before_mid != now.mid
        text = compose(
            "{symbol}: the mid crossed {level:,.10g} and is {mid:,.10g}", symbol=now.symbol, level=rule.level, mid=now.mid
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
    if count < MIN_SCORED or not naive - tlob >= rule.level:
        return None
    return compose(
        "{symbol}: over the last {count:d} scored at {head}, TLOB has {tlob:.2f} and momentum {naive:.2f}",
        symbol=now.symbol,
        count=count,
        head=describe_head(rule.head),
        tlob=tlob,
        naive=naive,
    )


@dataclass
class _Owned:
    """Rules and events of one owner."""

    rules: dict[str, AlertRule] = field(default_factory=dict)
    log: deque[AlertEvent] = field(default_factory=lambda: deque(maxlen=MAX_LOG))


class AlertBook:
    """The rules by owner, what they last saw, and the log of what went off. Safe from any thread.

    Args:
        path: JSON file of the rules of owners that are `lasting`; None keeps all in memory alone. What is in it is read at once;
            an entry that cannot be used is left out, and the file is then also kept as it was, under another name.
        lasting: whether an owner's rules are to outlive the process.
        deliver: called with every event that has a webhook.
        clock: Unix seconds.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        lasting: Callable[[str], bool] = lambda owner: True,
        deliver: Callable[[AlertEvent], object] = lambda event: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._lasting, self._deliver, self._clock = path, lasting, deliver, clock
        self._lock = threading.Lock()
        self._owned: OrderedDict[str, _Owned] = OrderedDict()
        self._tabs: OrderedDict[str, str] = OrderedDict()
        self._held: set[tuple[str, str]] = set()  # (rule, feed) whose condition held at the last look
        self._told: dict[str, float] = {}
        self._mids: dict[str, float] = {}
        for rule in _read(path) if path is not None else ():
            self._of(rule.owner).rules[rule.id] = rule

    def meet(self, tab: str, owner: str) -> None:
        """Know that this browser tab is this owner's, whose rules then hold for what the tab plays."""
        with self._lock:
            self._tabs[tab] = owner
            self._tabs.move_to_end(tab)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)
            if owner in self._owned:
                self._owned.move_to_end(owner)

    def owners_of(self, tabs: Iterable[str]) -> frozenset[str]:
        """The owners of these tabs."""
        with self._lock:
            return frozenset(self._tabs[tab] for tab in tabs if tab in self._tabs)

    def rules(self, owner: str, market: str | None = None) -> list[AlertRule]:
        """An owner's rules, or those of one market."""
        with self._lock:
            return [rule for rule in self._owned.get(owner, _Owned()).rules.values() if market in (None, rule.market)]

    def markets(self) -> set[str]:
        """Markets that any rule watches."""
        with self._lock:
            return {rule.market for owned in self._owned.values() for rule in owned.rules.values() if rule.enabled}

    def put(self, rule: AlertRule) -> None:
        """Add a rule.

        Raises:
            AlertError: where its owner has too many, or the file cannot be written; nothing is added then.
        """
        self._change(rule.owner, lambda rules: {**rules, rule.id: rule})

    def remove(self, owner: str, rule_id: str) -> None:
        """Remove an owner's rule; nothing happens where there is none.

        Raises:
            AlertError: where that cannot be written.
        """
        self._change(owner, lambda rules: {key: rule for key, rule in rules.items() if key != rule_id})

    def replace(self, owner: str, rules: Iterable[AlertRule]) -> None:
        """Take these rules of the owner instead of all that it has.

        Raises:
            AlertError: where they are too many, or the file cannot be written; nothing changes then.
        """
        wanted = {rule.id: rule for rule in rules if rule.owner == owner}
        self._change(owner, lambda _: wanted)

    def log(self, owner: str, since: float = 0.0) -> list[AlertEvent]:
        """An owner's events after this time, oldest first."""
        with self._lock:
            return [event for event in self._owned.get(owner, _Owned()).log if event.at > since]

    def check(self, now: MarketState) -> list[AlertEvent]:
        """Look at a feed; returns what goes off.

        A rule goes off when its condition begins to hold, not again while it holds, nor within its cooldown.
        """
        events = []
        at = self._clock()
        with self._lock:
            before_mid = self._mids.get(now.feed, math.nan)
            if math.isfinite(now.mid):
                self._mids[now.feed] = now.mid
            for owner, owned in self._owned.items():
                if now.owners is not None and owner not in now.owners:
                    continue
                for rule in owned.rules.values():
                    text = reason(rule, now, before_mid) if rule.market == now.market and rule.enabled else None
                    if text is not None and self._goes_off(rule, now.feed, at):
                        events.append(AlertEvent(rule=rule, feed=now.feed, at=at, text=text))
                        owned.log.append(events[-1])
                    if text is not None and rule.kind != "price":
                        self._held.add((rule.id, now.feed))
                    else:
                        self._held.discard((rule.id, now.feed))
        for event in events:
            if event.rule.webhook:
                self._deliver(event)
        return events

    def forget(self, feeds: Iterable[str]) -> None:
        """Forget what was seen of all feeds but these, and of rules that are gone."""
        running = set(feeds)
        with self._lock:
            there = {rule for owned in self._owned.values() for rule in owned.rules}
            self._mids = {feed: mid for feed, mid in self._mids.items() if feed in running}
            self._held = {one for one in self._held if one[0] in there and one[1] in running}
            self._told = {rule: at for rule, at in self._told.items() if rule in there}

    def _change(self, owner: str, change: Callable[[dict[str, AlertRule]], dict[str, AlertRule]]) -> None:
        with self._lock:
            owned = self._of(owner)
            wanted = change(owned.rules)
            if len(wanted) > MAX_RULES:
                raise AlertError("{count} alerts are too many: {most} at most are kept", count=len(wanted), most=MAX_RULES)
            before, owned.rules = owned.rules, wanted
            try:
                self._save()
            except OSError as error:
                owned.rules = before
                why = error.strerror or type(error).__name__
                raise AlertError("the alerts cannot be written: {reason}", reason=why) from error

    def _goes_off(self, rule: AlertRule, feed: str, at: float) -> bool:
        began = (rule.id, feed) not in self._held
        if began and at - self._told.get(rule.id, -math.inf) >= rule.cooldown_s:
            self._told[rule.id] = at
            return True
        return False

    def _of(self, owner: str) -> _Owned:
        owned = self._owned.setdefault(owner, _Owned())
        self._owned.move_to_end(owner)
        passing = [one for one in self._owned if not self._lasting(one)]
        for gone in passing[: max(0, len(passing) - MAX_OWNERS)]:
            del self._owned[gone]
        return owned

    def _save(self) -> None:
        if self._path is None:
            return
        rules = [asdict(rule) for owner, owned in self._owned.items() if self._lasting(owner) for rule in owned.rules.values()]
        if rules or self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._path, _json(rules).encode())


def rules_to_json(rules: Iterable[AlertRule]) -> str:
    """Rules as the text of a file to keep or to pass on: without addresses, which are secrets."""
    return _json([{key: value for key, value in asdict(rule).items() if key not in _SERVERS} for rule in rules])


def rules_from_json(text: str, owner: str = "") -> list[AlertRule]:
    """The inverse of `rules_to_json`: an owner's rules, with new ids whatever the text says.

    Raises:
        AlertError: where the text is no such file, or a rule in it cannot be used.
    """
    given = [{key: value for key, value in entry.items() if key != "id"} for entry in _entries(text)]
    if len(given) > MAX_RULES:
        raise AlertError("{count} alerts are too many: {most} at most are kept", count=len(given), most=MAX_RULES)
    if any("owner" in entry for entry in given):
        raise AlertError(compose("the file names owners of alerts: choose one that this page exported"))
    return [_rule({**entry, "owner": owner}, number) for number, entry in enumerate(given, 1)]


def _entries(text: str) -> list[dict[str, Any]]:
    try:
        entries = json.loads(text)["alerts"]
        if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
            return entries
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise AlertError(compose("the file holds no alerts: choose one that this page exported"))


def _rule(entry: dict[str, Any], number: int) -> AlertRule:
    known = [one.name for one in fields(AlertRule)]
    if unknown := sorted(set(entry) - set(known)):
        raise AlertError("alert {number} has the unknown field {name!r}", number=number, name=unknown[0][:MAX_TEXT])
    if lacking := [name for name in ("market", "kind") if name not in entry]:
        raise AlertError("alert {number} lacks the field {name!r}", number=number, name=lacking[0])
    return AlertRule(**entry)


def _read(path: Path) -> list[AlertRule]:
    """The rules of a file, as far as they can be used; where some cannot, the file is kept aside as it was."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("%s cannot be read: %s", path, error)
        return []
    rules, problem = list[AlertRule](), ""
    try:
        for number, entry in enumerate(_entries(text), 1):
            made = {} if isinstance(entry.get("id"), str) and _ID.fullmatch(entry["id"]) else {"id": uuid4().hex}
            try:
                rules.append(_rule({"owner": FORMER, **entry, **made}, number))
            except AlertError as error:
                problem = str(error)
    except AlertError as error:
        problem = str(error)
    if problem:
        log.warning("%s is kept as %s: %s", path, path.with_suffix(".damaged.json").name, problem)
        try:
            path.with_suffix(".damaged.json").write_text(text, encoding="utf-8")
        except OSError as error:
            log.warning("it could not be kept: %s", error)
    return rules


def _json(rules: list[dict[str, Any]]) -> str:
    return json.dumps({"alerts": rules}, indent=1, ensure_ascii=False) + "\n"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63 and math.isfinite(value)


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and bool(_PRINTED.fullmatch(text))
    except ValueError:
        return False
