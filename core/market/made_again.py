"""A recording's journal made again: its probabilities from its rows, what was recalibrated by replaying it from its beginning.

That the two agree says that these weights give these calls for these rows. It certifies nothing about whoever keeps the journal,
who may choose rows, gaps and files (D33).
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core import checkpoints
from core.market.answers.ahead import Lead
from core.market.answers.one_answer import RIVALS
from core.market.book import STEP_MS, BookError, BookRows, reading
from core.market.events import Confirmed, Row
from core.market.follower import Follower, Prediction, Step
from core.market.labels import STATIONARY, all_moves
from core.market.leads import earlier_leads, leads_of
from core.market.predictor import MarketCard, Predictions, Predictor, identity, windows_of
from core.market.store.call_columns import PROBABILITIES, CalledBy, code_of, head_of, read_calls, read_leads
from core.market.store.rows import read_market
from core.market.store.segments import CALLS, is_segment, segment_path
from core.market.store.writer import footer_summary
from core.market.windows import window_ends
from core.messages import compose
from core.models.tlob import CLASSES

RAW, RECALIBRATED = 1e-4, 1e-3
"""Largest differences of probabilities: processors differ, and a fit carries what differs on."""
LEAD: Final = 1e-2
"""Largest difference of a lead, nats a call, for the same reason."""
TRAINED: Final = Path("trained")
BATCH: Final = 64

CERTIFIES_NOTHING: Final = compose(
    "This says that these weights give these calls for these rows. It certifies nothing about whoever keeps the journal, who may "
    "choose rows, gaps and files."
)

Predictors = Callable[[str, str], Predictor | None]
"""A predictor by the hashes of its weights and of its card; None where it is not known here."""


@dataclass(frozen=True, kw_only=True)
class MadeAgain:
    """Result of making journals again.

    Attributes:
        predictions: in them, rows times heads. equal: of them, those that came out again. late: written more than a step after
            their row, early: before it. without_outcome: those whose horizon reaches past the end or over a gap.
        uncalled: rows at the end that have a whole window and no call.
        leads: over the naive rules (D44), one a head at the end of each file. leads_equal: of them, those that came out again.
        leads_beyond: those that go on from files that are not there, or are of journals of which files are not.
        without_leads: files of calls without any, of versions before December 2026.
        beyond_replay: predictions of journals of which files were deleted or damaged: their recalibrated probabilities are not
            compared, nor anything of a row whose window is not whole now.
        different: the first that did not come out again, its `timestamp`, `head` and `why`; None where all did.
    """

    predictions: int
    equal: int
    late: int
    early: int
    without_outcome: int
    uncalled: int
    beyond_replay: int
    leads: int
    leads_equal: int
    leads_beyond: int
    without_leads: int
    different: dict[str, Any] | None = None


def known_predictors(*folders: Path) -> Predictors:
    """Looks checkpoints up in these folders, else among the shipped ones and in `trained/`."""

    @cache
    def find(weights: str, card: str) -> Predictor | None:
        for folder in folders or (checkpoints.FOLDER, TRAINED):
            for name in checkpoints.names(folder=folder):
                with contextlib.suppress(checkpoints.CheckpointError):  # damaged, or of another model
                    if identity(checkpoints.read_card(name, folder=folder)) == (weights, card):
                        return Predictor(checkpoints.load(name, folder=folder))
        return None

    return find


def has_journal(files: Iterable[Path]) -> bool:
    """Tells whether calls lie beside one of these files of rows."""
    return any(is_segment(path) and segment_path(path, CALLS).exists() for path in files)


def make_again(
    name: str, files: Iterable[Path], predictors: Predictors, *, progress: Callable[[int, int], None] | None = None
) -> MadeAgain:
    """Make the journals of recordings again.

    Args:
        name: of what is asked for. files: of rows; each stands for its whole day, as a journal is read from its beginning.
        progress: called with (steps done, steps in all), two a row.

    Raises:
        BookError: where no calls lie beside the rows, or a file cannot be read.
    """
    days = sorted({_day_of(path.resolve()) for path in files if is_segment(path)})
    journals = list(_journals(path for day in days for path in sorted(day.rglob("rows_*.parquet"))))
    if not journals:
        raise BookError(
            "{name} has no journal of predictions: it is older than journals, imported, or shorter than a window", name=name
        )
    whole, done = 2 * sum(len(one.rows) for one in journals), 0

    def advance(steps: int) -> None:
        if progress is not None:
            progress(done + steps, whole)

    for one in journals:
        one.make_again(predictors, advance)
        done += 2 * len(one.rows)
        advance(0)
    counts = Counter[str]()
    for one in journals:
        counts.update(one.counts())
    return MadeAgain(**counts, different=next((found for one in journals if (found := one.different) is not None), None))


def _day_of(path: Path) -> Path:
    """The folder of a file's day; its own folder where it lies elsewhere."""
    return path.parents[1] if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.parents[1].name) else path.parent


