"""The ledger: chained before the outcome is known, sealed by hour, and every change to it found and named."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import confusion_matrix, f1_score, log_loss, matthews_corrcoef

from core import checkpoints
from core.cli import main
from core.market.book import BookRows, read_rows
from core.market.ledger.records import JOURNAL, LedgerError, LedgerHeader
from core.market.ledger.scorecard import PERIODS, Period, score_card
from core.market.ledger.segments import prediction_files, read_journal, row_files
from core.market.ledger.verification import shipped_predictors, verify
from core.market.ledger.writer import LedgerRow, LedgerWriter
from core.market.predictor import Predictor, windows_of
from tests.core.market.helpers import HEADS, naive_class, naive_label, random_book, tiny_predictor

MARKET = "live/testville/ABC/USDT"
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def rows() -> BookRows:
    return random_book(160, seed=3)


@pytest.fixture(scope="module")
def checkpoint_folder(tmp_path_factory: pytest.TempPathFactory, rows: BookRows) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny_predictor(folder, rows)
    return folder


@pytest.fixture(scope="module")
def predictor(checkpoint_folder: Path) -> Predictor:
    return Predictor(checkpoints.load("tiny", folder=checkpoint_folder))


def writer_for(root: Path, predictor: Predictor, folder: Path, **options: object) -> LedgerWriter:
    header = LedgerHeader(market=MARKET, heads=predictor.heads, window=predictor.window)
    digests = {
        kind: checkpoints.sha256(folder / f"tiny.{suffix}") for kind, suffix in (("weights", "safetensors"), ("card", "json"))
    }
    return LedgerWriter(root, header, **digests, **options)  # type: ignore[arg-type]


def steps(rows: BookRows, predictor: Predictor) -> list[LedgerRow]:
    """Every row, with a prediction from the first whole window on."""
    window = predictor.window
    ends = np.arange(window - 1, len(rows))
    windows = windows_of(rows.levels, ends, window)
    answer = predictor.predict(windows, predictor.market(MARKET))
    lines = [LedgerRow(timestamp=int(rows.timestamps[i]), levels=rows.levels[i]) for i in range(window - 1)]
    return lines + [
        LedgerRow(
            timestamp=int(rows.timestamps[end]),
            levels=rows.levels[end],
            window=windows[i],
            probabilities=answer.probabilities[i],
            calls=answer.calls[i],
        )
        for i, end in enumerate(ends)
    ]


def write_all(root: Path, rows: BookRows, predictor: Predictor, folder: Path) -> LedgerWriter:
    """A ledger of all rows, each written within its own step."""
    now = [0]
    with writer_for(root, predictor, folder, clock_ms=lambda: now[0]) as writer:
        for step in steps(rows, predictor):
            now[0] = step.timestamp + 20
            writer.write([step])
    return writer


@pytest.fixture
def ledger(tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path) -> Path:
    write_all(tmp_path / "ledger", rows, predictor, checkpoint_folder)
    return tmp_path / "ledger"


def market_folder(ledger: Path) -> Path:
    return ledger / "testville-ABC-USDT"


def test_a_whole_ledger_is_recomputed_and_equal(
    ledger: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    result = verify(ledger, shipped_predictors(checkpoint_folder))
    count = len(rows) - predictor.window + 1
    assert result.difference is None
    assert (result.rows, result.recomputed, result.unchecked, result.late) == (count, count, 0, 0)
    (file,) = row_files(market_folder(ledger))
    np.testing.assert_array_equal(read_rows(file).levels, rows.levels)


def test_the_chain_is_what_the_documentation_says(ledger: Path) -> None:
    """Recomputed from the file's columns with hashlib and struct alone."""
    (file,) = prediction_files(market_folder(ledger))
    table = pq.read_table(file).to_pylist()
    head = hashlib.sha256((market_folder(ledger) / "ledger.json").read_bytes()).digest()
    for line in table:
        data = head + struct.pack("<qqq?", line["index"], line["timestamp"], line["written_ms"], line["late"])
        data += b"".join(bytes.fromhex(line[name]) for name in ("weights", "card", "window"))
        names = [f"{label}_{h}_p_{where}" for label, h in HEADS for where in ("down", "stationary", "up")]
        data += struct.pack(f"<{len(names)}f", *(line[name] for name in names))
        data += struct.pack(f"<{len(HEADS)}b", *(line[f"{label}_{h}_call"] for label, h in HEADS))
        head = hashlib.sha256(data).digest()
        assert line["hash"] == head.hex()


