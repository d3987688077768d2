"""The journal of predictions: written before the outcome is known, and made again from the files alone, here by other means."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from numpy.typing import NDArray

from core import checkpoints
from core.cli import main
from core.market.answers.one_answer import RIVALS
from core.market.answers.recalibration import REFIT_STEPS, AdaptiveHead, Recalibrated
from core.market.book import FILE_COLUMNS, BookError, BookRows
from core.market.events import Confirmed, Gap, Row
from core.market.features import transform
from core.market.feeds.protocol import Clock
from core.market.follower import Follower
from core.market.grid import DAY_MS, HOUR_MS
from core.market.leads import leads_here
from core.market.made_again import MadeAgain, known_predictors, make_again
from core.market.predictor import MarketCard, Predictions, Predictor
from core.market.recorder import SessionRecording, record
from core.market.session import MarketSession
from core.market.store import segments
from core.market.store.call_columns import LEADS_KEY, read_leads
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.market.store.write_ahead import WriteAhead
from core.market.store.writer import restore_recordings
from core.models.tlob import CLASSES, TLOB
from tests.core.market.feeds_for_tests import PlayedOnce, ScriptedFeed
from tests.core.market.helpers import HEADS, naive_class, naive_label, random_book, save_tiny, with_hole
from tests.core.market.journals import SPELLING, Journalled, calls_of, leave, live, recorded

BOOK = random_book(480, 3)
CODES = [f"{kind}_{horizon}" for kind, horizon in HEADS]
RAW = ["raw_down", "raw_stationary", "raw_up"]
NOTHING_ELSE = dict.fromkeys(("early", "uncalled", "beyond_replay", "leads_beyond", "without_leads"), 0)
NOTHING_ELSE |= {"leads": 4, "leads_equal": 4}
RECALIBRATED = [name.replace("raw", "recalibrated") for name in RAW]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shelf")


class Remembering(Predictor):
    """Answers windows that it saw before from memory: most tests here record the same books."""

    def __init__(self, checkpoint: checkpoints.Checkpoint) -> None:
        super().__init__(checkpoint)
        self._seen: dict[tuple[str, bytes], Predictions] = {}

    def predict(self, windows: NDArray[np.float64], market: MarketCard, *, batch: int = 16) -> Predictions:
        seen = market.name, windows.tobytes()
        if seen not in self._seen:
            self._seen[seen] = super().predict(windows, market, batch=batch)
        return self._seen[seen]


@pytest.fixture(scope="module")
def predictor(shelf: Path) -> Predictor:
    save_tiny(shelf, BOOK)
    return Remembering(checkpoints.load("tiny", folder=shelf))


def at(rows: BookRows, start_ms: int) -> BookRows:
    """The same books from another moment on."""
    return BookRows(timestamps=start_ms + 250 * np.arange(len(rows)), levels=rows.levels)


known = cache(known_predictors)


def again(files: Sequence[Path], shelf: Path) -> MadeAgain:
    return make_again("it", files, known(shelf))


def own_raw(files: Sequence[Path], shelf: Path, calls: pd.DataFrame) -> NDArray[np.float64]:
    """Probabilities (lines, 3) by a forward pass of the network itself, on the rows as pandas reads them."""
    rows = pd.concat([pd.read_parquet(path) for path in files]).set_index("timestamp")[list(FILE_COLUMNS)]
    checkpoint = checkpoints.load("tiny", folder=shelf)
    predictor = Predictor(checkpoint)
    model = checkpoints.build_model(checkpoint, TLOB).eval()
    card, window = checkpoint.card, predictor.window
    found = []
    for time, lines in calls.groupby("timestamp"):
        (name,) = lines["entry"].unique()
        entry = card["markets"][name]
        books = rows.loc[time - 250 * (window - 1) : time].to_numpy()
        assert len(books) == window
        inputs = transform(books[None], card["transform"], predictor.markets[name].constants)
        with torch.no_grad():
            logits = model(torch.from_numpy(inputs)).reshape(len(HEADS), 3).double().numpy()
        for code in lines["head"]:
            rule = entry["rules"][CODES.index(code)]
            z = logits[CODES.index(code)] / rule["temperature"] + rule["bias"] * np.array([1, 0, 1])
            found.append(np.exp(z) / np.exp(z).sum())
    return np.array(found)


def test_raw_probabilities_and_calls_are_those_of_the_network_on_rows(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    files = recorded(tmp_path, BOOK[:80], predictor)
    calls = calls_of(files)
    assert calls["timestamp"].tolist() == np.repeat(BOOK.timestamps[23:80], 4).tolist() and calls["head"].tolist() == CODES * 57
    expected = own_raw(files, shelf, calls)
    np.testing.assert_allclose(calls[RAW].to_numpy(), expected, atol=1e-5)
    leans = [rule["lean"] for rule in predictor.card["markets"]["testville"]["rules"]] * 57
    called = (np.log(expected) + np.array(leans)[:, None] * np.array([1, 0, 1])).argmax(axis=1)
    assert calls["call"].tolist() == [CLASSES[one] for one in called]
    assert set(calls["weights"]) == {predictor.card["weights_sha256"]} and set(calls["entry"]) == {"testville"}


def own_recalibration(rows: BookRows, calls: pd.DataFrame, entry: str, predictor: Predictor) -> NDArray[np.float64]:
    """Recalibrated probabilities (lines, 3) by replay, row by row up to what was known at each call, outcomes by D8 in words."""
    market = predictor.markets[entry]
    past = [
        AdaptiveHead(horizon, alpha, own_threshold=entry == "pooled", first_fit=(number + 1) * REFIT_STEPS // len(HEADS))
        for number, ((_, horizon), alpha) in enumerate(zip(HEADS, market.alphas, strict=True))
    ]
    raw = {time: group[RAW].to_numpy().astype(float) for time, group in calls.groupby("timestamp")}
    waiting: list[dict[int, Recalibrated]] = [{} for _ in HEADS]
    begins = done = 0
    found = []
    for time, known in calls[["timestamp", "known"]].drop_duplicates().itertuples(index=False):
        while done < len(rows) and rows.timestamps[done] <= known:
            begins = done if done and rows.timestamps[done] - rows.timestamps[done - 1] != 250 else begins
            mid = rows.mid[begins : done + 1]
            for number, (kind, horizon) in enumerate(HEADS):
                told = waiting[number].pop(done - horizon, None)
                if told is not None and done - horizon >= begins:
                    past[number].resolve(told, naive_label(mid, done - horizon - begins, horizon, kind))
                if (here := raw.get(rows.timestamps[done])) is not None:
                    waiting[number][done] = past[number].predict(here[number].tolist())
            done += 1
        found += [head.recalibrate(p.tolist()).adapted for head, p in zip(past, raw[time], strict=True)]
    return np.array(found)


@pytest.mark.parametrize(("lag", "spelling", "entry"), [(4, SPELLING, "testville"), (1, "live/other/XYZ/USD XYZ/USD", "pooled")])
def test_recalibrated_probabilities_are_those_of_a_replay_from_the_beginning(
    tmp_path: Path, shelf: Path, predictor: Predictor, lag: int, spelling: str, entry: str
) -> None:
    rows = with_hole(BOOK, 400, 3)
    files = recorded(tmp_path, rows, predictor, lag=lag, spelling=spelling)
    calls = calls_of(files)
    assert (calls["timestamp"] - calls["known"]).min() == 250 * lag and set(calls["entry"]) == {entry}
    expected = own_recalibration(rows, calls, entry, predictor)
    np.testing.assert_allclose(calls[RECALIBRATED].to_numpy(), expected, atol=1e-5)
    assert np.abs(calls[RECALIBRATED].to_numpy() - calls[RAW].to_numpy()).max() > 0.1  # else nothing would be compared
    result = again(files, shelf)
    assert result == MadeAgain(
        predictions=4 * (480 - 2 * 23), equal=4 * (480 - 2 * 23), late=0, without_outcome=2 * 45, **NOTHING_ELSE
    )


def test_a_played_recording_has_a_journal_whose_calls_are_all_late(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one = find_recording("binance_spot_ethusdt_2024-08-08")
    pd.read_parquet(one.path).iloc[:300].to_parquet(part := tmp_path / "part.parquet", index=False)
    feed = PlayedOnce(part, market=one.market)
    files = asyncio.run(record(feed, tmp_path / "again", predictor))
    count = 4 * (300 - 23)
    assert again(files, shelf) == MadeAgain(predictions=count, equal=count, late=count, without_outcome=45, **NOTHING_ELSE)
    calls = calls_of(files)
    assert (calls["known"] == calls["timestamp"]).all()
    np.testing.assert_array_equal(read_market(files).levels, read_market([part]).levels)


def test_a_row_that_nothing_confirmed_leaves_no_call_and_ends_a_window(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one, events = Journalled(tmp_path, predictor), list(live(BOOK[:160]))
    one.take(*events[:200], Gap(), *events[203:])  # of the rows so far the 99th is not confirmed; the 100th never comes
    one.close()
    calls, rows = calls_of(one.writer.files), read_market(one.writer.files)
    assert rows.timestamps.tolist() == [
        time for number, time in enumerate(BOOK.timestamps[:160].tolist()) if number not in (99, 100)
    ]
    assert calls["timestamp"].unique().tolist() == [*BOOK.timestamps[23:99].tolist(), *BOOK.timestamps[124:160].tolist()]
    result = again(one.writer.files, shelf)
    assert result.predictions == result.equal == len(calls)


def test_a_gap_that_no_row_shows_is_none_for_the_recalibration(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one, events = Journalled(tmp_path, predictor), list(live(BOOK[:400]))
    one.take(*events[:601], Confirmed(int(BOOK.timestamps[299])), Gap(kind="resync"), *events[601:])
    one.close()
    calls = calls_of(one.writer.files)
    assert len(read_market(one.writer.files)) == 400 and len(calls) == 4 * (400 - 2 * 23)
    result = again(one.writer.files, shelf)
    assert result.equal == result.predictions == len(calls)


def test_a_row_is_called_as_long_as_rows_were_confirmed_within_a_minute(predictor: Predictor) -> None:
    follower = Follower(predictor, predictor.markets["testville"])
    first, levels = int(BOOK.timestamps[0]), BOOK.levels[0]
    later = [Row(first + after, levels, provisional=True) for after in (60_000, 60_250)]
    steps = follower.take([Row(first, levels), *later], [None] * 3)
    assert [step.followed.in_time for step in steps if step.followed] == [True, True, False]


@pytest.mark.parametrize("lag", [0, 6])
def test_calls_lie_beside_their_rows_where_an_hour_ends(tmp_path: Path, shelf: Path, predictor: Predictor, lag: int) -> None:
    turn = int(BOOK.timestamps[0]) // HOUR_MS * HOUR_MS + HOUR_MS
    rows = at(BOOK[:160], turn - 100 * 250)
    files = recorded(tmp_path, rows, predictor, lag=lag)
    assert [path.parent.name for path in files] == ["22", "23"]
    assert [calls_of([path])["timestamp"].nunique() for path in files] == [100 - 23, 60]
    result = again(files[1:], shelf)  # which stands for its day
    assert result.equal == result.predictions == 4 * (160 - 23)


def test_the_rest_of_a_journal_is_made_again_where_an_hour_of_it_was_deleted_and_said_to_be_beyond_replay(
    tmp_path: Path, shelf: Path, predictor: Predictor, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = int(BOOK.timestamps[0]) // HOUR_MS * HOUR_MS + HOUR_MS
    first, second = recorded(tmp_path, at(BOOK[:200], turn - 100 * 250), predictor)
    for path in first.parent.iterdir():
        path.unlink()
    result = again([second], shelf)
    assert (result.predictions, result.equal, result.beyond_replay) == (4 * 100, 4 * (100 - 23), 4 * 100)
    assert result.different is None
    assert main(["verify", str(second), "--checkpoints", str(shelf)]) == 0
    assert "400 are beyond replay" in capsys.readouterr().out
    calls = segments.segment_path(second, segments.CALLS)
    kept = pd.read_parquet(calls)
    for column, value in {
        "raw_up": lambda p: p + np.float32(2e-4),
        "call": "SIDEWAYS",
        "timestamp": lambda time: time + 1,
    }.items():
        with_value(column, value, line=300)(kept).to_parquet(calls, index=False)
        assert again([second], shelf).different is not None, column


def test_a_tail_without_calls_and_calls_written_before_their_row_are_said(
    tmp_path: Path, shelf: Path, predictor: Predictor, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = recorded(tmp_path, BOOK[:80], predictor)
    path = segments.segment_path(file, segments.CALLS)
    calls = pd.read_parquet(path).iloc[: -4 * 10]
    calls.loc[calls.index[:8], "written"] = calls["timestamp"].iloc[0] - 5_000
    calls.to_parquet(path, index=False)
    result = again([file], shelf)
    assert (result.uncalled, result.early, result.equal) == (10, 8, result.predictions)
    assert main(["verify", str(file), "--checkpoints", str(shelf)]) == 0
    said = capsys.readouterr().out
    assert "8 say that they were written before their row" in said and "10 rows at the end have" in said


def test_each_day_is_a_journal_of_its_own(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    midnight = int(BOOK.timestamps[0]) // DAY_MS * DAY_MS + DAY_MS
    recorded(tmp_path, at(BOOK[:100], midnight - 90_000), predictor)  # another run, whose leads both days go on with
    files = recorded(tmp_path, at(BOOK[:250], midnight - 150 * 250), predictor)
    assert [path.parent.parent.name for path in files] == ["2023-11-14", "2023-11-15"]
    for path, rows, leads in zip(files, (150 - 23 + 100 - 23, 100 - 23), (8, 4), strict=True):
        result = again([path], shelf)
        assert result.equal == result.predictions == 4 * rows and result.leads_equal == result.leads == leads


def test_a_restart_and_another_checkpoint_begin_a_journal_and_all_are_made_again(
    tmp_path: Path, shelf: Path, predictor: Predictor
) -> None:
    save_tiny(shelf, random_book(300, 9), name="other")
    other = Predictor(checkpoints.load("other", folder=shelf))
    parts = [BOOK[:160], BOOK[160:320], BOOK[320:]]
    files = [
        path for part, one in zip(parts, (predictor, predictor, other), strict=True) for path in recorded(tmp_path, part, one)
    ]
    result = again(files, shelf)
    assert result.equal == result.predictions == 4 * (480 - 3 * 23)
    alone = tmp_path / "alone"
    save_tiny(alone, BOOK)
    result = again(files, alone)
    assert result.equal == 4 * 2 * (160 - 23) and "are not known here" in str(result.different)


def own_lead(files: Sequence[Path], alphas: Sequence[float]) -> NDArray[np.float64]:
    """(heads, 2): outcomes of one run that do not overlap, and their lead over "always stationary" as a forecaster, in words.

    Its forecast at a row is the share of each class among the outcomes known there, one added to each.
    """
    calls, rows = calls_of(files), read_market(files)
    found = []
    for code, (kind, horizon), alpha in zip(CODES, HEADS, alphas, strict=True):
        shown = calls[calls["head"] == code].set_index("timestamp")[RECALIBRATED]
        begin, end = int(np.searchsorted(rows.timestamps, shown.index[0])), len(rows) - horizon
        came = [naive_class(naive_label(rows.mid, at, horizon, kind), alpha) for at in range(begin, end)]
        lead, each = 0.0, range(begin, end, horizon)
        for at in each:
            counts = 1 + np.bincount(came[: max(0, at - horizon + 1 - begin)], minlength=3)
            truth = came[at - begin]
            both = np.array([shown.loc[rows.timestamps[at]].iloc[truth], counts[truth] / counts.sum()])
            lead += float(np.diff(-np.log(np.maximum(both, 0.01)))[0])
        found.append((len(each), lead))
    return np.array(found)


def with_footer(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the leads at the end of a file of calls."""
    table, told = pq.read_table(path), read_leads(path)
    assert told is not None
    told = change(told) or told
    pq.write_table(table.replace_schema_metadata({LEADS_KEY: json.dumps(told)}), path)


