"""Checking a ledger: the chain, the windows, every prediction from rows and weights, every outcome and score from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import checkpoints, scores
from core.market.book import STEP_MS, BookError, BookRows, read_rows
from core.market.labels import UNKNOWN, Head, momentum_calls
from core.market.ledger.records import HEADER, JOURNAL, LedgerError, LedgerHeader, PredictionRecord, window_hash
from core.market.ledger.segments import confirmed_rows, prediction_files, read_header, read_journal, read_predictions, row_files
from core.market.predictor import MarketCard, Predictor
from core.market.row_predictions import outcomes
from core.messages import compose

TOLERANCE = 1e-4
"""Largest difference of a recomputed probability that counts as the same: float32 on another processor."""
BATCH = 64


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first record that does not hold, where, and why."""

    market: str
    file: str
    index: int | None
    why: str


@dataclass(kw_only=True)
class Verification:
    """What checking came to.

    Attributes:
        rows: predictions read. recomputed: of them, recomputed from rows and weights and equal. unchecked: predictions whose rows
            or weights are not there, so that only the chain vouches for them.
        late: predictions written too late to be scored. broken_bytes: tail of a journal that a crash cut off.
        heads: newest hash by market folder. difference: the first that does not hold, None where all do.
        scores: by market and head, recomputed from the rows.
    """

    rows: int = 0
    recomputed: int = 0
    unchecked: int = 0
    late: int = 0
    broken_bytes: int = 0
    heads: dict[str, str] = field(default_factory=dict)
    difference: Difference | None = None
    scores: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: `rows`, `ok`, `first_difference`, and the rest."""
        d = self.difference
        return {
            "rows": self.rows,
            "ok": d is None,
            "first_difference": None if d is None else {"market": d.market, "file": d.file, "row": d.index, "why": d.why},
            "recomputed": self.recomputed,
            "unchecked": self.unchecked,
            "late": self.late,
            "broken_bytes": self.broken_bytes,
            "heads": self.heads,
            "scores": self.scores,
        }


class LedgerMismatch(LedgerError):
    """A record or file that does not hold: its file, its index where known, and why."""

    def __init__(self, file: str, index: int | None, why: str) -> None:
        super().__init__(why)
        self.file, self.index, self.why = file, index, why


def market_folders(root: Path) -> list[Path]:
    """Folders of markets in a ledger's root; the root itself where it is one.

    Raises:
        LedgerError: where there is none.
    """
    folders = [root] if (root / HEADER).exists() else sorted(path.parent for path in root.glob(f"*/{HEADER}"))
    if not folders:
        raise LedgerError(
            compose("{folder} holds no ledger: give the folder whose markets each have a {file}", folder=root, file=HEADER)
        )
    return folders


def verify(
    root: Path,
    predictors: Callable[[str, str], Predictor | None],
    *,
    published: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check every market of a ledger; stops a market at its first record that does not hold.

    Args:
        predictors: from SHA-256 of weights and card to the predictor, None where it is not at hand.
        published: a head hash that somebody wrote down earlier: it must occur in one of the chains.
        progress: called with the predictions recomputed of a market, and how many it has.

    Raises:
        LedgerError: where the folder holds no ledger.
    """
    result = Verification()
    hashes: set[str] = set()
    for folder in market_folders(root):
        try:
            header, records, rows = read_market(folder, result, hashes)
            _recompute(folder, header, records, rows, predictors, result, progress or (lambda done, total: None))
            result.scores[folder.name] = score_records(records, rows, header, predictors)
        except LedgerMismatch as found:
            result.difference = result.difference or Difference(
                market=folder.name, file=found.file, index=found.index, why=found.why
            )
        except LedgerError as error:
            result.difference = result.difference or Difference(market=folder.name, file="", index=None, why=str(error))
    if published is not None and published not in hashes and result.difference is None:
        why = f"the published hash {published[:12]}... is in no chain: predictions after or up to it were removed or altered"
        result.difference = Difference(market="", file="", index=None, why=why)
    return result


def read_market(
    folder: Path, result: Verification, hashes: set[str] | None = None
) -> tuple[LedgerHeader, list[tuple[PredictionRecord, str]], BookRows]:
    """A market's header, its chained predictions with their files, and its rows; counts go to `result`, hashes to `hashes`.

    Raises:
        LedgerError: where something does not hold.
    """
    header = read_header(folder)
    return header, list(_chain(folder, header, result, set() if hashes is None else hashes)), _rows(folder)