def test_scores_equal_scikit_learns(ledger: Path, rows: BookRows, checkpoint_folder: Path, predictor: Predictor) -> None:
    result = verify(ledger, shipped_predictors(checkpoint_folder))
    table = pq.read_table(prediction_files(market_folder(ledger))[0]).to_pandas()
    alphas = predictor.market(MARKET).alphas
    for i, (label, horizon) in enumerate(HEADS):
        at = np.searchsorted(rows.timestamps, table["timestamp"])
        truth = np.array([naive_class(naive_label(rows.mid, int(t), horizon, label), alphas[i]) for t in at])
        known = truth >= 0
        called = table[f"{label}_{horizon}_call"].to_numpy()[known]
        scored = result.scores["testville-ABC-USDT"][f"{label}_{horizon}"]
        assert scored["samples"] == known.sum() == confusion_matrix(truth[known], called).sum()
        assert scored["matthews"] == pytest.approx(matthews_corrcoef(truth[known], called), abs=1e-9)
        seen = np.union1d(truth[known], called)
        assert scored["macro_f1"] == pytest.approx(f1_score(truth[known], called, labels=seen, average="macro"), abs=1e-9)


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
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path, period: Period
) -> None:
    """Rows about the turn of a month, so that every kind of period has two or, for a week, one."""
    start = 1_701_388_800_000 - 250 * 90  # 2023-12-01 00:00 UTC, a Friday
    moved = BookRows(timestamps=start + 250 * np.arange(len(rows)), levels=rows.levels)
    write_all(tmp_path, moved, predictor, checkpoint_folder)
    card = score_card(tmp_path, shipped_predictors(checkpoint_folder), period=period)
    records = pd.concat([pq.read_table(path).to_pandas() for path in prediction_files(market_folder(tmp_path))])
    at = np.searchsorted(moved.timestamps, records["timestamp"])
    rule = "W-SUN" if period == "week" else period[0].upper()
    names = pd.to_datetime(records["timestamp"], unit="ms").dt.to_period(rule).dt.start_time
    alphas = predictor.market(MARKET).alphas
    seen = 0
    for line in card.itertuples():
        i = [f"{label}_{h}" for label, h in HEADS].index(line.head)
        label, horizon = HEADS[i]
        truth = np.array([naive_class(naive_label(moved.mid, int(t), horizon, label), alphas[i]) for t in at])
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


def rewrite(path: Path, change: object) -> None:
    """A segment with its table changed, its metadata kept."""
    table = pq.read_table(path)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)  # type: ignore[operator]


def set_value(column: str, at: int, value: object) -> object:
    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        values[at] = value
        return table.set_column(table.schema.get_field_index(column), column, pa.array(values, table.schema.field(column).type))

    return change


def swapped(table: pa.Table) -> pa.Table:
    order = list(range(table.num_rows))
    order[10], order[11] = order[11], order[10]
    return table.take(pa.array(order))


def without(at: int) -> object:
    return lambda table: table.take(pa.array([i for i in range(table.num_rows) if i != at]))


@pytest.mark.parametrize(
    ("change", "index", "why"),
    [
        (set_value("forward_10_p_up", 17, 0.999), 17, "altered"),
        (set_value("forward_10_call", 5, 2), 5, "altered"),
        (set_value("written_ms", 30, 0), 30, "altered"),
        (set_value("hash", 40, "00" * 32), 40, "altered"),
        (set_value("weights", 3, "not a hash"), 3, "altered"),
        (swapped, 10, "missing: 11 stands in its place"),
        (without(20), 0, "were sealed"),
        (lambda table: table.slice(0, 100), 0, "were sealed"),
    ],
    ids=["probability", "call", "time", "hash", "weights", "reordered", "left out", "cut short"],
)  # fmt: skip
def test_a_changed_segment_is_caught_and_named(
    ledger: Path, checkpoint_folder: Path, change: object, index: int, why: str
) -> None:
    (file,) = prediction_files(market_folder(ledger))
    if index == 5 and pq.read_table(file).column("forward_10_call")[5].as_py() == 2:
        change = set_value("forward_10_call", 5, 0)
    rewrite(file, change)
    found = verify(ledger, shipped_predictors(checkpoint_folder)).difference
    assert found is not None and found.index == index and why in found.why
    assert found.market == "testville-ABC-USDT" and found.file.endswith(file.name)


