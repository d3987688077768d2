"""A session's ledger: every prediction it makes, lost rows taken back, and a disk that refuses stops the ledger alone."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.market.book import BookRows
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.ledger.keeper import DEFAULT_FOLDER, LedgerKeeper, ledger_folder, size_limit
from core.market.ledger.verification import shipped_predictors, verify
from core.market.ledger.writer import SIZE_LIMIT, LedgerRow
from core.market.predictor import Predictor
from core.market.session import MarketSession
from tests.core.market.feeds_for_tests import ScriptedFeed, books
from tests.core.market.helpers import random_book, tiny_predictor


@pytest.fixture(scope="module")
def rows() -> BookRows:
    return random_book(120, seed=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, rows: BookRows) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny_predictor(folder, rows)
    return folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return Predictor(checkpoints.load("tiny", folder=folder))


def test_every_prediction_of_a_session_is_in_its_ledger(
    tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path
) -> None:
    feed = ScriptedFeed(books(rows), key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor, checkpoints=folder)
    session = MarketSession(feed, predictor, ledger=keeper)
    asyncio.run(session.run())
    result = verify(tmp_path, shipped_predictors(folder))
    log = session.export()
    assert result.difference is None and result.rows == result.recomputed == len(log) == len(rows) - predictor.window + 1
    assert keeper.count == result.rows and keeper.problem is None and keeper.head in result.heads.values()


def test_a_session_that_runs_again_continues_its_chain(
    tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path
) -> None:
    later = BookRows(timestamps=rows.timestamps + 3_600_000, levels=rows.levels)
    for part in (rows, later):
        feed = ScriptedFeed(books(part), key="live/abc/testville", ends=True)
        keeper = LedgerKeeper(tmp_path, feed.key, predictor, checkpoints=folder)
        asyncio.run(MarketSession(feed, predictor, ledger=keeper).run())
    result = verify(tmp_path, shipped_predictors(folder))
    assert result.difference is None and result.rows == 2 * (len(rows) - predictor.window + 1)


def test_a_gap_of_confirmed_rows_loses_nothing(tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path) -> None:
    gap = StatusChange(state=FeedState.RECONNECTING, message="", gap=True)
    events = books(rows)
    later = books(BookRows(timestamps=rows.timestamps + 60_000, levels=rows.levels))
    feed = ScriptedFeed([*events, gap, *later], key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor, checkpoints=folder)
    asyncio.run(MarketSession(feed, predictor, ledger=keeper).run())
    result = verify(tmp_path, shipped_predictors(folder))
    assert result.difference is None and result.unchecked == 0 and result.rows == 2 * (len(rows) - predictor.window + 1)


def test_rows_a_gap_finds_unconfirmed_are_lost(tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path) -> None:
    window = predictor.window
    answer = predictor.predict(rows.levels[None, :window], predictor.market("live/abc/testville"))
    keeper = LedgerKeeper(tmp_path, "live/abc/testville", predictor, checkpoints=folder)
    lines = [LedgerRow(timestamp=int(t), levels=x) for t, x in zip(rows.timestamps[: window - 1], rows.levels, strict=False)]
    last = LedgerRow(
        timestamp=int(rows.timestamps[window - 1]),
        levels=rows.levels[window - 1],
        window=rows.levels[:window],
        probabilities=answer.probabilities[0],
        calls=answer.calls[0],
    )
    keeper.take([*lines, last])
    keeper.take([int(rows.timestamps[window - 3]), None])  # all but two are confirmed, then the connection is gone
    keeper.close()
    result = verify(tmp_path, shipped_predictors(folder))
    assert result.difference is None and (result.rows, result.recomputed, result.unchecked) == (1, 0, 1)


def test_a_disk_that_refuses_stops_the_ledger_and_not_the_session(
    tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    feed = ScriptedFeed(books(rows), key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor, checkpoints=folder)
    session = MarketSession(feed, predictor, ledger=keeper)
    monkeypatch.setattr("core.market.ledger.writer.os.fsync", full)
    asyncio.run(session.run())
    assert keeper.problem is not None and "No space left" in keeper.problem
    assert len(session.export()) == len(rows) - predictor.window + 1
    np.testing.assert_array_equal(session.view().timestamps, rows.timestamps)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(None, DEFAULT_FOLDER), ("", DEFAULT_FOLDER), ("off", None), ("OFF ", None), ("/data/x", Path("/data/x"))],
)
def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, text: str | None, wanted: Path | None) -> None:
    monkeypatch.delenv("OBSERVATORY_LEDGER", raising=False)
    if text is not None:
        monkeypatch.setenv("OBSERVATORY_LEDGER", text)
    assert ledger_folder() == wanted


@pytest.mark.parametrize(("text", "wanted"), [("2", 2 * 2**30), ("0.5", 2**29), ("much", SIZE_LIMIT), ("inf", SIZE_LIMIT)])
def test_the_environment_names_the_limit(monkeypatch: pytest.MonkeyPatch, text: str, wanted: int) -> None:
    monkeypatch.setenv("OBSERVATORY_LEDGER_LIMIT", text)
    assert size_limit() == wanted
