"""The ledger as it is written: chained before the outcome is known, sealed by hour, and scored as scikit-learn scores."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import confusion_matrix, f1_score, log_loss, matthews_corrcoef

from core.cli import main
from core.files import write_whole
from core.market.answers.predictions import predict_rows
from core.market.book import BookRows, read_rows
from core.market.ledger.chain import GAP, HEADER, JOURNAL, LedgerError, read_header, read_journal
from core.market.ledger.scorecard import PERIODS, Period, score_card
from core.market.ledger.writer import LedgerWriter
from core.market.predictor import Predictor
from core.market.store.index import list_recordings
from tests.core.market.helpers import HEADS, naive_class, naive_label
from tests.core.market.ledger.ledgers import (
    MARKET,
    NAME,
    checked,
    entries_of,
    items,
    steps,
    write_all,
    writer_for,
)

ROOT = Path(__file__).resolve().parents[4]
OLD = ROOT / "tests" / "fixtures" / "ledger_1"


def told(rows: BookRows, predictor: Predictor) -> int:
    return len(rows) - predictor.window + 1


def moved(rows: BookRows, start_ms: int) -> BookRows:
    """The same rows from another time on."""
    return BookRows(timestamps=start_ms + 250 * np.arange(len(rows)), levels=rows.levels)


def hours(rows: BookRows) -> BookRows:
    """The same rows about the turn of an hour."""
    return moved(rows, 1_700_002_800_000 - 250 * 100)


def test_the_chain_is_what_the_documentation_says(ledger: Path, head: str) -> None:
    """Recomputed from the files' columns with hashlib and struct alone."""
    digest = hashlib.sha256((ledger / NAME / HEADER).read_bytes()).digest()
    files = [pq.read_table(path).to_pylist() for path in (ledger / NAME).rglob("*.parquet")]
    lines = sorted((line for file in files for line in file), key=lambda line: line["index"])
    sides = [f"{side}_{what}_{level}" for level in range(1, 11) for side in ("ask", "bid") for what in ("price", "size")]
    probabilities = [f"{label}_{h}_p_{where}" for label, h in HEADS for where in ("down", "stationary", "up")]
    for line in lines:
        assert line["previous"] in (None, digest)
        numbers = (line[name] for name in ("kind", "index", "predictions", "timestamp", "written_ms", "confirmed_ms"))
        data = digest + struct.pack("<b5q", *numbers)
        if line["kind"] >= 1:
            data += struct.pack("<40d", *(line[name] for name in sides))
        if line["kind"] == 2:
            data += line["weights"] + line["card"]
            data += struct.pack(f"<{3 * len(HEADS)}f", *(line[name] for name in probabilities))
            data += struct.pack(f"<{len(HEADS)}b", *(line[f"{label}_{h}_call"] for label, h in HEADS))
        digest = hashlib.sha256(data).digest()
        assert line["hash"] == digest
    assert digest.hex() == head and [line["index"] for line in lines] == list(range(183))


def test_its_rows_are_recordings_without_those_that_were_lost(tmp_path: Path, rows: BookRows, predictor: Predictor) -> None:
    lines = steps(rows, predictor)
    with writer_for(tmp_path, predictor) as writer:
        writer.write(items([*lines[:100], int(rows.timestamps[89]), None, *lines[120:], int(rows.timestamps[-1])]))
    (entry,) = list_recordings(tmp_path)
    assert (entry.rows, entry.gaps, entry.sealed) == (90 + 60, 1, True)
    (file,) = entry.paths
    np.testing.assert_array_equal(read_rows(file).levels, np.delete(rows.levels, range(90, 120), axis=0))
    assert len(list((tmp_path / NAME).rglob("lost_*.parquet"))) == 1
    assert [len(entries_of(tmp_path / NAME)), (entries_of(tmp_path / NAME)["kind"] == GAP).sum()] == [161, 1]