def test_a_truncated_file_is_caught_and_named(ledger: Path, checkpoint_folder: Path) -> None:
    (file,) = prediction_files(market_folder(ledger))
    file.write_bytes(file.read_bytes()[:-200])
    found = verify(ledger, shipped_predictors(checkpoint_folder)).difference
    assert found is not None and "not a readable segment" in found.why and found.file.endswith(file.name)


def test_altered_rows_are_caught_by_the_window(ledger: Path, checkpoint_folder: Path, predictor: Predictor) -> None:
    (file,) = row_files(market_folder(ledger))
    rewrite(file, set_value("ask_size_3", 60, 123.0))
    found = verify(ledger, shipped_predictors(checkpoint_folder)).difference
    assert found is not None and found.index == 60 - predictor.window + 1 and "recorded rows" in found.why


def test_a_prediction_the_weights_do_not_give_is_caught(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    """The chain holds, as the writer itself lied; only recomputing shows it."""
    lines = steps(rows, predictor)
    lie = lines[50]
    assert lie.probabilities is not None
    p = lie.probabilities.copy()
    p[1] = p[1][[2, 1, 0]] * 0.9 + 0.1 / 3
    lines[50] = LedgerRow(timestamp=lie.timestamp, levels=lie.levels, window=lie.window, probabilities=p, calls=lie.calls)
    with writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0) as writer:
        writer.write(lines)
    found = verify(tmp_path, shipped_predictors(checkpoint_folder)).difference
    assert found is not None and found.index == 50 - predictor.window + 1 and "recomputed" in found.why


def hours(rows: BookRows) -> BookRows:
    """The same rows about the turn of an hour."""
    start = 1_700_002_800_000 - 250 * 100
    return BookRows(timestamps=start + 250 * np.arange(len(rows)), levels=rows.levels)


@pytest.mark.parametrize("what", ["removed", "reordered"])
def test_segments_must_follow_one_another(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path, what: str
) -> None:
    write_all(tmp_path, hours(rows), predictor, checkpoint_folder)
    first, second = prediction_files(market_folder(tmp_path))
    assert verify(tmp_path, shipped_predictors(checkpoint_folder)).difference is None
    if what == "removed":
        first.unlink()
    else:
        a, b = first.read_bytes(), second.read_bytes()
        first.write_bytes(b)
        second.write_bytes(a)
    found = verify(tmp_path, shipped_predictors(checkpoint_folder)).difference
    assert found is not None and "removed, added or reordered" in found.why


def test_a_cut_off_end_is_caught_by_a_published_head(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    head = write_all(tmp_path, hours(rows), predictor, checkpoint_folder).head
    assert verify(tmp_path, shipped_predictors(checkpoint_folder), published=head).difference is None
    prediction_files(market_folder(tmp_path))[-1].unlink()
    assert verify(tmp_path, shipped_predictors(checkpoint_folder)).difference is None  # the chain that is left is whole
    found = verify(tmp_path, shipped_predictors(checkpoint_folder), published=head).difference
    assert found is not None and "published" in found.why


def test_a_late_prediction_is_marked_and_not_scored(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    now = [0]
    with writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: now[0]) as writer:
        for i, step in enumerate(steps(rows, predictor)):
            now[0] = step.timestamp + (251 if i == 60 else 250)
            writer.write([step])
    result = verify(tmp_path, shipped_predictors(checkpoint_folder))
    assert result.difference is None and result.late == 1
    due = len(rows) - predictor.window + 1 - 10
    assert result.scores["testville-ABC-USDT"]["forward_10"]["samples"] == due - 1


def test_a_broken_tail_is_cut_off_and_the_chain_goes_on(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    lines = steps(rows, predictor)
    writer = writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0)
    writer.write(lines[:100])
    journal = market_folder(tmp_path) / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-300])  # the process died while it wrote
    del writer  # and the system released its lock
    again = writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0)
    assert again.recovered is not None and again.count == 99 - predictor.window + 1
    again.write(lines[99:])
    again.close()
    result = verify(tmp_path, shipped_predictors(checkpoint_folder))
    assert result.difference is None and result.rows == result.recomputed == len(rows) - predictor.window + 1