def _journals(files: Iterable[Path]) -> Iterator[_Journal]:
    """Yields each journal with the rows from its beginning on, as far as they are there."""
    runs: dict[object, list[Path]] = {}
    parts: dict[object, list[int]] = {}
    for path in files:
        with reading(path):
            summary = footer_summary(pq.read_metadata(path))
        run = summary.run if summary is not None and summary.run else path
        runs.setdefault(run, []).append(path)
        parts.setdefault(run, []).append(summary.part if summary is not None else 0)
    for key, paths in runs.items():
        whole = sorted(parts[key]) == list(range(len(paths)))
        if called := [path for path in paths if segment_path(path, CALLS).exists()]:
            tables = [read_calls(segment_path(path, CALLS)) for path in called]
            lines = pa.concat_tables(tables).to_pandas().sort_values("timestamp")
            yield _Journal(read_market(paths), lines, called, is_whole=whole)


class _Journal:
    """A journal: the rows from its beginning on, and its calls, a line for a row and a head.

    Attributes:
        uncalled: rows past its last call that a whole window ends at.
        why: (lines,) the number of a reason in `REASONS`; 0 where a line came out again, as far as it can be replayed, and
            `NOT_COMPARED` where nothing of it can.
        is_whole: whether no file of it was deleted or damaged.
        leads: how many leads at the end of its files are `equal`, `beyond` replay, or `different`; how many files have `none`.
    """

    REASONS: Final[tuple[str, ...]] = (
        "",
        compose("its weights, its card's entry or its head are not known here"),
        compose("its row is not in the recording with a whole window before it"),
        compose("it is there twice, or others of its row or before it are missing"),
        compose("made again from the rows, its probabilities differ"),
        compose("its call does not follow from its probabilities"),
        compose("made again from the journal's beginning, its recalibrated probabilities differ"),
    )
    OTHER_LEAD: Final = compose("made again from the journal's beginning, the lead over the naive rules differs")
    NOT_COMPARED: Final = -1
    UNKNOWN, NO_WINDOW, MISSING, OTHER_RAW, OTHER_CALL, OTHER_PAST = range(1, 7)

    def __init__(self, rows: BookRows, lines: pd.DataFrame, files: Sequence[Path], *, is_whole: bool) -> None:
        self.rows, self._lines, self._files, self.is_whole = rows, lines, files, is_whole
        self._changes: list[tuple[int, int, Lead]] = []  # time of the row, head and lead from there on
        self.leads = Counter[str]()
        self._other_lead: dict[str, Any] | None = None
        self._time: NDArray[np.int64] = lines["timestamp"].to_numpy()  # of each line
        self._raw, self._recalibrated = (lines[list(names)].to_numpy() for names in (PROBABILITIES[:3], PROBABILITIES[3:]))
        self.why = np.zeros(len(lines), np.int64)
        self.uncalled = 0

    def make_again(self, predictors: Predictors, advance: Callable[[int], None]) -> None:
        """Compare every line."""
        weights, card, entry_name = (str(self._lines[name].iloc[0]) for name in ("weights", "card", "entry"))
        predictor = predictors(weights, card)
        entry = None if predictor is None else predictor.markets.get(entry_name)
        if predictor is None or entry is None:
            self.why[:] = self.UNKNOWN
        else:
            self._compare(predictor, entry, advance)

    @property
    def different(self) -> dict[str, Any] | None:
        """The first line, else the first lead, that did not come out again; None where all did."""
        if not (self.why > 0).any():
            return self._other_lead
        line = int(np.flatnonzero(self.why > 0)[0])
        head = str(self._lines["head"].iloc[line])
        return {"timestamp": int(self._time[line]), "head": head, "why": self.REASONS[self.why[line]]}

    def counts(self) -> dict[str, int]:
        """Numbers of `MadeAgain`."""
        written = self._lines["written"].to_numpy()
        return {
            "predictions": len(self.why),
            "equal": int((self.why == 0).sum()),
            "late": int((written > self._time + STEP_MS).sum()),
            "early": int((written < self._time).sum()),
            "without_outcome": self._without_outcome(),
            "uncalled": self.uncalled,
            "beyond_replay": 0 if self.is_whole else len(self.why),
            "leads": self.leads.total() - self.leads["none"],
            "leads_equal": self.leads["equal"],
            "leads_beyond": self.leads["beyond"],
            "without_leads": self.leads["none"],
        }

    def _without_outcome(self) -> int:
        """Lines of which nobody knows what came."""
        row, there = self._row_of(self._time)
        codes = self._lines["head"].to_numpy()
        for code in np.unique(codes):
            mine, head = codes == code, head_of(str(code))
            there[mine] &= False if head is None else np.isfinite(all_moves(self.rows, head)[row[mine]])
        return int((~there).sum())

    def _row_of(self, times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Number of the row at each time, and whether there is one."""
        row = np.minimum(np.searchsorted(self.rows.timestamps, times), len(self.rows) - 1)
        return row, self.rows.timestamps[row] == times

    def _note(self, reason: int, wrong: NDArray[np.bool_]) -> None:
        self.why[wrong & (self.why == 0)] = reason

    def _compare(self, predictor: Predictor, entry: MarketCard, advance: Callable[[int], None]) -> None:
        codes = [code_of(head) for head in predictor.heads]
        head = pd.Index(codes).get_indexer(self._lines["head"].astype(str))
        called = pd.Index(CLASSES).get_indexer(self._lines["call"].astype(str))
        same = [(self._lines[name] == self._lines[name].iloc[0]).to_numpy() for name in ("weights", "card", "entry")]
        self._note(self.UNKNOWN, (head < 0) | ~np.logical_and.reduce(same))
        times, first, at = np.unique(self._time, return_index=True, return_inverse=True)
        line = np.full((len(times), len(codes)), -1)
        line[at[head >= 0], head[head >= 0]] = np.flatnonzero(head >= 0)
        whole = (line >= 0).all(axis=1)
        steps = np.diff(times, prepend=times[0] - STEP_MS) // STEP_MS
        if not self.is_whole:  # rows that are not there have no calls either
            steps = np.minimum(steps, np.diff(row := self._row_of(times)[0], prepend=row[0] - 1))
        cut = ~whole | ((steps > 1) & (steps < predictor.window))  # after a gap a window has to fill first
        self._note(self.MISSING, cut[at] | (line[at, head] != np.arange(len(at))))
        again, calls = self._predicted(predictor, entry, times, advance)
        self.uncalled = int((self.rows.timestamps[window_ends(self.rows.timestamps, predictor.window)] > times[-1]).sum())
        short = ~np.isfinite(again[at, head, 0])
        if not self.is_whole:
            self._note(self.NOT_COMPARED, short & self._row_of(self._time)[1])
        self._note(self.NO_WINDOW, short)
        self._note(self.OTHER_RAW, ~_near(again[at, head], self._raw, RAW) | (again[at, head].argmax(1) != self._raw.argmax(1)))
        # near a threshold another processor may call another class
        ruled = np.stack([rule.call(self._raw[line[:, place]]) for place, rule in enumerate(entry.rules)], axis=1)
        self._note(self.OTHER_CALL, (called != calls[at, head]) & (called != ruled[at, head]))
        known = self._lines["known"].to_numpy()
        journalled = Predictions(probabilities=self._raw[line], calls=called[line].astype(np.int8))
        self._note(self.OTHER_PAST, (known != known[first][at]) | (known > self._time))
        follower = Follower(predictor, entry)
        if self.is_whole:
            again = self._replayed(follower, journalled, times, np.where(whole, known[first], -1), advance)
            self._note(self.OTHER_PAST, ~_near(again[at, head], self._recalibrated, RECALIBRATED))
        self._compare_leads(follower.by)

    def _compare_leads(self, by: CalledBy) -> None:
        """Compare the leads at the end of each file with those that came out, and what they go on from with the library."""
        market, begins = self._files[0].parents[2], int(self.rows.timestamps[0])
        for path in self._files:
            with reading(path):
                summary, stored = footer_summary(pq.read_metadata(path)), read_leads(segment_path(path, CALLS))
            if stored is None or not self.is_whole:
                self.leads.update(["none"] if stored is None else ["beyond"] * len(by.heads))
                continue
            end = int(self.rows.timestamps[-1]) if summary is None else summary.end_ms
            expected = [Lead.none(len(RIVALS)) for _ in by.heads]
            for time, head, lead in self._changes:
                if time <= end:
                    expected[head] = lead
            try:
                before, own = leads_of(stored)
                went_on = _went_on(before, earlier_leads(market, by, begins))
                states = [went_on if _same(a, b) else "different" for a, b in zip(own, expected, strict=True)]
            except (KeyError, TypeError, ValueError):
                states = ["different"] * len(by.heads)
            self.leads.update(states)
            if "different" in states and self._other_lead is None:
                head_code = code_of(by.heads[states.index("different")])
                self._other_lead = {"timestamp": end, "head": head_code, "why": self.OTHER_LEAD}

    def _predicted(
        self, predictor: Predictor, entry: MarketCard, times: NDArray[np.int64], advance: Callable[[int], None]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """(times, heads, 3) probabilities by the rows, NaN where there is no whole window; (times, heads) calls."""
        again = np.full((len(times), len(predictor.heads), 3), np.nan, dtype=np.float32)
        calls = np.full((len(times), len(predictor.heads)), -1)
        row, there = self._row_of(times)
        whole = np.flatnonzero(there & np.isin(row, window_ends(self.rows.timestamps, predictor.window)))
        for part in np.split(whole, range(BATCH, len(whole), BATCH)):
            answer = predictor.predict(windows_of(self.rows.levels, row[part], predictor.window), entry, batch=BATCH)
            again[part], calls[part] = answer.probabilities, answer.calls
            advance(int(row[part[-1]]))
        return again, calls

    def _replayed(
        self,
        follower: Follower,
        journalled: Predictions,
        times: NDArray[np.int64],
        known: NDArray[np.int64],
        advance: Callable[[int], None],
    ) -> NDArray[np.float32]:
        """(times, heads, 3) probabilities of the journal, recalibrated by what was known at each; NaN where that is -1."""
        again = np.full(journalled.probabilities.shape, np.nan, dtype=np.float32)
        vwap = self._lines.groupby("timestamp")["vwap"].first().fillna(STATIONARY).reindex(times).to_numpy()
        place = {time: which for which, time in enumerate(times.tolist()) if known[which] >= 0}
        for done, (time, levels) in enumerate(zip(self.rows.timestamps.tolist(), self.rows.levels, strict=True)):
            which = place.get(time)
            until = 0 if which is None else int(known[which])
            prediction = None if which is None else Prediction(journalled, which, int(vwap[which]))
            steps = follower.take([Confirmed(until), Row(time, levels, provisional=until < time)], [None, prediction])
            if which is not None and (row := steps[1].followed) is not None and row.answers is not None:
                again[which] = row.answers.probabilities
            self._keep(steps)
            if done % BATCH == 0:
                advance(len(self.rows) + done)
        self._keep(follower.take([Confirmed(int(self.rows.timestamps[-1]))], [None]))
        return again

    def _keep(self, steps: Sequence[Step]) -> None:
        """Note which leads changed."""
        self._changes += ((one.row.timestamp, *lead) for step in steps for one in step.known for lead in one.leads)


def _same(one: Lead, other: Lead) -> bool:
    """Tells whether two leads are of the same outcomes, and near to each other a call."""
    alike, most = (one.outcomes, one.since_ms) == (other.outcomes, other.since_ms), LEAD * max(1, one.outcomes)
    return alike and bool(np.abs([one.totals - other.totals, one.squares - other.squares]).max() <= most)


def _went_on(before: Sequence[Lead], earlier: Iterable[Sequence[Lead]]) -> str:
    """The state of leads by what they go on from: right where it is the end of an hour before, the newest or an older one.

    Another recorder of the market may have ended an hour between the moment they were read and the first row.
    """
    outcomes = sum(one.outcomes for one in before)
    if not outcomes:
        return "equal"
    most = 0
    for leads in earlier:
        if all(map(_same, before, leads)):
            return "equal"
        most = max(most, sum(one.outcomes for one in leads))
    return "beyond" if outcomes > most else "different"


def _near(a: NDArray[np.floating], b: NDArray[np.floating], most: float) -> NDArray[np.bool_]:
    """(n,) whether (n, 3) probabilities lie that near to each other; not where one is NaN."""
    near: NDArray[np.bool_] = np.abs(a - b).max(axis=1) <= most
    return near
