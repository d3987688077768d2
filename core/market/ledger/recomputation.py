"""The predictions of a ledger made again, from the rows of its chain and by weights that are known here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.market.book import FILE_COLUMNS, STEP_MS, BookRows, FloatArray
from core.market.ledger.chain import GAP, HASH_BYTES, PREDICTION, Entries, LedgerHeader, entry_type
from core.market.predictor import MarketCard, Predictor, identity, windows_of
from core.messages import compose

TOLERANCE: Final = 1e-4
"""Largest difference of a recomputed probability that counts as the same: float32 on another processor."""
BATCH: Final = 64
TRAINED: Final = Path("trained")
"""Folder to which commands write checkpoints."""

RECOMPUTED, UNKNOWN_MODEL, ROWS_MISSING, NOT_ASKED = range(4)
"""Results of recomputing a prediction that is there."""

_CHANGED: Final = compose("its weights or its card are not those of the prediction before it, and no gap lies between")
_UNNAMED: Final = compose("its weights or its card are not those that the ledger's header names")

Predictors = Callable[[str, str], Predictor | None]
"""From the two hashes of `core.market.predictor.identity` to the predictor, None where it is not at hand."""
Fault = tuple[int, str]
"""Index of the entry that does not hold, and the reason."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A market's predictions and the rows of its chain, for scoring.

    Attributes:
        rows: those of the chain, lost ones included; their levels are (rows, 5), the best one and how often the whole book has
            changed until then. stretch: (rows,) number of the stretch of each, between gaps. lost: (rows,) whether it was never
            confirmed (D27).
        at: (n,) the row of each prediction. late: (n,) whether it was written after the first step of its horizon (D28), by its
            times. code, model: (n,) RECOMPUTED or why not; which of `models` made it.
        probabilities: (n, heads, 3). calls: (n, heads). weights: SHA-256, hexadecimal, of the weights of each of `models`.
    """

    rows: BookRows
    stretch: NDArray[np.int64]
    lost: NDArray[np.bool_]
    at: NDArray[np.int64]
    late: NDArray[np.bool_]
    code: NDArray[np.int64]
    model: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]
    models: tuple[Predictor | None, ...]
    weights: tuple[str, ...]

    def count(self, code: int) -> int:
        """Number of predictions that have this code."""
        return int((self.code == code).sum())


class Recomputation:
    """Takes a chain's entries in their order and predicts again.

    Args:
        since_ms: rows before then are read, and not predicted at.
        known: what was recomputed whole before, to which more is added: of each segment the hashes before it and at its end.

    Attributes:
        unwritten: rows that end a whole window and have no prediction.
    """

    def __init__(self, header: LedgerHeader, predictors: Predictors, *, since_ms: int, known: set[bytes]) -> None:
        self._header, self._predictors, self._since_ms, self._known = header, predictors, since_ms, known
        self._numbers: dict[bytes, int] = {}  # by the two hashes
        self._models: list[Predictor | None] = []
        self._running = -1  # which of them made the newest prediction; -1 after a gap, where the header names none
        if header.model is not None:
            self._numbers[bytes.fromhex("".join(header.model))], self._running = 0, 0
            self._models.append(predictors(*header.model))
        self._before = header.genesis  # the newest hash
        heads = len(header.heads)
        self._tail = np.zeros(0, entry_type(heads))  # the entries before, one fewer than a window
        self._tail_holes = np.zeros(0, bool)
        self._stretch = self._count = self._changes = self.unwritten = 0
        self._any_hole = False
        self._confirmed: list[int] = [0]  # of each stretch, which ends with a gap, or where entries are missing
        self._rows: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.int64), np.zeros((0, 5)), np.zeros(0, np.int64))]
        self._newest = np.zeros((1, len(FILE_COLUMNS)))  # the newest row
        nothing = np.zeros(0, self._tail.dtype)
        self._records: list[tuple[NDArray[Any], ...]] = [_record(nothing, *(np.zeros(0, np.int64) for _ in range(3)))]

    def take(self, entries: Entries, holes: NDArray[np.bool_], advance: Callable[[int], object]) -> Fault | None:
        """Take the next entries; returns the first that does not hold.

        Args:
            holes: before which of them entries are missing. advance: called with how many entries more are done.
        """
        before, window = len(self._tail), self._header.window
        every, missing = np.concatenate([self._tail, entries]), np.concatenate([self._tail_holes, holes])
        row, place = every["kind"] != GAP, np.arange(len(every))
        begins = np.ones(len(every), bool)
        begins[1:] = ~(row[1:] & row[:-1] & ~missing[1:] & (np.diff(every["timestamp"]) == STEP_MS))
        first = np.maximum.accumulate(np.where(begins, place, 0))  # of the rows that lead up to each without a gap
        whole = row & (place - first + 1 >= window)
        told = every["kind"] == PREDICTION
        records = np.flatnonzero(told & (place >= before))
        model = self._model_numbers(every[records])
        code = np.where(every["timestamp"][records] < self._since_ms, NOT_ASKED, RECOMPUTED)
        code[~whole[records]] = ROWS_MISSING
        code[[self._models[number] is None for number in model]] = UNKNOWN_MODEL
        ends = ((entries["kind"] == GAP) | holes) & (self._header.model is None)
        changed, self._running = self._changed(model, records - before, np.cumsum(ends))
        faults: list[tuple[NDArray[np.bool_], str]] = [
            (~whole[records] & ~missing[first[records]], compose("its window reaches over a gap, or before the first row")),
            (changed, _CHANGED if self._header.model is None else _UNNAMED),
        ]
        fault = min(((int(records[bad][0]), why) for bad, why in faults if bad.any()), key=itemgetter(0), default=None)
        todo = (code == RECOMPUTED) & (records < (fault[0] if fault else len(every)))
        self._any_hole = self._any_hole or bool(holes.any())
        # The newest hash vouches for all before it, as long as nothing is missing; that before tells which part this is.
        digest, self._before = self._before + entries["hash"][-1:].tobytes(), entries["hash"][-1:].tobytes() or self._before
        settled = bool(len(records)) and bool(todo.all()) and not self._any_hole
        done = before

        def reach(at: int) -> None:
            nonlocal done
            advance(at - done)
            done = at

        if not (settled and digest in self._known):
            fault = self._predict(every, records[todo], model[todo], reach) or fault
        kept = slice(None) if fault is None else slice(int(np.searchsorted(records, fault[0])))
        number = self._count + np.cumsum(row) - 1 - int(row[:before].sum())  # among the rows of the whole chain
        self._records.append(_record(every[records[kept]], number[records[kept]], code[kept], model[kept]))
        self._keep_rows(entries, holes)
        self._tail = every[len(every) - min(window - 1, len(every)) :]
        self._tail_holes = missing[len(every) - len(self._tail) :]
        if fault is not None:
            return fault[0] - before, fault[1]
        reach(len(every))
        self._known.update({digest} if settled else ())
        self.unwritten += int((whole & ~told)[before:].sum())
        return None

    def _changed(self, model: NDArray[np.int64], at: NDArray[np.int64], runs: NDArray[np.int64]) -> tuple[NDArray[np.bool_], int]:
        """Finds predictions with another model than the one before in the same run; returns also the model of the run at the end.

        A session has one model, and so has a chain whose header names it. Without this somebody could choose for each row, from
        several, the one that proved right.

        Args:
            at: their places among the entries. runs: how many gaps there are up to each entry.
        """
        of = np.concatenate([[0], runs[at]])
        models = np.concatenate([[self._running], model])
        changed = (of[1:] == of[:-1]) & (models[1:] != models[:-1]) & (models[:-1] >= 0)
        return changed, int(models[-1]) if not len(runs) or of[-1] == runs[-1] else -1

    def _keep_rows(self, entries: Entries, holes: NDArray[np.bool_]) -> None:
        gap = entries["kind"] == GAP
        stretch = self._stretch + np.cumsum(gap) - gap + np.cumsum(holes)
        if not len(entries):
            return
        confirmed = np.zeros(int(stretch[-1]) + 1, np.int64)
        confirmed[: len(self._confirmed)] = self._confirmed
        np.maximum.at(confirmed, stretch, entries["confirmed_ms"])
        self._confirmed = confirmed.tolist()
        levels = np.concatenate([self._newest, entries["levels"][~gap]])
        changes = self._changes + np.cumsum((levels[1:] != levels[:-1]).any(axis=1))
        self._newest, self._changes = levels[-1:], int(changes[-1]) if len(changes) else self._changes
        self._rows.append((entries["timestamp"][~gap], np.column_stack([levels[1:, :4], changes]), stretch[~gap]))
        self._stretch, self._count = int(stretch[-1] + gap[-1]), self._count + int((~gap).sum())

    def _model_numbers(self, records: Entries) -> NDArray[np.int64]:
        """Index in `_models` of the model that made each record."""
        numbers = []
        for weights, card in zip(records["weights"], records["card"], strict=True):
            key = weights.tobytes() + card.tobytes()
            if key not in self._numbers:
                self._numbers[key] = len(self._models)
                self._models.append(self._predictors(key[:HASH_BYTES].hex(), key[HASH_BYTES:].hex()))
            numbers.append(self._numbers[key])
        return np.array(numbers, np.int64)

    def _predict(
        self, entries: Entries, at: NDArray[np.int64], model: NDArray[np.int64], reach: Callable[[int], object]
    ) -> Fault | None:
        """The first of the entries `at` that is not what its model makes of its window."""
        for start in range(0, len(at), BATCH):
            part, faults = slice(start, start + BATCH), list[Fault]()
            for number in np.unique(model[part]).tolist():
                predictor, mine = self._models[number], at[part][model[part] == number]
                assert predictor is not None
                fault = self._compare(predictor, entries[mine], windows_of(entries["levels"], mine, self._header.window))
                if fault is not None:
                    faults.append((int(mine[fault[0]]), fault[1]))
            if faults:
                return min(faults, key=itemgetter(0))
            reach(int(at[part][-1]))
        return None

    def _compare(self, predictor: Predictor, told: Entries, windows: FloatArray) -> Fault | None:
        if (predictor.heads, predictor.window) != (self._header.heads, self._header.window):
            return 0, compose("its weights have other heads, or another window, than this ledger")
        market = predictor.market(self._header.market)
        answer = predictor.predict(windows, market, batch=BATCH)
        gaps = np.abs(answer.probabilities - told["probabilities"]).max(axis=(1, 2))
        for i in np.flatnonzero(~(gaps <= TOLERANCE) | (told["calls"] != answer.calls).any(axis=1)).tolist():
            if not gaps[i] <= TOLERANCE:  # NaN among them
                return i, compose("made again from rows and weights, a probability differs by {gap:.2g}", gap=float(gaps[i]))
            head = _wrong_call(told[i], market)
            if head is not None:
                name = "{}_{}".format(*predictor.heads[head])
                return i, compose("the call of {head} does not follow from its probabilities", head=name)
        return None

    def told(self) -> Told:
        """All rows and predictions taken, up to the first that does not hold."""
        times, best, stretch = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
        at, late, code, model, probabilities, calls = (np.concatenate(parts) for parts in zip(*self._records, strict=True))
        return Told(
            rows=BookRows(timestamps=times, levels=best),
            stretch=stretch,
            lost=times > np.array(self._confirmed)[stretch],
            at=at,
            late=late,
            code=code,
            model=model,
            probabilities=probabilities,
            calls=calls,
            models=tuple(self._models),
            weights=tuple(key[:HASH_BYTES].hex() for key in self._numbers),
        )


def _record(
    entries: Entries, at: NDArray[np.int64], code: NDArray[np.int64], model: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    late = entries["written_ms"] > entries["timestamp"] + STEP_MS
    return at, late, code, model, entries["probabilities"].copy(), entries["calls"].copy()


def _wrong_call(record: Any, market: MarketCard) -> int | None:
    """The first head whose call does not follow from the probabilities written; None where all do.

    Where two classes lie within the tolerance, another processor may call the other one.
    """
    for head, rule in enumerate(market.rules):
        called = int(record["calls"][head])
        nudge = np.where(np.arange(3) == called, TOLERANCE, -TOLERANCE)
        if int(rule.call(np.clip(record["probabilities"][head].astype(np.float64) + nudge, 0, 1))) != called:
            return head
    return None


def known_predictors(*folders: Path) -> Predictors:
    """Looks a checkpoint up by its identity's two hashes: in these folders, else among the shipped ones and in `trained/`."""
    cache: dict[tuple[str, str], Predictor | None] = {}
    there: dict[tuple[str, str], list[tuple[str, Path]]] = {}

    def find(weights: str, card: str) -> Predictor | None:
        if not cache:  # once: a ledger may name as many weights as it has predictions
            for folder in folders or (checkpoints.FOLDER, TRAINED):
                for name in checkpoints.names(folder=folder):
                    with contextlib.suppress(checkpoints.CheckpointError):
                        there.setdefault(identity(checkpoints.read_card(name, folder=folder)), []).append((name, folder))
        if (weights, card) not in cache:
            cache[weights, card] = None
            for name, folder in there.get((weights, card), ()):
                with contextlib.suppress(checkpoints.CheckpointError):  # damaged, or of another model
                    cache[weights, card] = Predictor(checkpoints.load(name, folder=folder))
                    break
        return cache[weights, card]

    return find
