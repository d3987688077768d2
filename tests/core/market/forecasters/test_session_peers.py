"""Forecasters of a whole session, by its own scoreboard."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from core.market.session import MarketSession
from tests.core.market.feeds_for_tests import ScriptedFeed, replaying
from tests.core.market.forecasters.test_live_peers import settle
from tests.core.market.helpers import real_rows, tiny_predictor


def test_a_session_runs_momentum_as_its_own_scoreboard_counts_it(tmp_path: Path) -> None:
    """Until a rule is fitted the likeliest class of momentum is the momentum rule's call, on every row that it answered."""
    rows = real_rows(4)[:150]
    predictor = tiny_predictor(tmp_path, real_rows(4))
    session = MarketSession(ScriptedFeed(replaying(rows), ends=True, together=1), predictor)
    session.peers._deadline_s = 60  # this test is not about speed
    session.peers.request(["momentum"])
    settle(session.peers)
    take, offered = session.peers.offer, list[int]()

    def offer(timestamp: int, *answer: Any) -> None:
        offered.append(timestamp)
        take(timestamp, *answer)
        settle(session.peers)

    session.peers.offer = offer  # type: ignore[method-assign]
    asyncio.run(session.run())
    log = session.view().predictions
    for head in range(len(predictor.heads)):
        (score,) = session.peers.scores(head)
        known = log[(log["truth"][:, head] >= 0) & np.isin(log["timestamp"], offered)]  # of a batch the newest alone
        assert score.scores.samples == len(known) > 5 and score.missing == {}
        truth, called, naive = (known[name][:, head] for name in ("truth", "calls", "momentum"))
        assert score.scores.confusion.tolist() == confusion_matrix(truth, naive, labels=[0, 1, 2]).tolist()
        assert score.tlob.confusion.tolist() == confusion_matrix(truth, called, labels=[0, 1, 2]).tolist()
    session.peers.stop()
