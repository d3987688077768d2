"""Forecasters beside a running session: a slow or failing one delays nothing, and its rows are missing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss

from core.market.forecasters import live
from core.market.forecasters.comparison import fit_peer_rule
from core.market.forecasters.live import LivePeers
from core.market.forecasters.protocol import Forecaster, ForecasterError, ForecastTask
from core.market.labels import Head

HEADS: tuple[Head, ...] = (("forward", 2),)
TASK = ForecastTask(heads=HEADS, alphas=(1e-4,), window=4)
WINDOW = np.ones((4, 40))
TLOB = np.array([[0.2, 0.5, 0.3]])


class Clock:
    """Seconds that only a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class By:
    """Answers by a function of the number of the request."""

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer, self.asked = answer, 0

    def predict(self, windows: np.ndarray) -> Any:
        self.asked += 1
        return self.answer(self.asked - 1)


def settle(peers: LivePeers) -> None:
    """Wait until everything is loaded and nothing is at work."""
    for peer in peers._peers.values():
        with peer.changed:
            assert peer.changed.wait_for(lambda peer=peer: peer.ready and peer.busy is None and peer.waiting is None, 20)


def peers_with(forecaster: Forecaster | Exception, **options: Any) -> LivePeers:
    def find(name: str, task: ForecastTask) -> Forecaster:
        if isinstance(forecaster, Exception):
            raise forecaster
        return forecaster

    peers = LivePeers(TASK, find=find, **options)
    peers.request(["Mine"])
    settle(peers)
    return peers


def step(peers: LivePeers, timestamp: int, truth: int = 1, *, wait: bool = True) -> None:
    """One window, its answer and its outcome."""
    peers.offer(timestamp, WINDOW, TLOB, np.array([1]))
    if wait:
        settle(peers)
    peers.resolve([(timestamp, 0, truth)])


GOOD = [[[0.6, 0.3, 0.1]]]


@pytest.mark.parametrize(
    ("answer", "missing", "reason"),
    [
        ([[[np.nan, 0.5, 0.5]]], "not_a_number", "Mine gave a probability that is not a number from 0 to 1."),
        ([[[0.4, 0.4, 0.1]]], "sum", "Mine gave three probabilities that sum to 0.900: they must sum to 1."),
        ([[0.5, 0.5, 0.0]], "shape", "Mine gave an array of the shape (1, 3): (1, 1, 3) is right."),
        (ValueError("no"), "failed", "Mine failed: ValueError: no."),
    ],
)
def test_a_bad_answer_is_missing_and_the_next_good_one_counts(answer: Any, missing: str, reason: str) -> None:
    def answers(number: int) -> Any:
        if number == 0 and isinstance(answer, Exception):
            raise answer
        return GOOD if number else answer

    peers = peers_with(By(answers))
    step(peers, 250, 0)
    step(peers, 500, 0)
    (score,) = peers.scores(0)
    assert score.missing == {missing: 1} and score.reason == reason
    assert score.scores.samples == 1 and score.scores.confusion[0, 0] == 1 and score.tlob.confusion[0, 1] == 1
    assert score.scores.log_loss == pytest.approx(-np.log(0.6)) and score.tlob.log_loss == pytest.approx(-np.log(0.2))
    peers.stop()


def test_one_that_is_still_at_work_misses_what_waits_and_delays_nothing() -> None:
    """Windows are handed over and scored while it hangs; it then answers the newest alone, and what it hung on is late."""
    clock, begun, release = Clock(), threading.Event(), threading.Event()

    def hang(number: int) -> Any:
        begun.set()
        release.wait(20)
        return GOOD

    forecaster = By(hang)
    peers = peers_with(forecaster, clock=clock)
    peers.offer(250, WINDOW, TLOB, np.array([1]))
    assert begun.wait(20)
    for timestamp in (500, 750, 1_000):
        step(peers, timestamp, wait=False)
    (score,) = peers.scores(0)
    assert score.missing == {"never": 3} and score.reason == "Mine has not answered."
    clock.now = 0.3
    release.set()
    settle(peers)
    peers.resolve([(250, 0, 1)])
    (score,) = peers.scores(0)
    assert forecaster.asked == 2  # the first and the newest
    assert score.missing == {"never": 3, "late": 1} and score.scores.samples == 0
    assert score.reason == "Mine answered after 300 ms: 250 ms are allowed."
    step(peers, 1_250)
    assert peers.scores(0)[0].scores.samples == 1
    peers.stop()


def test_one_that_cannot_be_made_says_why_and_is_missing() -> None:
    peers = peers_with(ForecasterError("LightGBM is not installed"))
    step(peers, 250)
    (score,) = peers.scores(0)
    assert score.missing == {"failed": 1} and score.reason == "LightGBM is not installed"
    peers.stop()


