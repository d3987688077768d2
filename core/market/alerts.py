"""Alerts on a market: each owner's rules, checked at every look at a session, told once each time a condition begins.

A rule watches one market for one thing of a kind of `WATCHED`, or for several at once, for as long as it asks. What happened
is logged for its owner; a webhook gets it as signed JSON (`core.market.webhook`).
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from core.files import write_bytes
from core.market.labels import LABEL_KINDS, describe_head
from core.market.marks import ASK, BID, Mark
from core.market.session_view import Status
from core.messages import Message, Refusal, compose

FORMER: Final = "operator"
"""Owner of the rules that were stored before rules had owners."""
MAX_RULES: Final = 40
"""Rules of one owner."""
MAX_CONDITIONS: Final = 4
MAX_OWNERS: Final = 200
"""Owners whose rules are kept in memory alone; the one unseen for longest goes first."""
MAX_TABS, MAX_LOG, MAX_TEXT, MAX_ADDRESS = 1_000, 50, 200, 2_000
"""Browser tabs that are known, events kept of one owner, and characters of a field and of an address."""
MAX_LEVEL: Final = 1e12
MAX_S: Final = 86_400.0
MIN_SCORED: Final = 100
"""Scored predictions below which a score says nothing."""
DELTA_S: Final = 60
"""Seconds over which volume delta is set against the mid."""
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
class MarketState:
    """State of a market that rules are tested on.

    Attributes:
        feed: key of the feed, its owner included. market: without.
        owners: those whose rules it may set off; None for all, as of a live market.
        mid: NaN before the first row.
        probabilities: head name -> (down, stationary, up) of the newest prediction; empty without one.
        scores: head name -> (scored, Matthews correlation of TLOB, of momentum), over the latest scored predictions.
        imbalance: bids less asks, over both, of ten levels. delta, move: size bought less sold, and the mid's change, since
            `DELTA_S` or the last gap; NaN where nothing is known.
        time_ms: of the newest row. eaten: marks of that kind so far.
    """

    feed: str
    market: str
    symbol: str
    status: Status
    mid: float
    probabilities: dict[str, tuple[float, float, float]]
    scores: dict[str, tuple[int, float, float]]
    owners: frozenset[str] | None = None
    time_ms: int = 0
    imbalance: float = math.nan
    delta: float = math.nan
    move: float = math.nan
    eaten: tuple[Mark, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One thing to watch for.

    Attributes:
        kind: a name of `WATCHED`, which says what `level` is.
        head: label and horizon, such as "forward_50", where the kind has one. direction: "up" or "down", where it has two.

    Raises:
        AlertError: where a field is of another type or out of its range.
    """

    kind: str
    head: str = ""
    direction: str = "up"
    level: float = 0.5

    @property
    def rises(self) -> bool:
        """Tells whether its direction is up."""
        return self.direction == "up"

    def __post_init__(self) -> None:
        _check_types(self)
        choices = ", ".join(WATCHED)
        _require(
            self.kind in WATCHED,
            compose("an alert cannot watch {kind!r}: choose one of {choices}", kind=self.kind, choices=choices),
        )
        of_head = _HEAD.fullmatch(self.head) or not (self.head or WATCHED[self.kind].head)
        _require(of_head, compose("{head!r} is no label and horizon: one such as forward_50 is right", head=self.head))
        known = self.direction in ("up", "down")
        _require(known, compose("the direction {direction!r} is neither up nor down", direction=self.direction))
        low, high = WATCHED[self.kind].levels
        text = compose("a level is from {low:g} to {high:g} here, not {level:g}", level=self.level, low=low, high=high)
        _require(low <= self.level <= high, text)


