"""Forecasters beside TLOB while a session runs, each in a thread of its own, so that none delays a step.

A session hands over its newest window and goes on. A forecaster that is still at work when the next window comes has missed the
one that waited; an answer after the deadline is late. Both are missing. Outcomes come from the session's own scoreboard.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.table import Answered, Table, differences
from core.market.book import STEP_MS, FloatArray
from core.market.calibration import CallRule, apply_rules
from core.market.forecasters.catalogue import AnyForecaster, find_forecaster
from core.market.forecasters.comparison import ForecasterScore, fit_peer_rule
from core.market.forecasters.naive import StationaryForecaster
from core.market.forecasters.protocol import Checked, Fault, ForecasterError, ForecastTask, ask, begin_anew, missing, tell
from core.messages import compose

DEADLINE_S = STEP_MS / 1e3
"""Seconds from the hand-over of a window to its answer: one step (D28)."""
LEASE_S = 60.0
"""A forecaster that no viewer has asked for so long is dropped."""
KEPT = 20_000
"""Scored rows that are kept for each forecaster and head: 83 minutes."""
WAITING = 1_024
"""Windows whose outcomes may still be awaited."""
FIRST_FIT = 1_000
"""Outcomes of a head before its call rule is fitted, by the scores that D25 names; until then the likeliest class is called."""
REFIT = 500
"""Further outcomes between two fits."""
FITTED = 4_000
"""Newest outcomes that a fit reads."""


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A window handed over: when, by the monotonic clock, and what TLOB answered (heads, 3) and called (heads,)."""

    timestamp: int
    window: FloatArray
    at: float
    tlob: NDArray[np.floating]
    tlob_calls: NDArray[np.integer]


@dataclass(kw_only=True)
class _Row:
    """A forecaster's answer to one window: raw and calibrated probabilities (heads, 3), calls and faults (heads,)."""

    raw: NDArray[np.float64]
    calibrated: NDArray[np.float64]
    calls: NDArray[np.int64]
    faults: NDArray[np.int8]


@dataclass(kw_only=True)
class _Head:
    """Scored rows of one head: truth, call, TLOB's call; calibrated, TLOB's and raw probabilities; and the missing ones."""

    rule: CallRule | None = None
    resolved: int = 0
    fitted_at: int = 0
    classes: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT))
    p: deque[NDArray[np.float64]] = field(default_factory=lambda: deque(maxlen=KEPT))
    missing: Counter[Fault] = field(default_factory=Counter)