def _chain(folder: Path, header: LedgerHeader, result: Verification, hashes: set[str]) -> Iterator[tuple[PredictionRecord, str]]:
    """All records in order, the chain checked; yields each with the name of its file."""
    head, index = header.genesis, 0
    hashes.add(head)
    for path in prediction_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            about, records = read_predictions(path, header.heads)
        except LedgerError as error:
            raise LedgerMismatch(name, index, str(error)) from error
        if about.get("previous") != head:
            raise LedgerMismatch(
                name, index, compose("does not follow the segment before it: one was removed, added or reordered")
            )
        if about.get("count") != len(records):
            raise LedgerMismatch(
                name,
                index,
                compose("holds {found} predictions where {sealed} were sealed", found=len(records), sealed=about.get("count")),
            )
        head, index = yield from _checked(name, records, head, index, result, hashes)
        if about.get("head") != head:
            raise LedgerMismatch(name, index, compose("does not end with the hash that was sealed"))
    lines, broken = read_journal(folder / JOURNAL)
    result.broken_bytes += broken
    entries = [(line.record, line.hash or "") for line in lines if line.record is not None and line.record.index >= index]
    head, index = yield from _checked(JOURNAL, entries, head, index, result, hashes)
    result.heads[folder.name] = head


def _checked(
    file: str, entries: list[tuple[PredictionRecord, str]], head: str, index: int, result: Verification, hashes: set[str]
) -> Any:
    for record, written in entries:
        if record.index != index:
            raise LedgerMismatch(
                file,
                index,
                compose("prediction {index} is missing: {found} stands in its place", index=index, found=record.index),
            )
        try:
            head = record.chained(head)
        except ValueError:
            head = ""
        if head != written:
            raise LedgerMismatch(
                file, index, compose("the prediction is not the one that was chained: a value or a hash was altered")
            )
        if record.late != (record.written_ms > record.timestamp + STEP_MS):
            raise LedgerMismatch(file, index, compose("the prediction's mark of being late does not agree with its times"))
        hashes.add(head)
        result.rows += 1
        result.late += record.late
        index += 1
        yield record, file
    return head, index


def _rows(folder: Path) -> BookRows:
    """All rows of a market, sealed and in the journal, in time order.

    Raises:
        LedgerMismatch: where a file of rows is damaged.
    """
    parts: list[BookRows] = []
    for path in row_files(folder):
        try:
            parts.append(read_rows(path))
        except BookError as error:
            raise LedgerMismatch(path.relative_to(folder).as_posix(), None, str(error)) from error
    lines, _ = read_journal(folder / JOURNAL)
    parts.append(confirmed_rows(lines))
    times, levels = np.concatenate([p.timestamps for p in parts]), np.concatenate([p.levels for p in parts])
    kept = np.unique(times, return_index=True)[1]
    return BookRows(timestamps=times[kept], levels=levels[kept])


def _recompute(
    folder: Path,
    header: LedgerHeader,
    records: list[tuple[PredictionRecord, str]],
    rows: BookRows,
    predictors: Callable[[str, str], Predictor | None],
    result: Verification,
    progress: Callable[[int, int], None],
) -> None:
    ends = np.searchsorted(rows.timestamps, [record.timestamp for record, _ in records])
    for start in range(0, len(records), BATCH):
        part = list(zip(records[start : start + BATCH], ends[start : start + BATCH], strict=True))
        ready: dict[tuple[str, str], list[tuple[PredictionRecord, str, NDArray[np.float64]]]] = {}
        for (record, file), end in part:
            first = int(end) + 1 - header.window
            whole = first >= 0 and end < len(rows) and rows.timestamps[end] == record.timestamp
            expected = record.timestamp + STEP_MS * np.arange(1 - header.window, 1, dtype=np.int64)
            if not whole or not np.array_equal(rows.timestamps[first : end + 1], expected):
                result.unchecked += 1
                continue
            window = rows.levels[first : end + 1]
            if window_hash(expected, window) != record.window:
                raise LedgerMismatch(file, record.index, "the recorded rows are not those the prediction was made on")
            ready.setdefault((record.weights, record.card), []).append((record, file, window))
        for (weights, card), group in ready.items():
            predictor = predictors(weights, card)
            if predictor is None:
                result.unchecked += len(group)
                continue
            _compare(predictor, header, group)
            result.recomputed += len(group)
        progress(start + len(part), len(records))