def test_leads_go_on_over_the_end_of_an_hour_a_restart_and_a_second_recording_and_are_made_again(
    tmp_path: Path, shelf: Path, predictor: Predictor, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = int(BOOK.timestamps[0]) // HOUR_MS * HOUR_MS + HOUR_MS
    begins = [turn - 100_000, turn - 195 * 250, turn + 100_000]
    runs = [recorded(tmp_path, at(BOOK[:200], begins[0]), predictor)]
    killed = Journalled(tmp_path, predictor, begins_ms=begins[1])
    killed.take(*live(at(BOOK[100:300], begins[1])))  # most heads have no outcome in its last five rows, of another hour
    leave(killed.writer)
    runs.append([*killed.writer.files, *restore_recordings(tmp_path)])
    runs.append(recorded(tmp_path, at(BOOK[200:480], begins[2]), predictor))  # another recording
    alphas = predictor.markets["testville"].alphas
    expected = np.cumsum([own_lead(run, alphas) for run in runs], axis=0)
    by, rule = Follower(predictor, predictor.markets["testville"]).by, RIVALS.index("stationary")
    for sums, until in zip(expected, (*begins[1:], turn + HOUR_MS), strict=True):
        leads = leads_here(tmp_path / "ABC-USD", by, until)
        assert [one.outcomes for one in leads] == sums[:, 0].tolist() and len({one.since_ms for one in leads}) == 1
        np.testing.assert_allclose([one.totals[rule] for one in leads], sums[:, 1], atol=1e-4)
    files = [path for run in runs for path in run]
    result = again(files, shelf)
    assert (result.leads, result.leads_equal, result.leads_beyond, result.different) == (16, 16, 0, None)

    newest = segments.segment_path(files[-1], segments.CALLS)
    kept = newest.read_bytes()
    for part in ("before", "own"):  # in favour of the network: at the run's end, and in what it went on from
        with_footer(newest, lambda told, part=part: told[part][2]["totals"].__setitem__(rule, 50.0))
        found = again(files, shelf).different
        assert found is not None and "the lead over the naive rules differs" in found["why"], part
        newest.write_bytes(kept)
    pq.write_table(pq.read_table(newest).replace_schema_metadata(), newest)  # as an older version wrote it
    assert main(["verify", str(files[-1]), "--checkpoints", str(shelf)]) == 0
    assert "12 of 12 leads" in (said := capsys.readouterr().out) and "1 files have no lead" in said
    newest.write_bytes(kept)
    for path in files[:3]:
        segments.segment_path(path, segments.CALLS).unlink()
    result = again(files[-1:], shelf)
    assert (result.leads, result.leads_equal, result.leads_beyond) == (4, 0, 4)


def test_a_recording_that_is_wound_back_is_made_again(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one = Journalled(tmp_path, predictor, wall=False)
    for _ in range(2):
        one.take(*(Row(time, levels) for time, levels in zip(BOOK.timestamps[:150].tolist(), BOOK.levels[:150], strict=True)))
    one.close()
    assert [path.name for path in one.writer.files] == ["rows_1700000000000.parquet", "rows_1700000000000_2.parquet"]
    result = again(one.writer.files, shelf)
    assert result.equal == result.predictions == 2 * 4 * (150 - 23)


def test_a_call_is_late_that_is_written_more_than_a_step_after_its_row(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one, events = Journalled(tmp_path, predictor), list(live(BOOK[:60]))
    for behind, part in ((250, events[:80]), (251, events[80:86]), (20, events[86:])):
        one.clock.behind_ms = behind
        one.take(*part)
    one.close()
    assert again(one.writer.files, shelf).late == 4 * 3


def test_a_call_is_on_disk_before_its_row_is_confirmed(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    one, events = Journalled(tmp_path, predictor), list(live(BOOK[:60]))
    one.take(*events[:-1])
    copies = [tmp_path / "copy", tmp_path / "calls"]
    for copy in copies:
        copy.mkdir()
        for path in tmp_path.glob(".*.journal.part*"):
            (copy / path.name).write_bytes(path.read_bytes())  # as a killed process leaves it
    copy, calls = copies
    (file,) = restore_recordings(copy)
    assert len(read_market([file])) == 59
    result = again([file], shelf)
    assert result.equal == result.predictions == 4 * (59 - 23)
    (left,) = calls.glob("*.part")
    assert (
        WriteAhead(left).read().tables[segments.CALLS]["timestamp"].to_numpy()[-1] == BOOK.timestamps[59]
    )  # whose row may still be lost
    one.close()


Change = Callable[[pd.DataFrame], pd.DataFrame]


def with_value(column: str, value: object, *, line: int = 401) -> Change:
    """The calls with another value in one line."""

    def change(calls: pd.DataFrame) -> pd.DataFrame:
        calls = calls.astype(dict.fromkeys(("head", "call", "weights", "card", "entry"), object))
        calls.loc[line, column] = value(calls.loc[line, column]) if callable(value) else value
        return calls

    return change


TAMPERED: dict[str, Change] = {
    "raw": with_value("raw_up", lambda p: p + np.float32(2e-4)),
    "raw that is no number": with_value("raw_up", np.float32("nan")),
    "recalibrated": with_value("recalibrated_down", lambda p: p + np.float32(2e-3)),
    "call": with_value("call", lambda name: "UP" if name != "UP" else "DOWN"),
    "no class": with_value("call", "SIDEWAYS"),
    "weights": with_value("weights", "ab" * 32),
    "card": with_value("card", "ab" * 32),
    "entry": with_value("entry", "pooled"),
    "head": with_value("head", "forward_7"),
    "no head": with_value("head", "forward"),
    "time": with_value("timestamp", lambda time: time + 1),
    "what was known": with_value("known", lambda time: time + 60_000),
    "a line less": lambda calls: calls.drop(index=401),
    "a row less": lambda calls: calls.drop(index=range(400, 404)),
    "a line twice": lambda calls: pd.concat([calls, calls.loc[[401]]]),
    "the beginning": lambda calls: calls.iloc[4 * 100 :],
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, shelf: Path, predictor: Predictor) -> Path:
    (file,) = recorded(tmp_path_factory.mktemp("recording"), BOOK[:150], predictor)
    result = again([file], shelf)
    assert result.equal == result.predictions
    return file


def copied(source: Path, folder: Path) -> tuple[Path, Path]:
    """A recording's rows and calls in a day of a folder."""
    hour = folder / "ABC-USD" / "2023-11-14" / "22"
    hour.mkdir(parents=True)
    for path in source.parent.iterdir():
        (hour / path.name).write_bytes(path.read_bytes())
    return hour / source.name, segments.segment_path(hour / source.name, segments.CALLS)


def test_a_live_session_and_its_recording_go_on_from_the_journal_and_a_played_one_does_not(
    tmp_path: Path, untouched: Path, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(untouched, tmp_path)
    (tmp_path / "ABC-USD").rename(tmp_path / "testville-ABC-USD")
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", str(tmp_path))
    clocks: dict[Clock, list[int]] = {"wall": [12, 12, 6, 25], "event": [0, 0, 0, 0]}
    for clock, known in clocks.items():
        session = MarketSession(ScriptedFeed([], key=SPELLING.split()[0], clock=clock), predictor)
        assert [one.outcomes for one in session.follower.board.answers.before] == known
        for times in (1, 2):
            recording = SessionRecording(session, tmp_path)
            session.record(recording._recorder, recording._leads)
            session._let_join()
            assert [one.outcomes for one in session.follower.board.answers.before] == [times * one for one in known]
            here = session.follower.board.answers.here
            here[:] = [one + one for one in here]  # as many outcomes again, before another recording joins


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_what_was_changed_in_a_journal_is_found(tmp_path: Path, shelf: Path, untouched: Path, change: Change) -> None:
    file, calls = copied(untouched, tmp_path)
    change(pd.read_parquet(calls)).to_parquet(calls, index=False)
    result = again([file], shelf)
    assert result.equal < result.predictions and result.different is not None


def test_a_row_that_was_changed_is_found(tmp_path: Path, shelf: Path, untouched: Path) -> None:
    file, _ = copied(untouched, tmp_path)
    rows = pd.read_parquet(file)
    rows.loc[100, "bid_size_1"] *= 3
    kept = pq.read_schema(file).metadata
    pq.write_table(pa.Table.from_pandas(rows).replace_schema_metadata(kept), file)
    result = again([file], shelf)
    first = int(BOOK.timestamps[100])
    assert result.different is not None and 0 <= result.different["timestamp"] - first < 24 * 250
    assert "its probabilities differ" in result.different["why"] and result.predictions - result.equal <= 4 * 24


def test_the_command_says_how_many_are_equal_and_ends_with_what_came_of_it(
    tmp_path: Path, shelf: Path, untouched: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, calls = copied(untouched, tmp_path)
    count = 4 * (150 - 23)
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", str(tmp_path))
    for named in (str(file), "ABC-USD/2023-11-14"):
        assert main(["verify", named, "--checkpoints", str(shelf), "--json"]) == 0
        expected = {"predictions": count, "equal": count, "late": 0, "without_outcome": 45, "different": None}
        assert json.loads(capsys.readouterr().out) == expected | NOTHING_ELSE
    assert main(["verify", str(file), "--checkpoints", str(shelf)]) == 0
    said = capsys.readouterr().out
    assert "508 of 508 made again, equal; 0 late; 45 without an outcome" in said and "certifies nothing" in said
    TAMPERED["raw"](pd.read_parquet(calls)).to_parquet(calls, index=False)
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(file), "--checkpoints", str(shelf), "--json"])
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["equal"] < count
    calls.unlink()
    for named in (str(file), "binance_spot_ethusdt_2024-08-08", str(tmp_path / "nothing")):
        assert main(["verify", named, "--json"]) == 2
        out, problem = capsys.readouterr()
        assert out == "" and len(problem.strip().splitlines()) == 1
    with pytest.raises(BookError, match="has no journal of predictions"):
        again([file], shelf)
