"""A page, a recording and a journal made again take the same steps, and a row is predicted once, whoever looks."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.market.book import FloatArray
from core.market.events import Confirmed, GridItem, Row
from core.market.follower import Follower, Prediction, Step
from core.market.grid import DAY_MS
from core.market.made_again import make_again
from core.market.predictor import MarketCard, Predictions, Predictor
from core.market.recorder import SessionRecording
from core.market.session import MarketSession
from core.market.store.call_columns import PROBABILITIES
from core.market.store.rows import read_market
from tests.core.market.feeds_for_tests import ScriptedFeed, replaying
from tests.core.market.helpers import HEADS, KeptSteps, random_book, with_hole
from tests.core.market.journals import calls_of

BOOK = random_book(480, 3)


def said(steps: Sequence[Step]) -> list[Any]:
    """What steps say of each row, and what became known by it."""
    return [
        (
            one.followed.row.timestamp,
            one.followed.record() and [np.asarray(value).tolist() for value in one.followed.record() or ()],
            [known.row.timestamp for known in one.known],
            one.outcomes,
        )
        for one in steps
        if one.followed is not None
    ]


async def test_a_session_a_recording_and_a_replay_take_the_same_steps(tmp_path: Path, predictor: Predictor) -> None:
    rows = with_hole(BOOK, 300, 50)
    kept = KeptSteps()
    session = MarketSession(ScriptedFeed(replaying(rows), key="live/testville/ABC/USD", ends=True), predictor)
    recording = SessionRecording(session, tmp_path)
    session.record(kept, ())
    writing = asyncio.create_task(recording.run())
    await session.run()
    shown = session.view(4_800).predictions
    assert [one[0] for one in said(kept.steps) if one[1]] == shown["timestamp"].tolist()
    drawn = [one[1][5] for one in said(kept.steps) if one[1]]
    np.testing.assert_array_equal(drawn, shown["recalibrated"])
    await writing
    files = recording.files
    calls = calls_of(files)
    columns = calls[list(PROBABILITIES)].to_numpy().reshape(-1, len(HEADS), 6)
    told = Predictions(probabilities=columns[..., :3], calls=np.zeros(columns.shape[:2], np.int8))
    place = {time: which for which, time in enumerate(calls["timestamp"].unique().tolist())}
    again = Follower(predictor, predictor.markets["testville"])
    read = read_market(files)
    rows_again = [Row(time, levels) for time, levels in zip(read.timestamps.tolist(), read.levels, strict=True)]
    answers = [Prediction(told, place[one.timestamp]) if one.timestamp in place else None for one in rows_again]
    replayed = again.take(rows_again, answers)
    assert said(replayed) == said(kept.steps)
    changed = [
        [(head, lead.to_dict()) for one in each for known in one.known for head, lead in known.leads]
        for each in (replayed, kept.steps)
    ]
    assert changed[0] == changed[1] and changed[0]
    np.testing.assert_allclose(columns[..., 3:], [one[1][5] for one in said(replayed) if one[1]], atol=1e-6)


@pytest.mark.parametrize("is_recorded", [False, True])
async def test_a_row_is_predicted_once_whoever_looks(
    tmp_path: Path, predictor: Predictor, monkeypatch: pytest.MonkeyPatch, is_recorded: bool
) -> None:
    windows: list[int] = []
    predict = Predictor.predict

    def counted(self: Predictor, some: FloatArray, market: MarketCard) -> Predictions:
        windows.append(len(some))
        return predict(self, some, market)

    monkeypatch.setattr(Predictor, "predict", counted)
    session = MarketSession(ScriptedFeed(replaying(BOOK), ends=True), predictor)
    work = [session.run()] + ([SessionRecording(session, tmp_path).run()] if is_recorded else [])
    await asyncio.gather(*work)
    assert sum(windows) == len(BOOK) - predictor.window + 1


async def test_a_recording_that_is_begun_later_is_made_again_from_its_own_rows(tmp_path: Path, predictor: Predictor) -> None:
    """What the page had learned before is not in the files, and so is forgotten."""
    begins = asyncio.Event()
    script = [*replaying(BOOK[:200]), begins.set]
    feed = ScriptedFeed(script, key="live/testville/ABC/USD")
    session = MarketSession(feed, predictor)
    running = asyncio.create_task(session.run())
    await begins.wait()
    while session.step < 200:
        await asyncio.sleep(0.005)
    assert session.answer_score(0).outcomes > 0
    recording = SessionRecording(session, tmp_path)
    writing = asyncio.create_task(recording.run())
    await asyncio.sleep(0)
    feed.send(*itertools.islice(replaying(BOOK[200:]), 1, None))
    while recording.status().rows < 279:
        await asyncio.sleep(0.01)
    recording.stopping.set()
    await writing
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    files = recording.files
    times = read_market(files).timestamps
    assert times.tolist() == BOOK.timestamps[480 - len(times) :].tolist() and len(times) >= 279
    result = make_again("it", files, lambda *_: predictor)
    assert result.equal == result.predictions == len(HEADS) * (len(times) - predictor.window + 1)


def test_a_day_begins_anew_for_the_page_and_the_journal_alike(predictor: Predictor) -> None:
    midnight = int(BOOK.timestamps[0]) // DAY_MS * DAY_MS + DAY_MS
    follower = Follower(predictor, predictor.markets["testville"])
    steps: list[Step] = []
    for place, levels in enumerate(BOOK.levels[:200]):
        time = midnight + 250 * (place - 100)
        items: list[GridItem] = [Row(time, levels, provisional=True), Confirmed(time - 500)]
        steps += follower.take(items, follower.predict(items))
    predicted = [one.followed.row.timestamp for one in steps if one.followed is not None and one.followed.prediction is not None]
    assert predicted == [midnight + 250 * (place - 100) for place in (*range(23, 100), *range(123, 200))]
    begun = [known.row.timestamp for one in steps for known in one.known if known.before is not None]
    assert begun == [midnight - 25_000, midnight]
    assert follower.board.answers.score(0).lead.since_ms >= midnight