class _Peer:
    """One forecaster and its thread."""

    def __init__(self, name: str, task: ForecastTask, find: Callable[[str, ForecastTask], AnyForecaster], deadline_s: float,
                 clock: Callable[[], float]) -> None:  # fmt: skip
        self.name, self.task, self._find, self._deadline_s, self._clock = name, task, find, deadline_s, clock
        self.changed = threading.Condition()  # guards all below
        self.waiting: _Asked | None = None
        self.busy: int | None = None  # timestamp of the window it is at work on
        self.stopped = False
        self.ready = False
        self.reason: str = compose("{name} is being loaded.", name=name)
        self.rows: OrderedDict[int, _Row] = OrderedDict()
        self.heads = [_Head() for _ in task.heads]
        self.plain = self.learns = False
        self.came: deque[tuple[int, int, int]] = deque(maxlen=KEPT)  # outcomes that one that learns is still to be told of
        self.wound_back = False
        threading.Thread(target=self._work, name=f"forecaster-{name}", daemon=True).start()

    def offer(self, asked: _Asked) -> None:
        """Hand over a window; one that still waits is missed."""
        with self.changed:
            if self.waiting is not None:
                self._keep(self.waiting.timestamp, missing(1, len(self.heads), Fault.NEVER))
                self.reason = compose("{name} was still at work when the next window came.", name=self.name)
            self.waiting = asked
            self.changed.notify_all()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def forget(self) -> None:
        """Begin the scores anew; what is being computed is dropped."""
        with self.changed:
            self.waiting, self.busy = None, None
            self.rows.clear()
            self.came.clear()
            self.wound_back = True
            self.heads = [_Head() for _ in self.task.heads]

    def _work(self) -> None:
        forecaster: AnyForecaster | None = None
        refused = ""
        try:
            forecaster = self._find(self.name, self.task)
            self.plain, self.learns = isinstance(forecaster, StationaryForecaster), hasattr(forecaster, "learn")
        except ForecasterError as error:
            refused = str(error)
        except Exception as error:  # somebody else's code may raise anything
            refused = compose("{name} failed: {reason}.", name=self.name, reason=f"{type(error).__name__}: {error}"[:200])
        with self.changed:
            self.ready, self.reason = True, refused
            self.changed.notify_all()
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.stopped or self.waiting is not None)
                if self.stopped or self.waiting is None:
                    return
                asked, self.waiting = self.waiting, None
                self.busy = asked.timestamp
                came = list(self.came)
                self.came.clear()
                wound_back, self.wound_back = self.wound_back, False
            if wound_back:
                begin_anew(forecaster)
            for head in sorted({head for _, head, _ in came}):
                times, truth = np.array([(at, what) for at, index, what in came if index == head]).T
                tell(forecaster, head, times, truth)
            if forecaster is None:
                found = missing(1, len(self.heads), Fault.FAILED, refused)
            else:
                at = np.array([asked.timestamp])
                found = ask(forecaster, self.name, at, asked.window[None], self.task, tlob=asked.tlob[None])
            late_s = self._clock() - asked.at
            if late_s > self._deadline_s and forecaster is not None and (found.faults < Fault.FAILED).any():
                reason = compose(
                    "{name} answered after {ms:.0f} ms: {limit:.0f} ms are allowed.",
                    name=self.name,
                    ms=late_s * 1e3,
                    limit=self._deadline_s * 1e3,
                )
                found = missing(1, len(self.heads), Fault.LATE, reason)
            with self.changed:
                if self.busy == asked.timestamp:  # else the scores began anew meanwhile
                    self._keep(asked.timestamp, found)
                    self.reason = found.reason or self.reason
            self._fit()
            with self.changed:
                self.busy = None
                self.changed.notify_all()

    def _keep(self, timestamp: int, found: Checked) -> None:
        raw, good = found.probabilities[0], found.faults[0] == Fault.NONE
        calibrated, calls = raw.copy(), np.full(len(self.heads), -1)
        rules = [head.rule or CallRule() for head in self.heads]
        calibrated[good], calls[good] = apply_rules([rule for rule, fine in zip(rules, good, strict=True) if fine], raw[good])
        self.rows[timestamp] = _Row(raw=raw, calibrated=calibrated, calls=calls, faults=found.faults[0])
        while len(self.rows) > WAITING:
            self.rows.popitem(last=False)

    def resolve(self, asked: _Asked, index: int, truth: int) -> None:
        """Score the answer to a window."""
        with self.changed:
            if self.learns:
                self.came.append((asked.timestamp, index, truth))
            row, head = self.rows.get(asked.timestamp), self.heads[index]
            fault = Fault.NEVER if row is None else Fault(int(row.faults[index]))
            if fault is Fault.NEVER and row is None:
                self.reason = compose("{name} has not answered.", name=self.name)
            if row is None or fault is not Fault.NONE:
                head.missing[fault] += 1
                return
            head.resolved += 1
            head.classes.append((truth, int(row.calls[index]), int(asked.tlob_calls[index])))
            head.p.append(np.stack([row.calibrated[index], asked.tlob[index], row.raw[index]]).astype(np.float64))

    def _fit(self) -> None:
        """Fit the call rules that are due, from outcomes alone that are known."""
        for index, head in enumerate(self.heads):
            if head.resolved < max(FIRST_FIT, head.fitted_at + REFIT):
                continue
            with self.changed:
                classes, answers = list(head.classes)[-FITTED:], list(head.p)[-FITTED:]
            truth, raw = np.array(classes)[:, 0], np.array(answers)[:, 2]
            rule = fit_peer_rule(raw, truth, self.task.heads[index][0], plain=self.plain)
            with self.changed:
                head.rule, head.fitted_at = rule, head.resolved
            return  # one at a time, so that the next window is not missed

    def score(self, index: int) -> ForecasterScore:
        """The running score of one head."""
        with self.changed:
            head = self.heads[index]
            kept, answers = list(head.classes), list(head.p)
            lost = {fault.name.lower(): count for fault, count in sorted(head.missing.items()) if fault > Fault.NOT_OFFERED}
            reason, rule = self.reason, head.rule
        truth, called, tlob = np.array(kept, dtype=np.int64).reshape(-1, 3).T
        p = np.array(answers).reshape(-1, 3, 3)
        table = Table(
            head=self.task.heads[index],
            rows=pd.DataFrame({"truth": truth}),
            answers={
                "mine": Answered(calls=called, probabilities=p[:, 0]),
                "tlob": Answered(calls=tlob, probabilities=p[:, 1]),
            },
        )
        found = table.score()
        return ForecasterScore(
            name=self.name,
            scores=found["mine"],
            tlob=found["tlob"],
            missing=lost,
            reason=reason,
            rule=rule,
            less_tlob=differences(table, "mine", "tlob"),
        )