def test_scores_equal_scikit_learns(ledger: Path, shelf: Path, predictor: Predictor, head: str) -> None:
    scored = score_card(checked(ledger, shelf, head)).set_index("head")
    assert list(scored.index) == ["forward_5", "forward_10", "smoothed_10", "smoothed_20"]  # D24
    tables = [pq.read_table(path).to_pandas() for path in sorted((ledger / NAME).rglob("rows_*.parquet"))]
    alphas = predictor.market(MARKET).alphas
    for i, (label, horizon) in enumerate(HEADS):
        truth, called = [], []
        for table in tables:
            mid = ((table["ask_price_1"] + table["bid_price_1"]) / 2).to_numpy()
            for t in np.flatnonzero(table["kind"] == 2):
                truth.append(naive_class(naive_label(mid, int(t), horizon, label), alphas[i]))
                called.append(int(table[f"{label}_{horizon}_call"][t]))
        known = np.array(truth) >= 0
        y, c = np.array(truth)[known], np.array(called)[known]
        line = scored.loc[f"{label}_{horizon}"]
        assert line.samples == known.sum() == confusion_matrix(y, c).sum() and line.no_outcome == (~known).sum()
        assert line.matthews == pytest.approx(matthews_corrcoef(y, c), abs=1e-9)
        assert line.macro_f1 == pytest.approx(f1_score(y, c, labels=np.union1d(y, c), average="macro"), abs=1e-9)
        assert 0.5 < line.frequencies_log_loss < 2 and abs(line.decayed_matthews) < 1


def naive_chance(steps: np.ndarray, called: np.ndarray, truth: np.ndarray, horizon: int) -> float:
    """The luck test in plain loops: sixteen calls at a time, one a horizon, against their own cyclic shifts."""
    kept = [0]
    for i in range(1, len(steps)):
        if steps[i] - steps[kept[-1]] >= horizon:
            kept.append(i)
    c, y = called[kept].tolist(), truth[kept].tolist()
    wealth, best = dict.fromkeys((0.1, 0.25, 0.5, 1.0, 2.0), 1.0), 1.0
    for start in range(0, len(c) - 15, 16):
        hits = [sum(c[start + (i - shift) % 16] == y[start + i] for i in range(16)) for shift in range(16)]
        for stake in wealth:
            wealth[stake] *= np.exp(stake * hits[0]) / np.mean([np.exp(stake * h) for h in hits])
        best = max(best, sum(wealth.values()) / 5)
    return 1 / best