@dataclass(frozen=True, kw_only=True)
class AlertRule(Condition):
    """Rule of one market: conditions, and what is done when they hold. A condition itself, the first of its `conditions`.

    Attributes:
        market: key of the feed, such as "live/binance/BTC/USDT".
        also: what is to hold at the same time. for_s: seconds for which all that lasts is to have held.
        cooldown_s: seconds after an alert in which the same rule stays silent.
        sound, notification: whether the browser plays a sound or shows a notification.
        webhook: address that gets it; "" for none.
        owner: whose it is. id: given by the server.

    Raises:
        AlertError: as of a condition.
    """

    market: str
    also: tuple[Condition, ...] = ()
    for_s: float = 0.0
    cooldown_s: float = 60.0
    sound: bool = True
    notification: bool = False
    webhook: str = ""
    enabled: bool = True
    owner: str = ""
    id: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(_ID.fullmatch(self.id), compose("an alert's id is given by the server"))
        _require(_PRINTED.fullmatch(self.market), compose("an alert needs the key of a market"))
        few = len(self.conditions) <= MAX_CONDITIONS
        _require(few, compose("an alert watches {most} things at most", most=MAX_CONDITIONS))
        for name, value in (("for_s", self.for_s), ("cooldown_s", self.cooldown_s)):
            text = compose("{field} of {value:g} is not between 0 and {most:g}", field=name, value=value, most=MAX_S)
            _require(0 <= value <= MAX_S, text)
        lasts = not self.for_s or not all(WATCHED[one.kind].instant for one in self.conditions)
        _require(lasts, compose("what happens in an instant does not last {count:g} seconds", count=self.for_s))
        web = not self.webhook or _is_web_address(self.webhook)
        _require(web, compose("the webhook is no web address: it begins with https:// or http:// and names a host"))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All that is to hold at the same time."""
        return (self, *self.also)

    @property
    def receiver(self) -> str:
        """Host of the webhook's address, the one part of it that is shown; "" without."""
        return urlsplit(self.webhook).hostname or ""


@dataclass(frozen=True, kw_only=True)
class AlertEvent:
    """An alert that went off: its rule, by which feed, when (Unix seconds), and what to say."""

    rule: AlertRule
    feed: str
    at: float
    text: Message


Reason = tuple[bool, Message]
"""Whether a condition holds now, and how to say so."""


def _of_feed(_rule: Condition, now: MarketState, _before: MarketState) -> Reason:
    return now.status in (*LOST, Status.STALLED), compose("the feed is {status}", status=now.status.value)


def _of_price(rule: Condition, now: MarketState, before: MarketState) -> Reason:
    crossed = (before.mid - rule.level) * (now.mid - rule.level) <= 0 and before.mid != now.mid
    return crossed, compose("the mid crossed {level:,.10g} and is {mid:,.10g}", level=rule.level, mid=now.mid)


def _of_probability(rule: Condition, now: MarketState, _before: MarketState) -> Reason:
    down, _still, up = now.probabilities.get(rule.head, (math.nan,) * 3)
    head, share = describe_head(rule.head), up if rule.rises else down
    template = "P(up) is {share:.1%} at {head}" if rule.rises else "P(down) is {share:.1%} at {head}"
    return share >= rule.level, compose(template, share=share, head=head)


def _of_score(rule: Condition, now: MarketState, _before: MarketState) -> Reason:
    count, tlob, naive = now.scores.get(rule.head, (0, math.nan, math.nan))
    template = "over the last {count:d} scored at {head}, TLOB has {tlob:.2f} and momentum {naive:.2f}"
    text = compose(template, count=count, head=describe_head(rule.head), tlob=tlob, naive=naive)
    return count >= MIN_SCORED and naive - tlob >= rule.level, text


def _of_imbalance(rule: Condition, now: MarketState, _before: MarketState) -> Reason:
    holds = (now.imbalance if rule.rises else -now.imbalance) >= rule.level
    return holds, compose("the book's imbalance is {share:+.1%}", share=now.imbalance)


def _of_wall(rule: Condition, now: MarketState, before: MarketState) -> Reason:
    side = ASK if rule.rises else BID
    fresh = [mark for mark in now.eaten if mark.side == side and mark.time > before.time_ms]
    size, price = max(((mark.size, mark.price) for mark in fresh), default=(0.0, 0.0))
    text = compose("{size:,.4g} that rested at {price:,.10g} was eaten", size=size, price=price)
    return 0 < size >= rule.level, text


def _of_delta(rule: Condition, now: MarketState, _before: MarketState) -> Reason:
    way = 1 if rule.rises else -1
    template = "bought less sold is {delta:+,.4g} in {count:d} s, and the mid moved by {move:+,.10g}"
    text = compose(template, delta=now.delta, count=DELTA_S, move=now.move)
    return way * now.delta >= rule.level and way * now.move <= 0, text