def test_a_death_between_sealing_and_emptying_writes_nothing_twice(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path
) -> None:
    lines = steps(rows, predictor)
    writer = writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0)
    writer.write(lines[:100])
    journal = market_folder(tmp_path) / JOURNAL
    kept = journal.read_bytes()
    writer.close()
    journal.write_bytes(kept)
    with writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0) as again:
        again.write(lines[100:])
    result = verify(tmp_path, shipped_predictors(checkpoint_folder))
    assert result.difference is None and result.rows == len(rows) - predictor.window + 1


@pytest.mark.parametrize("sealed", [True, False])
def test_rows_never_confirmed_are_no_rows_and_score_nothing(
    tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path, sealed: bool
) -> None:
    lines = steps(rows, predictor)
    writer = writer_for(tmp_path, predictor, checkpoint_folder, clock_ms=lambda: 0)
    writer.write(lines[:100])
    writer.lose(int(rows.timestamps[90]))
    if sealed:
        writer.close()
    result = verify(tmp_path, shipped_predictors(checkpoint_folder))
    assert result.difference is None and result.unchecked == 10
    scored = result.scores["testville-ABC-USDT"]["forward_10"]["samples"]
    assert scored == 90 - predictor.window + 1 - 10


def test_without_weights_only_the_chain_vouches(ledger: Path, tmp_path: Path) -> None:
    result = verify(ledger, shipped_predictors(tmp_path))
    assert result.difference is None and result.recomputed == 0 and result.unchecked == result.rows > 0


def test_other_heads_begin_another_folder(ledger: Path, checkpoint_folder: Path, predictor: Predictor) -> None:
    header = LedgerHeader(market=MARKET, heads=predictor.heads[:2], window=predictor.window)
    with LedgerWriter(ledger, header, weights="00" * 32, card="00" * 32) as writer:
        assert writer.folder.name == "testville-ABC-USDT_2"


def test_a_full_ledger_says_so(tmp_path: Path, rows: BookRows, predictor: Predictor, checkpoint_folder: Path) -> None:
    with writer_for(tmp_path, predictor, checkpoint_folder, size_limit=10) as writer, pytest.raises(LedgerError, match="limit"):
        writer.write(steps(rows, predictor)[:1])


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from core import checkpoints
from core.market.predictor import Predictor
from tests.core.market.helpers import random_book
from tests.core.market.ledger.test_ledger import steps, writer_for
folder = Path({folder!r})
predictor = Predictor(checkpoints.load("tiny", folder=folder))
lines = steps(random_book(160, seed=3), predictor)
writer = writer_for(Path({ledger!r}), predictor, folder, clock_ms=lambda: 0)
for line in lines:
    writer.write([line])
    print(writer.count, flush=True)
    time.sleep(0.002)
"""


def test_a_killed_writer_loses_nothing_that_it_had_written(tmp_path: Path, checkpoint_folder: Path) -> None:
    code = KILLED.format(root=str(ROOT), folder=str(checkpoint_folder), ledger=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        told = 0
        for line in process.stdout:
            told = int(line)
            if told >= 40:
                os.kill(process.pid, signal.SIGKILL)
                break
    result = verify(tmp_path, shipped_predictors(checkpoint_folder))
    assert result.difference is None and result.rows >= told
    lines, _ = read_journal(market_folder(tmp_path) / JOURNAL)
    assert sum(line.record is not None for line in lines) >= told


def test_the_command_prints_rows_ok_and_the_first_difference(
    ledger: Path, checkpoint_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["verify", "ledger", str(ledger), "--checkpoints", str(checkpoint_folder), "--json"]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] is True and printed["rows"] == printed["recomputed"] > 0 and printed["first_difference"] is None
    rewrite(prediction_files(market_folder(ledger))[0], set_value("forward_10_p_up", 17, 0.999))
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] is False and printed["first_difference"]["row"] == 17


def test_a_folder_without_a_ledger_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "ledger", str(tmp_path)]) == 2
    assert "holds no ledger" in capsys.readouterr().err