@pytest.mark.parametrize("period", PERIODS)
def test_a_score_card_is_scikit_learns_by_period(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path, period: Period
) -> None:
    """Rows about the turn of a month, so that every kind of period has two or, for a week, one."""
    rows = moved(rows, 1_701_388_800_000 - 250 * 90)  # 2023-12-01 00:00 UTC, a Friday
    write_all(tmp_path, steps(rows, predictor), predictor)
    card = score_card(checked(tmp_path, shelf), period=period)
    records = pd.concat([pq.read_table(path).to_pandas() for path in sorted((tmp_path / NAME).rglob("rows_*.parquet"))])
    records = records[records["kind"] == 2]
    at = np.searchsorted(rows.timestamps, records["timestamp"])
    rule = "W-SUN" if period == "week" else period[0].upper()
    names = pd.to_datetime(records["timestamp"], unit="ms").dt.to_period(rule).dt.start_time
    alphas = predictor.market(MARKET).alphas
    seen = 0
    for line in card.itertuples():
        i = [f"{label}_{h}" for label, h in HEADS].index(line.head)
        label, horizon = HEADS[i]
        truth = np.array([naive_class(naive_label(rows.mid, int(t), horizon, label), alphas[i]) for t in at])
        here = (truth >= 0) & (names == line.begins).to_numpy()
        p = records[[f"{line.head}_p_{name}" for name in ("down", "stationary", "up")]].to_numpy()[here]
        called, t = records[f"{line.head}_call"].to_numpy()[here], truth[here]
        assert line.samples == here.sum()
        assert line.accuracy == pytest.approx((called == t).mean())
        assert line.matthews == pytest.approx(matthews_corrcoef(t, called), abs=1e-9)
        bounded = np.clip(p.astype(float), 1e-12, 1)
        assert line.log_loss == pytest.approx(
            log_loss(t, bounded / bounded.sum(axis=1, keepdims=True), labels=[0, 1, 2]), rel=1e-4
        )
        bins = np.minimum((p.max(axis=1) * 15).astype(int), 14)
        hit = p.argmax(axis=1) == t
        gaps = [abs(p.max(axis=1)[bins == b].mean() - hit[bins == b].mean()) * (bins == b).sum() for b in set(bins)]
        assert line.ece == pytest.approx(sum(gaps) / here.sum(), abs=1e-6)
        assert line.luck == pytest.approx(
            naive_chance(records["timestamp"].to_numpy()[here] // 250, called, t, horizon), rel=1e-9
        )
        seen += 1
    assert seen == len(HEADS) * (1 if period == "week" else 2)


def test_a_late_prediction_is_counted_and_not_scored(tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path) -> None:
    now = [0]
    with writer_for(tmp_path, predictor, clock_ms=lambda: now[0]) as writer:
        for i, step in enumerate(steps(rows, predictor)):
            now[0] = step.timestamp + (251 if i == 60 else 250)
            writer.write(items([step.timestamp, step]))
    assert writer.late == 1
    result = checked(tmp_path, shelf, writer.head)
    line = score_card(result).set_index("head").loc["forward_10"]
    assert result.state == "verified" and result.total("late") == line.late == 1
    assert line.samples == told(rows, predictor) - 10 - 1 and line.no_outcome == 10


@pytest.mark.parametrize("where", ["nowhere", "in the depth"])
def test_a_book_that_stands_still_is_scored_apart(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path, where: str
) -> None:
    """As a recording of the same rows is scored; a best level that stands still in a book that changes is no such book."""
    still = np.repeat(rows.levels[80:81], 520, axis=0)
    if where == "in the depth":
        still[::40, 39] *= 1.5  # the tenth bid's size
    book = BookRows(
        timestamps=rows.timestamps[0] + 250 * np.arange(660),
        levels=np.concatenate([rows.levels[:80], still, rows.levels[100:160]]),
    )
    write_all(tmp_path, steps(book, predictor), predictor)
    card = score_card(checked(tmp_path, shelf)).set_index("head")
    recorded = predict_rows(predictor, book, predictor.market(MARKET))
    assert recorded.stalled.any() == (where == "nowhere")
    for i, (label, horizon) in enumerate(HEADS):
        line, apart = card.loc[f"{label}_{horizon}"], recorded.apart[:, i]
        assert line.samples == (recorded.truth[:, i] >= 0).sum() and line.stalled == (apart >= 0).sum()
        assert line.samples + line.stalled + line.no_outcome == len(recorded)
        if where == "nowhere":
            assert line.accuracy_stalled == pytest.approx((recorded.calls[:, i] == apart)[apart >= 0].mean())


def test_a_row_is_lost_until_something_confirms_it(tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path) -> None:
    """The newest row of an open ledger, and after a killed run all rows since the last confirmation (D27)."""
    lines, confirmed = steps(rows, predictor), int(rows.timestamps[94])
    now = [0]

    def clock() -> int:
        return now[0]

    writer = writer_for(tmp_path, predictor, clock_ms=clock)
    now[0] = int(rows.timestamps[99])
    writer.write(items([*lines[:98], confirmed, *lines[98:100]]))

    def unconfirmed() -> int:
        return int(score_card(checked(tmp_path, shelf)).set_index("head").loc["forward_10"].unconfirmed)

    assert unconfirmed() == 5
    shutil.copytree(tmp_path / NAME, tmp_path / "killed" / NAME)
    now[0] = int(rows.timestamps[101])
    writer.write(items([int(rows.timestamps[100]), *lines[100:102]]))
    assert unconfirmed() == 1
    writer.close()
    now[0] = int(rows.timestamps[120])
    with writer_for(tmp_path / "killed", predictor, clock_ms=clock) as again:
        again.write(items([int(rows.timestamps[119]), *lines[119:121]]))  # this confirmation comes too late for the run before
    entries = entries_of(tmp_path / "killed" / NAME)
    assert entries["kind"][100] == GAP and entries["confirmed_ms"][100] == confirmed
    names = sorted(path.name for path in (tmp_path / "killed").rglob("*.parquet"))
    assert [name.partition("_")[0] for name in names] == ["lost", "lost", "rows", "rows"]  # two of each run


@pytest.mark.parametrize("confirmed_at", [102, 110])
def test_an_hour_is_sealed_once_its_rows_are_confirmed(
    tmp_path: Path, rows: BookRows, predictor: Predictor, confirmed_at: int
) -> None:
    moved_rows = hours(rows)
    writer = writer_for(tmp_path, predictor)
    for i, step in enumerate(steps(moved_rows, predictor)[:115]):
        writer.write(items([*([step.timestamp] if i in (50, confirmed_at) else []), step]))
        sealed = sum(len(pq.read_table(path)) for path in tmp_path.rglob("rows_*.parquet"))
        journal = read_journal(writer.folder, len(HEADS)).entries
        assert sealed == (100 if i >= confirmed_at else 0) and len(journal) == i + 1 - sealed
    writer.close()


def test_a_broken_tail_is_cut_off_and_the_chain_goes_on(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path
) -> None:
    lines, now = steps(rows, predictor), [int(rows.timestamps[-1])]
    writer = writer_for(tmp_path, predictor, clock_ms=lambda: now[0])
    writer.write(items(lines[:100]))
    journal = tmp_path / NAME / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-7])
    del writer
    now[0] += 60_000
    later = moved(rows, int(rows.timestamps[-1]) + 30_000)
    with writer_for(tmp_path, predictor, clock_ms=lambda: now[0]) as again:
        again.write(items([*steps(later, predictor)[:30], int(later.timestamps[29])]))
    result = checked(tmp_path, shelf, again.head)
    assert result.state == "verified" and result.total("rows") == (99 - 23) + (30 - 23)