class LivePeers:
    """The forecasters that run beside one session. Safe to call from several threads.

    Args:
        task: what they are asked. find: makes a forecaster by its spelling. deadline_s, lease_s: seconds. clock: monotonic
            seconds.
    """

    def __init__(
        self,
        task: ForecastTask,
        *,
        find: Callable[[str, ForecastTask], AnyForecaster] = find_forecaster,
        deadline_s: float = DEADLINE_S,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.task, self._find, self._deadline_s, self._lease_s, self._clock = task, find, deadline_s, lease_s, clock
        self._lock = threading.Lock()
        self._peers: dict[str, _Peer] = {}
        self._asked_for: dict[str, float] = {}
        self._waiting: OrderedDict[int, _Asked] = OrderedDict()
        self._since: dict[str, int] = {}  # name -> timestamp of the first window it was handed

    def request(self, names: Collection[str]) -> None:
        """Run these for the next `lease_s` seconds; a page repeats it while it shows them."""
        with self._lock:
            now = self._clock()
            for name in names:
                self._asked_for[name] = now
                if name not in self._peers:
                    self._peers[name] = _Peer(name, self.task, self._find, self._deadline_s, self._clock)

    def offer(self, timestamp: int, window: FloatArray, probabilities: NDArray[np.floating], calls: NDArray[np.integer]) -> None:
        """Hand the newest window (window, 40) to every loaded forecaster, with TLOB's answer (heads, 3) and calls (heads,)."""
        with self._lock:
            if not self._peers:
                return
            now = self._clock()
            for name in [name for name, asked in self._asked_for.items() if now - asked > self._lease_s]:
                self._peers.pop(name).stop()
                del self._asked_for[name]
                self._since.pop(name, None)
            asked = _Asked(timestamp=timestamp, window=window, at=now, tlob=probabilities, tlob_calls=calls)
            self._waiting[timestamp] = asked
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)
            for name, peer in self._peers.items():
                if peer.ready:
                    self._since.setdefault(name, timestamp)
                    peer.offer(asked)

    def resolve(self, outcomes: Sequence[tuple[int, int, int]]) -> None:
        """Takes outcomes: timestamp of a prediction, head, class."""
        with self._lock:
            for timestamp, head, truth in outcomes if self._peers else ():
                asked = self._waiting.get(timestamp)
                for name, peer in self._peers.items() if asked is not None else ():
                    if asked is not None and self._since.get(name, timestamp + 1) <= timestamp:
                        peer.resolve(asked, head, truth)

    def restart(self) -> None:
        """A recording was wound back: scores begin anew."""
        with self._lock:
            self._waiting.clear()
            self._since.clear()
            for peer in self._peers.values():
                peer.forget()

    def stop(self) -> None:
        """Drop every forecaster."""
        with self._lock:
            for peer in self._peers.values():
                peer.stop()
            self._peers.clear()
            self._asked_for.clear()

    @property
    def loaded(self) -> bool:
        """Tells whether every forecaster that was asked for is loaded, or has failed to be."""
        with self._lock:
            return all(peer.ready for peer in self._peers.values())

    def scores(self, head: int) -> list[ForecasterScore]:
        """Running scores on one head, in the order in which the forecasters were asked for."""
        with self._lock:
            peers = list(self._peers.values())
        return [peer.score(head) for peer in peers]