def test_rows_while_one_is_loaded_are_not_missing() -> None:
    release = threading.Event()

    def find(name: str, task: ForecastTask) -> Forecaster:
        release.wait(20)
        return By(lambda _: GOOD)

    peers = LivePeers(TASK, find=find)
    peers.request(["Mine"])
    step(peers, 250, wait=False)
    (score,) = peers.scores(0)
    assert score.missing == {} and score.reason == "Mine is being loaded."
    release.set()
    settle(peers)
    step(peers, 500)
    (score,) = peers.scores(0)
    assert score.scores.samples == 1 and score.missing == {} and score.reason == ""
    peers.stop()


def test_rows_before_it_was_asked_for_are_not_missing() -> None:
    peers = peers_with(By(lambda _: GOOD))
    peers.resolve([(0, 0, 1)])
    step(peers, 250)
    assert peers.scores(0)[0].missing == {} and peers.scores(0)[0].scores.samples == 1
    peers.stop()


def test_scores_and_differences_are_those_of_the_rows_both_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule is fitted once enough outcomes are known, to those alone, and changes later calls only."""
    monkeypatch.setattr(live, "FIRST_FIT", 500)
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 3, 1], 700)
    truth = np.array([rng.choice(3, p=row) for row in p**3 / (p**3).sum(axis=1, keepdims=True)])
    peers = peers_with(By(lambda number: p[None, None, number]))
    for number in range(700):
        step(peers, 250 * number, int(truth[number]))
        if number == 498:
            assert peers.scores(0)[0].rule is None
    (score,) = peers.scores(0)
    rule = fit_peer_rule(p[:500], truth[:500], "forward")
    peer = peers._peers["Mine"].heads[0]
    assert score.rule is peer.rule is not None and asdict(peer.rule) == pytest.approx(asdict(rule), abs=1e-6)
    # The answer to window 500 is the one after which the rule is fitted, as outcome 499 was not known before.
    later = rule.probabilities(np.log(p[501:]))
    called = np.concatenate([p[:501].argmax(axis=1), rule.call(later)])
    assert score.scores.confusion.tolist() == confusion_matrix(truth, called, labels=[0, 1, 2]).tolist()
    assert score.scores.log_loss == pytest.approx(log_loss(truth, np.concatenate([p[:501], later]), labels=[0, 1, 2]), abs=1e-6)
    assert score.scores.samples == 700 and score.less_tlob["matthews"].low > 0 > score.less_tlob["log_loss"].high
    peers.stop()


def test_one_that_no_viewer_asks_for_is_dropped() -> None:
    clock, forecaster = Clock(), By(lambda _: GOOD)
    peers = peers_with(forecaster, clock=clock, lease_s=60)
    clock.now = 50.0
    peers.request(["Mine"])
    clock.now = 100.0
    step(peers, 250)
    assert len(peers.scores(0)) == 1
    clock.now = 111.0
    step(peers, 500)
    assert peers.scores(0) == [] and forecaster.asked == 1


def test_a_playback_that_is_wound_back_begins_the_scores_anew() -> None:
    peers = peers_with(By(lambda _: GOOD))
    step(peers, 250)
    peers.restart()
    peers.resolve([(250, 0, 1)])  # of the time before
    assert peers.scores(0)[0].scores.samples == 0 and peers.scores(0)[0].missing == {}
    step(peers, 250)
    assert peers.scores(0)[0].scores.samples == 1
    peers.stop()


class Learning(By):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(lambda number: GOOD)
        self.told: list[tuple[int, int, int]] = []

    def learn(self, head: int, timestamps: np.ndarray, truth: np.ndarray) -> None:
        self.told += [(head, int(at), int(came)) for at, came in zip(timestamps, truth, strict=True)]

    def forget(self) -> None:
        self.told.clear()


def test_one_that_learns_is_told_what_came_before_its_next_answer_and_forgets_a_recording_wound_back() -> None:
    learning = Learning()
    peers = peers_with(learning)
    for number in range(1, 4):
        step(peers, 250 * number, number % 3)
    assert learning.told == [(0, 250, 1), (0, 500, 2)]  # what came after the third is not told until the next window
    peers.restart()
    step(peers, 250, 2)
    assert learning.told == []
    step(peers, 500, 0)
    assert learning.told == [(0, 250, 2)]
    peers.stop()


def test_a_session_that_is_gone_takes_its_forecasters_with_it() -> None:
    """Nothing is offered any more, at which one that nobody asks for is dropped: it would keep its thread and 1,024 windows."""
    before = set(threading.enumerate())
    peers = peers_with(By(lambda _: GOOD))
    (running,) = set(threading.enumerate()) - before
    step(peers, 0)
    del peers
    running.join(20)
    assert not running.is_alive()