def test_a_death_between_sealing_and_emptying_writes_nothing_twice(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path
) -> None:
    lines, now = steps(rows, predictor), int(rows.timestamps[-1])
    writer = writer_for(tmp_path, predictor, clock_ms=lambda: now)
    writer.write(items([*lines[:100], int(rows.timestamps[99])]))
    kept = (tmp_path / NAME / JOURNAL).read_bytes()
    writer.close()
    (tmp_path / NAME / JOURNAL).write_bytes(kept)
    assert checked(tmp_path, shelf, writer.head).state == "verified"
    with writer_for(tmp_path, predictor, clock_ms=lambda: now) as again:
        assert (again.head, again.count) == (writer.head, writer.count)
        again.write(items([*steps(rows[100:], predictor), int(rows.timestamps[-1])]))
    result = checked(tmp_path, shelf, again.head)
    assert result.state == "verified" and result.total("rows") == (100 - 23) + (80 - 23)


def test_a_death_between_the_two_files_of_an_hour_loses_neither(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(rows.timestamps[-1])
    writer = writer_for(tmp_path, predictor, clock_ms=lambda: now)
    lines = steps(rows, predictor)
    writer.write(items([*lines[:95], int(rows.timestamps[89]), *lines[95:100]]))
    with monkeypatch.context() as patch:
        patch.setattr("core.market.store.segments.write_whole", killed_at("rows_"))
        with pytest.raises(OSError, match="killed"):
            writer.close()
    assert [path.name[:5] for path in tmp_path.rglob("*.parquet")] == ["lost_"]
    with writer_for(tmp_path, predictor, clock_ms=lambda: now) as again:
        assert (again.head, again.count) == (writer.head, writer.count)
        again.write(items([*steps(rows[100:], predictor), int(rows.timestamps[-1])]))
    result = checked(tmp_path, shelf, again.head)
    assert result.state == "verified" and result.total("rows") == (100 - 23) + (80 - 23)
    kept = [read_rows(path).timestamps.tolist() for path in sorted(tmp_path.rglob("rows_*.parquet"))]
    assert kept == [rows.timestamps[:90].tolist(), rows.timestamps[100:].tolist()]


def killed_at(start: str) -> Callable[..., None]:
    """Writing, but of a file of this name, at which the process ends."""

    def write(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
        if path.name.startswith(start):
            raise OSError("killed")
        write_whole(path, fill)

    return write


def test_a_clock_that_was_set_back_is_refused(tmp_path: Path, rows: BookRows, predictor: Predictor) -> None:
    write_all(tmp_path, steps(rows, predictor), predictor)
    with writer_for(tmp_path, predictor) as writer, pytest.raises(LedgerError, match="it was set back"):
        writer.write(items(steps(rows, predictor)[:1]))
    last = int(rows.timestamps[-1])
    with writer_for(tmp_path, predictor, clock_ms=lambda: last - 5_000) as writer, pytest.raises(LedgerError, match="set back"):
        writer.write(items(steps(moved(rows, last + 250), predictor)[:1]))


def test_a_ledger_whose_newest_segments_are_gone_is_not_continued(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path
) -> None:
    write_all(tmp_path, steps(hours(rows), predictor), predictor)
    sorted(tmp_path.rglob("rows_*.parquet"))[-1].unlink()
    with pytest.raises(LedgerError, match="newest segments of testville-ABC-USDT are missing"):
        writer_for(tmp_path, predictor)


def test_other_heads_or_weights_and_the_formats_before_begin_another_folder(ledger: Path, predictor: Predictor) -> None:
    header = read_header(ledger / NAME)
    for other in (replace(header, heads=header.heads[:2]), replace(header, model=("ab" * 32, "cd" * 32))):
        with LedgerWriter(ledger, other) as writer:
            assert writer.folder.name == f"{NAME}_2"
        shutil.rmtree(writer.folder)
    path = ledger / NAME / HEADER
    path.write_text(path.read_text().replace('"format": 3', '"format": 2'))
    with writer_for(ledger, predictor) as writer:
        assert writer.folder.name == f"{NAME}_2"


def test_a_full_ledger_says_so(tmp_path: Path, rows: BookRows, predictor: Predictor) -> None:
    with writer_for(tmp_path, predictor, size_limit=10) as writer, pytest.raises(LedgerError, match="limit"):
        writer.write(items(steps(rows, predictor)[:1]))


def test_a_ledger_of_the_old_format_is_incomplete_and_left_alone(tmp_path: Path, shelf: Path, predictor: Predictor) -> None:
    """A real one, written before the rows were chained: an hour sealed and four lines in the journal."""
    shutil.copytree(OLD, tmp_path / "ledger")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "ledger").rglob("*")) if path.is_file()}
    result = checked(tmp_path / "ledger", shelf)
    assert result.state == "incomplete" and result.total("recomputed") == 0
    assert any("of format 1, whose chain does not hold the rows" in why for _, why in result.reasons())
    assert score_card(result).empty
    assert (
        checked(tmp_path / "ledger", shelf, "8b4ffb7a62633343b4824ae47960da655848d85fc3147dee90f9b6368b1ecb19").state
        == "incomplete"
    )
    with writer_for(tmp_path / "ledger", predictor) as writer:
        assert writer.folder.name == f"{NAME}_2"
    assert before == {path: path.read_bytes() for path in before}


