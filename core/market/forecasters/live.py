"""Forecasters beside TLOB while a session runs, each in a thread of its own, so that none delays a step.

A session hands over its newest window and goes on. A forecaster that is still at work when the next window comes has missed the
one that waited; an answer after the deadline is late. Both are missing. Outcomes come from the session's own scoreboard.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.table import Answered, Table
from core.market.book import STEP_MS, FloatArray
from core.market.calibration import CallRule, apply_rules
from core.market.forecasters.catalogue import AnyForecaster, StationaryForecaster, find_forecaster
from core.market.forecasters.comparison import ForecasterScore, fit_peer_rule, score_of
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
    """A window handed to a forecaster and its answer: raw and calibrated probabilities (heads, 3), calls and faults (heads,).

    Attributes:
        faults: None until it has answered, or missed the window.
    """

    asked: _Asked
    faults: NDArray[np.int8] | None = None
    raw: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    calibrated: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    calls: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(kw_only=True)
class _Head:
    """Scored rows of one head: time, truth, call, TLOB's call; calibrated, TLOB's and raw probabilities; and the missing ones."""

    rule: CallRule | None = None
    resolved: int = 0
    fitted_at: int = 0
    classes: deque[tuple[int, int, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT))
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
        self.outcomes: deque[tuple[int, int, int]] = deque(maxlen=KEPT)  # outcomes that one that learns is still to be told of
        self.wound_back = False
        threading.Thread(target=self._work, name=f"forecaster-{name}", daemon=True).start()

    def offer(self, asked: _Asked) -> None:
        """Hand over a window; one that still waits is missed."""
        with self.changed:
            self.rows[asked.timestamp] = _Row(asked=asked)
            while len(self.rows) > WAITING:
                self.rows.popitem(last=False)
            if self.waiting is not None:
                self._keep(self.waiting, missing(1, len(self.heads), Fault.NEVER))
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
            self.outcomes.clear()
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
                known = list(self.outcomes)
                self.outcomes.clear()
                wound_back, self.wound_back = self.wound_back, False
            if wound_back:
                begin_anew(forecaster)
            for head in sorted({head for _, head, _ in known}):
                times, truth = np.array([(at, what) for at, index, what in known if index == head]).T
                tell(forecaster, head, times, truth)
            if forecaster is None:
                answer = missing(1, len(self.heads), Fault.FAILED, refused)
            else:
                at = np.array([asked.timestamp])
                answer = ask(forecaster, self.name, at, asked.window[None], self.task, tlob=asked.tlob[None])
            late_s = self._clock() - asked.at
            if late_s > self._deadline_s and forecaster is not None and (answer.faults < Fault.FAILED).any():
                reason = compose(
                    "{name} answered after {ms:.0f} ms: {limit:.0f} ms are allowed.",
                    name=self.name,
                    ms=late_s * 1e3,
                    limit=self._deadline_s * 1e3,
                )
                answer = missing(1, len(self.heads), Fault.LATE, reason)
            with self.changed:
                if self.busy == asked.timestamp:  # else the scores began anew meanwhile
                    self._keep(asked, answer)
                    self.reason = answer.reason or self.reason
            self._fit()
            with self.changed:
                self.busy = None
                self.changed.notify_all()

    def _keep(self, asked: _Asked, answer: Checked) -> None:
        row = self.rows.get(asked.timestamp)
        if row is None:
            return
        row.raw, row.faults, good = answer.probabilities[0], answer.faults[0], answer.faults[0] == Fault.NONE
        row.calibrated, row.calls = row.raw.copy(), np.full(len(self.heads), -1)
        rules = [head.rule or CallRule() for head, fine in zip(self.heads, good, strict=True) if fine]
        row.calibrated[good], row.calls[good] = apply_rules(rules, row.raw[good])

    def resolve(self, timestamp: int, index: int, truth: int) -> None:
        """Score the answer to a window, if it was handed over."""
        with self.changed:
            row, head = self.rows.get(timestamp), self.heads[index]
            if row is None:
                return
            if self.learns:
                self.outcomes.append((timestamp, index, truth))
            if row.faults is None:
                self.reason = compose("{name} has not answered.", name=self.name)
            fault = Fault.NEVER if row.faults is None else Fault(int(row.faults[index]))
            if fault is not Fault.NONE:
                head.missing[fault] += 1
                return
            head.resolved += 1
            head.classes.append((timestamp, truth, int(row.calls[index]), int(row.asked.tlob_calls[index])))
            head.p.append(np.stack([row.calibrated[index], row.asked.tlob[index], row.raw[index]]).astype(np.float64))

    def _fit(self) -> None:
        """Fit the call rules that are due, from outcomes alone that are known."""
        for index, head in enumerate(self.heads):
            if head.resolved < max(FIRST_FIT, head.fitted_at + REFIT):
                continue
            with self.changed:
                classes, answers = list(head.classes)[-FITTED:], list(head.p)[-FITTED:]
            truth, raw = np.array(classes)[:, 1], np.array(answers)[:, 2]
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
        times, truth, called, tlob = np.array(kept, dtype=np.int64).reshape(-1, 4).T
        p = np.array(answers).reshape(-1, 3, 3)
        table = Table(
            head=self.task.heads[index],
            rows=pd.DataFrame({"timestamp": times, "truth": truth}),
            answers={
                self.name: Answered(calls=called, probabilities=p[:, 0]),
                "tlob": Answered(calls=tlob, probabilities=p[:, 1]),
            },
        )
        return score_of(table, self.name, missing=lost, reason=reason, rule=rule)


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
        weakref.finalize(self, _stop, self._peers)  # a session that is gone offers nothing more, at which leases run out

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
            asked = _Asked(timestamp=timestamp, window=window, at=now, tlob=probabilities, tlob_calls=calls)
            for peer in self._peers.values():
                if peer.ready:
                    peer.offer(asked)

    def resolve(self, outcomes: Sequence[tuple[int, int, int]]) -> None:
        """Takes outcomes: timestamp of a prediction, head, class."""
        with self._lock:
            for peer in self._peers.values():
                for timestamp, head, truth in outcomes:
                    peer.resolve(timestamp, head, truth)

    def restart(self) -> None:
        """A recording was wound back: scores begin anew."""
        with self._lock:
            for peer in self._peers.values():
                peer.forget()

    def stop(self) -> None:
        """Drop every forecaster."""
        with self._lock:
            _stop(self._peers)
            self._peers.clear()
            self._asked_for.clear()

    def scores(self, head: int) -> list[ForecasterScore]:
        """Running scores on one head, in the order in which the forecasters were asked for."""
        with self._lock:
            peers = list(self._peers.values())
        return [peer.score(head) for peer in peers]


def _stop(peers: Mapping[str, _Peer]) -> None:
    for peer in peers.values():
        peer.stop()
