"""A session's ledger: every prediction it makes, lost rows taken back, and a disk that refuses stops the ledger alone."""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from core.market.book import BookRows
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.ledger.chain import LedgerError
from core.market.ledger.scorecard import score_card
from core.market.ledger.writer import CHECK_EVERY, DEFAULT_FOLDER, SIZE_LIMIT, LedgerKeeper, ledger_folder, size_limit
from core.market.predictor import Predictor
from core.market.session import MarketSession
from tests.core.market.feeds_for_tests import ScriptedFeed, books
from tests.core.market.helpers import random_book
from tests.core.market.ledger.ledgers import MARKET, checked, items, steps, writer_for


def test_every_prediction_of_a_session_is_in_its_ledger(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path
) -> None:
    feed = ScriptedFeed(books(rows), key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor)
    session = MarketSession(feed, predictor, ledger=keeper)
    asyncio.run(session.run())
    result = checked(tmp_path, shelf, str(keeper.head))
    log = session.export()
    assert result.state == "verified" and keeper.problem is None
    assert result.total("rows") == result.total("recomputed") == len(log) == keeper.count == len(rows) - predictor.window + 1
    assert keeper.late == result.total("late") == keeper.count  # a feed of last year, written now


def test_a_session_that_runs_again_continues_its_chain(tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path) -> None:
    later = BookRows(timestamps=rows.timestamps + 3_600_000, levels=rows.levels)
    for part in (rows, later):
        feed = ScriptedFeed(books(part), key="live/abc/testville", ends=True)
        keeper = LedgerKeeper(tmp_path, feed.key, predictor)
        asyncio.run(MarketSession(feed, predictor, ledger=keeper).run())
    result = checked(tmp_path, shelf, str(keeper.head))
    assert result.state == "verified" and result.total("rows") == 2 * (len(rows) - predictor.window + 1)


def test_a_gap_of_confirmed_rows_loses_nothing(tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path) -> None:
    gap = StatusChange(state=FeedState.RECONNECTING, message="", gap=True)
    events = books(rows)
    later = books(BookRows(timestamps=rows.timestamps + 60_000, levels=rows.levels))
    feed = ScriptedFeed([*events, gap, *later], key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor)
    asyncio.run(MarketSession(feed, predictor, ledger=keeper).run())
    result = checked(tmp_path, shelf, str(keeper.head))
    assert result.state == "verified" and result.total("rows") == 2 * (len(rows) - predictor.window + 1)
    assert (score_card(result)["unconfirmed"] == 0).all()


def test_rows_a_gap_finds_unconfirmed_are_lost(tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path) -> None:
    window = predictor.window
    keeper = LedgerKeeper(tmp_path, MARKET, predictor)
    keeper.take(items([int(rows.timestamps[0])]))  # nothing is written before the first row
    assert keeper.head is None and not any(tmp_path.iterdir())
    keeper.take(items(steps(rows, predictor)[:window]))
    keeper.take(items([int(rows.timestamps[window - 3]), None]))  # all but two are confirmed, then the connection is gone
    keeper.close()
    result = checked(tmp_path, shelf, str(keeper.head))
    assert result.state == "verified" and result.total("recomputed") == 1
    assert (score_card(result)["unconfirmed"] == 1).all()


def test_a_session_whose_rows_wait_for_confirmation(tmp_path: Path, predictor: Predictor, shelf: Path) -> None:
    """A live feed by this machine's clock: each row is written before the next message confirms it, and the last one is lost."""
    book = random_book(60, seed=4)
    feed = ScriptedFeed([], key="live/abc/testville", clock="wall", ends=True)
    session = MarketSession(feed, predictor, ledger=LedgerKeeper(tmp_path, feed.key, predictor))
    first = (CLOCK.now_ms() // 250 - 100) * 250
    items: list[GridItem] = []
    for i, levels in enumerate(book.levels):
        now = first + 250 * i
        items += [Confirmed(now - 1), Row(now, levels, now * 1_000_000, now * 1_000_000, True)]
    session._process(items)
    session._process([Gap()])
    assert session.ledger is not None
    session.ledger.close()
    result = checked(tmp_path, shelf, str(session.ledger.head))
    assert result.state == "verified" and result.total("rows") == 60 - predictor.window + 1
    assert (score_card(result)["unconfirmed"] == 1).all()


def test_a_disk_that_refuses_stops_the_ledger_and_not_the_session(
    tmp_path: Path, rows: BookRows, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    feed = ScriptedFeed(books(rows), key="live/abc/testville", ends=True)
    keeper = LedgerKeeper(tmp_path, feed.key, predictor)
    session = MarketSession(feed, predictor, ledger=keeper)
    monkeypatch.setattr("os.fsync", full)
    asyncio.run(session.run())
    assert keeper.problem is not None and "No space left" in keeper.problem
    assert len(session.export()) == len(rows) - predictor.window + 1
    np.testing.assert_array_equal(session.view().timestamps, rows.timestamps)


def test_an_error_without_the_systems_words_is_told_by_its_own(
    tmp_path: Path, rows: BookRows, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(descriptor: int) -> None:
        raise OSError("the disk is gone")

    keeper = LedgerKeeper(tmp_path, MARKET, predictor)
    monkeypatch.setattr("os.fsync", gone)
    keeper.take(items(steps(rows, predictor)[:3]))
    assert str(keeper.problem) == "Predictions are not written down any more: the disk is gone."


def test_a_ledger_may_fill_its_limit_and_not_pass_it(tmp_path: Path, rows: BookRows, predictor: Predictor) -> None:
    lines = steps(rows, predictor)[:2]
    with writer_for(tmp_path, predictor) as writer:
        writer.write(items(lines[:1]))
        used = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
        for limit in (used, used - 1):
            writer._size_limit, writer._since_check = limit, CHECK_EVERY
            with nullcontext() if limit == used else pytest.raises(LedgerError, match="its limit"):
                writer.write(items(lines[1:] if limit == used else []))


def test_a_part_of_another_market_that_gets_its_name_meanwhile_stops_no_ledger(
    tmp_path: Path, rows: BookRows, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All markets' files are counted, and another session makes its hour's file of a part at any moment."""
    part = tmp_path / "other" / ".rows_1.parquet.part"
    part.parent.mkdir()
    part.touch()
    is_file = Path.is_file

    def then_renamed(path: Path) -> bool:
        found = is_file(path)
        if path == part and found:
            part.replace(part.with_name("rows_1.parquet"))
        return found

    monkeypatch.setattr(Path, "is_file", then_renamed)
    keeper = LedgerKeeper(tmp_path, MARKET, predictor)
    keeper.take(items(steps(rows, predictor)[:3]))
    keeper.close()
    assert keeper.problem is None and not part.exists()


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
    assert SIZE_LIMIT == 8 * 2**30  # docs/deploy.md