class Watched(NamedTuple):
    """A kind of condition: whether it holds, by the market now and at the look before, and between which its level lies.

    `head` and `directed` say whether it is of a label and horizon and has two directions; `instant`, that it does not last.
    """

    reason: Callable[[Condition, MarketState, MarketState], Reason]
    levels: tuple[float, float] = (-MAX_LEVEL, MAX_LEVEL)
    head: bool = False
    directed: bool = False
    instant: bool = False


WATCHED: Final[Mapping[str, Watched]] = {
    "probability": Watched(reason=_of_probability, levels=(0, 1), head=True, directed=True),
    "score": Watched(reason=_of_score, head=True),
    "feed": Watched(reason=_of_feed),
    "price": Watched(reason=_of_price, instant=True),
    "imbalance": Watched(reason=_of_imbalance, levels=(0, 1), directed=True),
    "wall": Watched(reason=_of_wall, levels=(0, MAX_LEVEL), directed=True, instant=True),
    "delta": Watched(reason=_of_delta, levels=(0, MAX_LEVEL), directed=True),
}
"""By kind, with what its level is: "probability": of the direction at `head`. "score": how far TLOB's Matthews correlation over
its latest scored predictions lies below momentum's. "feed": none; stale, failed, reconnecting or stalled. "price": which the mid
crosses. "imbalance": of ten levels, to the direction's side. "wall": size of asks ("up") or bids that trades ate. "delta": how
much more was bought ("up") or sold in `DELTA_S` seconds while the mid did not go there."""


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
        self._held: dict[tuple[str, str], float] = {}  # (rule, feed) -> since when all that lasts holds; infinite once told
        self._told: dict[str, float] = {}
        self._before: dict[str, MarketState] = {}
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
        """Add a rule; as `change`."""
        self.change(rule.owner, lambda rules: [*rules, rule])

    def change(self, owner: str, change: Callable[[list[AlertRule]], list[AlertRule]]) -> None:
        """Take what `change` makes of an owner's rules instead of them; those of others are left out.

        Raises:
            AlertError: where they are too many, or the file cannot be written; nothing changes then.
        """
        with self._lock:
            owned = self._of(owner)
            before, wanted = owned.rules, {rule.id: rule for rule in change([*owned.rules.values()]) if rule.owner == owner}
            few = len(wanted) <= MAX_RULES
            _require(few, compose("{count} alerts are too many: {most} at most are kept", count=len(wanted), most=MAX_RULES))
            owned.rules = wanted
            try:
                self._save()
            except OSError as error:
                owned.rules = before
                why = error.strerror or type(error).__name__
                raise AlertError("the alerts cannot be written: {reason}", reason=why) from error

    def log(self, owner: str, since: float = 0.0) -> list[AlertEvent]:
        """An owner's events after this time, oldest first."""
        with self._lock:
            return [event for event in self._owned.get(owner, _Owned()).log if event.at > since]

    def check(self, now: MarketState) -> list[AlertEvent]:
        """Look at a feed; returns what goes off.

        A rule goes off when its conditions begin to hold, or have held as long as it asks; not again while they hold, nor within
        its cooldown.
        """
        events = []
        at = self._clock()
        with self._lock:
            before = self._before.get(now.feed, now)
            if math.isfinite(now.mid):
                self._before[now.feed] = now
            for owner, owned in self._owned.items():
                if now.owners is not None and owner not in now.owners:
                    continue
                for rule in owned.rules.values():
                    if rule.market == now.market and rule.enabled and (text := self._goes_off(rule, now, before, at)) is not None:
                        events.append(AlertEvent(rule=rule, feed=now.feed, at=at, text=text))
                        owned.log.append(events[-1])
        for event in events:
            if event.rule.webhook:
                self._deliver(event)
        return events

    def forget(self, feeds: Iterable[str]) -> None:
        """Forget what was seen of all feeds but these, and of rules that are gone."""
        running = set(feeds)
        with self._lock:
            there = {rule for owned in self._owned.values() for rule in owned.rules}
            self._before = {feed: state for feed, state in self._before.items() if feed in running}
            self._held = {one: at for one, at in self._held.items() if one[0] in there and one[1] in running}
            self._told = {rule: at for rule, at in self._told.items() if rule in there}

    def _goes_off(self, rule: AlertRule, now: MarketState, before: MarketState, at: float) -> Message | None:
        """Returns the sentence of a rule that goes off at this look, else None."""
        key = (rule.id, now.feed)
        watched = [WATCHED[one.kind] for one in rule.conditions]
        holds, texts = zip(
            *(each.reason(one, now, before) for each, one in zip(watched, rule.conditions, strict=True)), strict=True
        )
        if not all(now or each.instant for now, each in zip(holds, watched, strict=True)):
            self._held.pop(key, None)
            return None
        if at - self._held.setdefault(key, at) < rule.for_s or not all(holds):
            return None
        if not any(each.instant for each in watched):
            self._held[key] = math.inf  # told, or silent, until it ends
        if at - self._told.get(rule.id, -math.inf) < rule.cooldown_s:
            return None
        self._told[rule.id] = at
        what = reduce(lambda one, other: compose("{one}; {other}", one=one, other=other), texts)
        return compose("{symbol}: {what}", symbol=now.symbol, what=what)

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
    few = len(given) <= MAX_RULES
    _require(few, compose("{count} alerts are too many: {most} at most are kept", count=len(given), most=MAX_RULES))
    ours = not any("owner" in entry for entry in given)
    _require(ours, compose("the file names owners of alerts: choose one that this page exported"))
    return [_rule({**entry, "owner": owner}, number) for number, entry in enumerate(given, 1)]