KILLED = """
import sys, time
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {root!r})
from core import checkpoints
from core.market.predictor import Predictor
from tests.core.market.helpers import random_book
from tests.core.market.ledger.ledgers import items, steps, writer_for
predictor = Predictor(checkpoints.load("tiny", folder=Path({folder!r})))
lines = steps(random_book(180, seed=3), predictor)
writer = writer_for(Path({ledger!r}), predictor)
for line in lines:
    writer.write(items([line.timestamp, line]))
    print(writer.count, writer.head, flush=True)
    time.sleep(0.002)
"""


def test_a_killed_writer_loses_nothing_that_it_had_written(tmp_path: Path, shelf: Path) -> None:
    code = KILLED.format(root=str(ROOT), folder=str(shelf), ledger=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            count, head = line.split()
            if int(count) >= 40:
                os.kill(process.pid, signal.SIGKILL)
                break
    result = checked(tmp_path, shelf, head)
    assert result.difference is None and not result.unknown_heads  # the head that was told is in the chain
    assert result.total("rows") == result.total("recomputed") >= 40


def test_the_command_ends_by_its_state(ledger: Path, shelf: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*more: str) -> tuple[int, dict[str, object]]:
        arguments = ["verify", "ledger", str(ledger), "--checkpoints", str(shelf), "--json", *more]
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        return code, json.loads(capsys.readouterr().out)

    code, printed = run("--head", head)
    assert code == 0 and printed["state"] == "verified" and printed["ok"] is True
    assert printed["rows"] == printed["recomputed"] == 111 and printed["first_difference"] is None
    assert list(printed["scores"][NAME]) == ["forward_5", "forward_10", "smoothed_10", "smoothed_20"]
    code, printed = run()
    assert code == 3 and printed["state"] == "incomplete" and printed["ok"] is False
    code, printed = run("--head", head.upper(), "--hours", "1")
    assert code == 3 and printed["recomputed"] == 37
    (ledger / NAME / HEADER).write_text("{}")
    code, printed = run("--head", head)
    assert code == 1 and printed["state"] == "broken" and printed["first_difference"]["row"] == 0


def test_the_command_says_it_in_words(ledger: Path, shelf: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "ledger", str(ledger), "--checkpoints", str(shelf), "--head", head]) == 0
    said = capsys.readouterr().out
    assert "verified. 111 of 111 predictions recomputed and equal" in said and "No file can prove" in said
    for file in ledger.rglob("rows_*.parquet"):
        file.write_bytes(b"nothing")
    with pytest.raises(SystemExit) as end:
        main(["verify", "ledger", str(ledger), "--checkpoints", str(shelf)])
    assert end.value.code == 1 and "FIRST DIFFERENCE" in capsys.readouterr().out


def test_what_is_no_ledger_is_one_sentence(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    cases = [
        ([str(tmp_path / "empty")], "holds no ledger"),
        ([str(tmp_path / "nowhere")], "holds no ledger"),
        ([str(tmp_path / "file")], "holds no ledger"),
        ([str(ledger), "--head", "12"], "has 64 hexadecimal digits"),
        ([str(ledger), "--hours", "0"], "must be 1 or more"),
    ]
    for arguments, sentence in cases:
        assert main(["verify", "ledger", *arguments]) == 2
        said = capsys.readouterr().err.strip()
        assert sentence in said and "\n" not in said