def _compare(predictor: Predictor, header: LedgerHeader, group: list[tuple[PredictionRecord, str, NDArray[np.float64]]]) -> None:
    market = predictor.market(header.market)
    answer = predictor.predict(np.stack([window for *_, window in group]), market)
    for i, (record, file, _) in enumerate(group):
        gap = float(np.abs(answer.probabilities[i] - record.probabilities).max())
        if gap > TOLERANCE:
            raise LedgerMismatch(file, record.index, f"recomputed from rows and weights, a probability differs by {gap:.2g}")
        for head, rule in enumerate(market.rules):
            # Where two classes lie within the tolerance, another processor may call the other one.
            called = int(record.calls[head])
            p = record.probabilities[head].astype(np.float64)
            if called != int(answer.calls[i, head]) and int(rule.call(np.clip(p + _nudge(called), 0, 1))) != called:
                raise LedgerMismatch(file, record.index, f"the call of head {head} does not follow from its probabilities")


def _nudge(called: int) -> NDArray[np.float64]:
    return np.where(np.arange(3) == called, TOLERANCE, -TOLERANCE)


def resolved_table(
    records: list[tuple[PredictionRecord, str]], rows: BookRows, heads: tuple[Head, ...], market: MarketCard
) -> pd.DataFrame:
    """Every prediction that counts and has come due, one row a head.

    Columns: timestamp, head, p_down, p_stationary, p_up, called, momentum, truth.
    """
    truth = outcomes(rows, heads, market)
    naive = np.stack([momentum_calls(rows, h, alpha) for (_, h), alpha in zip(heads, market.alphas, strict=True)], axis=1)
    counted = [record for record, _ in records if not record.late]
    at = np.searchsorted(rows.timestamps, [record.timestamp for record in counted])
    there = [(r, int(i)) for r, i in zip(counted, at, strict=True) if i < len(rows) and rows.timestamps[i] == r.timestamp]
    parts = []
    for h, (kind, horizon) in enumerate(heads):
        due = [(r, i) for r, i in there if truth[i, h] != UNKNOWN]
        p = np.array([r.probabilities[h] for r, _ in due], dtype=np.float64).reshape(-1, 3)
        index = [i for _, i in due]
        parts.append(
            pd.DataFrame(
                {
                    "timestamp": np.array([r.timestamp for r, _ in due], dtype=np.int64),
                    "head": f"{kind}_{horizon}",
                    "p_down": p[:, 0],
                    "p_stationary": p[:, 1],
                    "p_up": p[:, 2],
                    "called": np.array([r.calls[h] for r, _ in due], dtype=np.int64),
                    "momentum": naive[index, h],
                    "truth": truth[index, h],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def score_records(
    records: list[tuple[PredictionRecord, str]],
    rows: BookRows,
    header: LedgerHeader,
    predictors: Callable[[str, str], Predictor | None],
) -> dict[str, dict[str, Any]]:
    """Scores by head of what has come due; empty where the weights of the newest record are not at hand."""
    predictor = predictors(records[-1][0].weights, records[-1][0].card) if records else None
    if predictor is None:
        return {}
    table = resolved_table(records, rows, header.heads, predictor.market(header.market))
    return {
        str(head): {
            "samples": len(part),
            **scores.summary(scores.confusion_matrix(part["truth"], part["called"])),
            "momentum": scores.summary(scores.confusion_matrix(part["truth"], part["momentum"])),
        }
        for head, part in table.groupby("head", sort=False)
    }


def shipped_predictors(folder: Path = checkpoints.FOLDER) -> Callable[[str, str], Predictor | None]:
    """Looks a checkpoint up by the SHA-256 of its weights and card among those of a folder."""
    cache: dict[tuple[str, str], Predictor | None] = {}

    def find(weights: str, card: str) -> Predictor | None:
        if (weights, card) not in cache:
            cache[weights, card] = None
            for name in checkpoints.names("tlob", folder=folder):
                files = (folder / f"{name}.safetensors", folder / f"{name}.json")
                if tuple(checkpoints.sha256(path) for path in files) == (weights, card):
                    cache[weights, card] = Predictor(checkpoints.load(name, folder=folder))
        return cache[weights, card]

    return find