def _entries(text: str) -> list[dict[str, Any]]:
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        if _are_fields(entries := json.loads(text)["alerts"]):
            return list(entries)
    raise AlertError(compose("the file holds no alerts: choose one that this page exported"))


def _are_fields(entries: object) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


def _rule(entry: dict[str, Any], number: int) -> AlertRule:
    also = entry.get("also", [])
    _require(_are_fields(also), compose("alert {number} names no conditions under {name!r}", number=number, name="also"))
    for one, known, least in ((entry, AlertRule, {"market", "kind"}), *((other, Condition, {"kind"}) for other in also)):
        unknown, lacking = set(one) - {each.name for each in fields(known)}, least - set(one)
        name = str(min(unknown, default=""))[:MAX_TEXT]
        _require(not unknown, compose("alert {number} has the unknown field {name!r}", number=number, name=name))
        _require(not lacking, compose("alert {number} lacks the field {name!r}", number=number, name=min(lacking, default="")))
    return AlertRule(**entry | {"also": tuple(Condition(**other) for other in also)})


def _read(path: Path) -> list[AlertRule]:
    """The rules of a file, as far as they can be used; where some cannot, the file is kept aside as it was."""
    rules, problem, text = list[AlertRule](), "", ""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, entry in enumerate(_entries(text), 1):
            made = {} if isinstance(entry.get("id"), str) and _ID.fullmatch(entry["id"]) else {"id": uuid4().hex}
            try:
                rules.append(_rule({"owner": FORMER, **entry, **made}, number))
            except AlertError as error:
                problem = str(error)
        if not problem:
            return rules
    except FileNotFoundError:
        return []
    except (OSError, AlertError) as error:
        problem = str(error)
    log.warning("%s is kept as %s: %s", path, path.with_suffix(".damaged.json").name, problem)
    with suppress(OSError):
        path.with_suffix(".damaged.json").write_text(text, encoding="utf-8")
    return rules


def _json(rules: list[dict[str, Any]]) -> str:
    return json.dumps({"alerts": rules}, indent=1, ensure_ascii=False) + "\n"


def _require(holds: object, otherwise: Message) -> None:
    if not holds:
        raise AlertError(otherwise)


def _check_types(one: Condition) -> None:
    for each in fields(one):
        name, value = each.name, getattr(one, each.name)
        if each.type == "str":
            most = MAX_ADDRESS if name == "webhook" else MAX_TEXT
            fits = isinstance(value, str) and len(value) <= most
            _require(fits, compose("{field} is not a text of at most {count} characters", field=name, count=most))
        elif each.type == "bool":
            _require(isinstance(value, bool), compose("{field} is neither true nor false", field=name))
        elif each.type == "float":
            _require(_is_number(value), compose("{field} {value!r} is not a number", field=name, value=value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63 and math.isfinite(value)


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and bool(_PRINTED.fullmatch(text))
    except ValueError:
        return False
