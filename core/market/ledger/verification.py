"""Checking a ledger: the chain, the times, every prediction from the chain's own rows and known weights (D33).

What `verified`, `incomplete` and `broken` mean, and what none of them can say, is in docs/ledger.md.
"""

from __future__ import annotations

import contextlib
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.market.book import FILE_COLUMNS, STEP_MS, BookRows, FloatArray, first_fault
from core.market.ledger import chain
from core.market.ledger.anchors import Anchor, read_anchors
from core.market.predictor import MarketCard, Predictor, identity, windows_of
from core.market.store.segments import HOUR_MS
from core.messages import Message, compose

TOLERANCE: Final = 1e-4
"""Largest difference of a recomputed probability that counts as the same: float32 on another processor."""
BATCH: Final = 64
TRAINED: Final = Path("trained")
"""Folder to which commands write checkpoints."""

RECOMPUTED, UNKNOWN_MODEL, ROWS_MISSING, NOT_ASKED = range(4)
"""Results of recomputing a prediction that is there."""

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
            times. code: (n,) RECOMPUTED or why not.
        probabilities: (n, heads, 3). calls: (n, heads). predictor: the checkpoint that the header names, None where unknown.
    """

    rows: BookRows
    stretch: NDArray[np.int64]
    lost: NDArray[np.bool_]
    at: NDArray[np.int64]
    late: NDArray[np.bool_]
    code: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]
    predictor: Predictor | None

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

    def __init__(self, header: chain.LedgerHeader, predictors: Predictors, *, since_ms: int, known: set[bytes]) -> None:
        self._header, self._predictor, self._since_ms, self._known = header, predictors(*header.model), since_ms, known
        self._named = [np.frombuffer(bytes.fromhex(digest), np.uint8) for digest in header.model]
        self._before = header.genesis  # the newest hash
        heads = len(header.heads)
        self._tail = np.zeros(0, chain.entry_type(heads))  # the entries before, one fewer than a window
        self._tail_holes = np.zeros(0, bool)
        self._stretch = self._count = self._changes = self.unwritten = 0
        self._any_hole = False
        self._confirmed: list[int] = [0]  # of each stretch, which ends with a gap, or where entries are missing
        self._rows: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.int64), np.zeros((0, 5)), np.zeros(0, np.int64))]
        self._newest = np.zeros((1, len(FILE_COLUMNS)))  # the newest row
        nothing = np.zeros(0, self._tail.dtype)
        self._records: list[tuple[NDArray[Any], ...]] = [_record(nothing, *(np.zeros(0, np.int64) for _ in range(2)))]

    def take(self, entries: chain.Entries, holes: NDArray[np.bool_], advance: Callable[[int], object]) -> Fault | None:
        """Take the next entries; returns the first that does not hold.

        Args:
            holes: before which of them entries are missing. advance: called with how many entries more are done.
        """
        before, window = len(self._tail), self._header.window
        every, missing = np.concatenate([self._tail, entries]), np.concatenate([self._tail_holes, holes])
        row, place = every["kind"] != chain.GAP, np.arange(len(every))
        begins = np.ones(len(every), bool)
        begins[1:] = ~(row[1:] & row[:-1] & ~missing[1:] & (np.diff(every["timestamp"]) == STEP_MS))
        first = np.maximum.accumulate(np.where(begins, place, 0))  # of the rows that lead up to each without a gap
        whole = row & (place - first + 1 >= window)
        told = every["kind"] == chain.PREDICTION
        records = np.flatnonzero(told & (place >= before))
        code = np.where(every["timestamp"][records] < self._since_ms, NOT_ASKED, RECOMPUTED)
        code[~whole[records]] = ROWS_MISSING
        if self._predictor is None:
            code[:] = UNKNOWN_MODEL
        weights, card = self._named
        others = (every["weights"][records] != weights).any(axis=1) | (every["card"][records] != card).any(axis=1)
        faults: list[tuple[NDArray[np.bool_], str]] = [
            (~whole[records] & ~missing[first[records]], compose("its window reaches over a gap, or before the first row")),
            # Else somebody could choose for each row, from several models, the one that proved right.
            (others, compose("its weights or its card are not those that the ledger's header names")),
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
            fault = self._predict(every, records[todo], reach) or fault
        kept = slice(None) if fault is None else slice(int(np.searchsorted(records, fault[0])))
        number = self._count + np.cumsum(row) - 1 - int(row[:before].sum())  # among the rows of the whole chain
        self._records.append(_record(every[records[kept]], number[records[kept]], code[kept]))
        self._keep_rows(entries, holes)
        self._tail = every[len(every) - min(window - 1, len(every)) :]
        self._tail_holes = missing[len(every) - len(self._tail) :]
        if fault is not None:
            return fault[0] - before, fault[1]
        reach(len(every))
        self._known.update({digest} if settled else ())
        self.unwritten += int((whole & ~told)[before:].sum())
        return None

    def _keep_rows(self, entries: chain.Entries, holes: NDArray[np.bool_]) -> None:
        gap = entries["kind"] == chain.GAP
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

    def _predict(self, entries: chain.Entries, at: NDArray[np.int64], reach: Callable[[int], object]) -> Fault | None:
        """The first of the entries `at` that is not what the model makes of its window."""
        for start in range(0, len(at), BATCH):
            part = at[start : start + BATCH]
            fault = self._compare(entries[part], windows_of(entries["levels"], part, self._header.window))
            if fault is not None:
                return int(part[fault[0]]), fault[1]
            reach(int(part[-1]))
        return None

    def _compare(self, told: chain.Entries, windows: FloatArray) -> Fault | None:
        predictor = self._predictor
        assert predictor is not None  # else nothing is to be recomputed
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
        at, late, code, probabilities, calls = (np.concatenate(parts) for parts in zip(*self._records, strict=True))
        return Told(
            rows=BookRows(timestamps=times, levels=best),
            stretch=stretch,
            lost=times > np.array(self._confirmed)[stretch],
            at=at,
            late=late,
            code=code,
            probabilities=probabilities,
            calls=calls,
            predictor=self._predictor,
        )


def _record(entries: chain.Entries, at: NDArray[np.int64], code: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    late = entries["written_ms"] > entries["timestamp"] + STEP_MS
    return at, late, code, entries["probabilities"].copy(), entries["calls"].copy()


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

    @cache  # a ledger may name as many weights as it has predictions
    def there() -> dict[tuple[str, str], list[tuple[str, Path]]]:
        known: dict[tuple[str, str], list[tuple[str, Path]]] = {}
        for folder in folders or (checkpoints.FOLDER, TRAINED):
            for name in checkpoints.names(folder=folder):
                with contextlib.suppress(checkpoints.CheckpointError):
                    known.setdefault(identity(checkpoints.read_card(name, folder=folder)), []).append((name, folder))
        return known

    @cache
    def find(weights: str, card: str) -> Predictor | None:
        for name, folder in there().get((weights, card), ()):
            with contextlib.suppress(checkpoints.CheckpointError):  # damaged, or of another model
                return Predictor(checkpoints.load(name, folder=folder))
        return None

    return find


FUTURE_MS: Final = 300_000
"""Largest lead of the writer's clock over this machine's, milliseconds."""

State = Literal["verified", "incomplete", "broken"]
STATES: Final[tuple[State, ...]] = ("verified", "incomplete", "broken")
LEFT_OUT: Final = {UNKNOWN_MODEL: "model_unknown", ROWS_MISSING: "rows_missing", NOT_ASKED: "not_asked"}
"""Reasons that a prediction that is there was not recomputed."""
MISSING: Final = "missing"
"""Predictions that the chain once had, or that its rows ask for, and that are not there."""
NOT_PROVEN: Final = compose(
    "No file can prove that the machine's clock was right, that the rows are those of the market named, that the weights were "
    "not trained on these very rows, or that nobody kept two ledgers and showed the better one: that takes heads noted elsewhere "
    "at the time."
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first record that does not hold: how many predictions hold before it (`row`), its entry, its file, and why."""

    market: str
    file: str
    row: int
    entry: int
    why: str


@dataclass(kw_only=True)
class MarketLedger:
    """Result of checking one market's ledger.

    Attributes:
        header: None where it cannot be read. rows: predictions that are there. recomputed: of them, equal to what rows and
            weights give. late: of them, written after the first step of their horizon. left_out: how many others by reason.
        gaps: how often its rows break off. coverage: share of the steps from its first row to its newest at which it predicts.
        models: what predicted, one at most: its weights and checkpoint (None where unknown), `predictions`, and the time of the
            first, `first_ms`.
        head: the newest entry. reasons: what is missing for `verified`. difference: the first record that does not hold.
        told: the predictions; None where one does not hold. anchors: of each answer that is kept (`core.market.ledger.anchors`),
            with the `entry` of its head, None where it is not in the chain.
    """

    name: str
    header: chain.LedgerHeader | None = None
    rows: int = 0
    recomputed: int = 0
    late: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    gaps: int = 0
    coverage: float = 0.0
    models: list[dict[str, Any]] = field(default_factory=list)
    head: chain.ChainHead | None = None
    reasons: list[Message] = field(default_factory=list)
    difference: Difference | None = None
    told: Told | None = None
    anchors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def state(self) -> State:
        """One of `STATES`."""
        return "broken" if self.difference else "incomplete" if self.reasons else "verified"


@dataclass(kw_only=True)
class Verification:
    """Result of checking a ledger: its markets, and the heads given that are in none of their chains."""

    markets: list[MarketLedger] = field(default_factory=list)
    unknown_heads: list[str] = field(default_factory=list)

    @property
    def state(self) -> State:
        """The worst state of a market; never `verified` where a head given is in no chain."""
        states: list[State] = [market.state for market in self.markets]
        return max(states + (["incomplete"] if self.unknown_heads else []), key=STATES.index)

    @property
    def difference(self) -> Difference | None:
        """The first of any market."""
        return next((market.difference for market in self.markets if market.difference), None)

    def reasons(self) -> list[tuple[str, Message]]:
        """Market and reason of all that is missing for `verified`."""
        heads = [
            ("", compose("the head {head}... is in no chain here: what it vouched for was removed or rewritten", head=head[:12]))
            for head in self.unknown_heads
        ]
        return heads + [(market.name, reason) for market in self.markets for reason in market.reasons]

    def total(self, name: Literal["rows", "recomputed", "late"]) -> int:
        """A count over all markets."""
        return sum(getattr(market, name) for market in self.markets)

    def to_dict(self) -> dict[str, Any]:
        """As JSON; docs/ledger.md names the keys."""
        return {
            "state": self.state,
            "ok": self.state == "verified",
            "rows": self.total("rows"),
            "recomputed": self.total("recomputed"),
            "late": self.total("late"),
            "left_out": dict(sum((market.left_out for market in self.markets), Counter())),
            "first_difference": None if self.difference is None else asdict(self.difference),
            "reasons": [f"{market}: {why}" if market else str(why) for market, why in self.reasons()],
            "not_proven": NOT_PROVEN,
            "heads": {market.name: market.head.hash for market in self.markets if market.head},
            "markets": {
                market.name: {
                    **{name: getattr(market, name) for name in ("state", "rows", "recomputed", "late")},
                    "left_out": dict(market.left_out),
                    "market": market.header and market.header.market,
                    **{name: getattr(market, name) for name in ("gaps", "coverage", "models")},
                    "head": market.head and asdict(market.head),
                    "anchors": market.anchors,
                }
                for market in self.markets
            },
        }


def market_folders(root: Path) -> list[Path]:
    """Folders of markets in a ledger's root, those whose header is gone among them; the root itself where it is one.

    Raises:
        LedgerError: where there is none.
    """
    inside = sorted({path.parent for name in (chain.HEADER, chain.JOURNAL) for path in root.glob(f"*/{name}")})
    folders = [root] if (root / chain.HEADER).exists() else inside
    if not folders:
        raise chain.LedgerError(
            "{folder} holds no ledger: give the folder whose markets each have a {file}", folder=root, file=chain.HEADER
        )
    return folders


def verify(
    root: Path,
    predictors: Predictors,
    *,
    heads: Collection[str] = (),
    hours: int | None = None,
    recomputed: set[bytes] | None = None,
    certificates: Sequence[Path] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check every market of a ledger, in the order of its chain; stops a market at its first record that does not hold.

    Args:
        heads: hashes, hexadecimal, that somebody noted earlier.
        hours: recompute the predictions of the newest so many hours (UTC) of each market alone; None for all.
        recomputed: hashes up to which an earlier call of this process recomputed a segment whole, which is not done twice; this
            call adds its own. A hash vouches for every row and prediction before it.
        certificates: roots of the time-stamp servers (PEM) whose stamps count as heads given.
        progress: called with the entries done of all markets, and how many there are.

    Raises:
        LedgerError: where the folder holds no ledger, or a head is none.
        OSError: where a file may not be read.
    """
    for head in heads:
        if not re.fullmatch(r"[0-9a-fA-F]{64}", head):
            raise chain.LedgerError("{head!r} is no head: it has 64 hexadecimal digits", head=head[:80])
    given = {bytes.fromhex(head) for head in heads}
    folders = market_folders(root)
    kept = [read_anchors(folder, certificates=certificates) for folder in folders]
    checks = [_MarketCheck(*one, predictors, given, hours, recomputed) for one in zip(folders, kept, strict=True)]
    if folders != [root]:  # one market's folder may have been put anywhere
        for check in checks:
            check.look_at_name()
    total, done = sum(check.size for check in checks), 0

    def advance(entries: int) -> None:
        nonlocal done
        done += entries
        if progress is not None:
            progress(done, total)

    result, begun = Verification(), dict[bytes, str]()
    for check in checks:
        result.markets.append(check.run(advance, begun))
    result.unknown_heads = sorted(head.hex() for head in given.difference(*(check.noted for check in checks)))
    return result


class _MarketCheck:
    """One market's ledger, checked from its first entry to its last.

    Attributes:
        size: entries, by the files' footers.
    """

    def __init__(
        self,
        folder: Path,
        anchors: list[Anchor],
        predictors: Predictors,
        given: Collection[bytes],
        hours: int | None,
        recomputed: set[bytes] | None,
    ) -> None:
        self._folder, self._market = folder, MarketLedger(name=folder.absolute().name)
        self._anchors = [one for one in anchors if one.holds]
        self._given = {*given, *(bytes.fromhex(one.head) for one in self._anchors if one.checked)}
        self.size = 0
        try:
            header = self._market.header = chain.read_header(folder)
            # The journal first: what is sealed meanwhile is then in both, and what is in both is taken once.
            self._journal = chain.read_journal(folder, len(header.heads))
            self._files, self._damaged = chain.segment_files(folder)
        except chain.OtherFormat as error:
            self._market.reasons.append(error.args[0])
            return
        except chain.LedgerError as error:
            self._break(0, "", error.args[0])
            return
        newest = max([0, *self._journal.entries["timestamp"][-1:].tolist(), *(file.newest_ms for file in self._files)])
        since = 0 if hours is None else (newest // HOUR_MS + 1 - hours) * HOUR_MS
        self._links = _Links(header, {*given, *(bytes.fromhex(one.head) for one in self._anchors)})
        self._again = Recomputation(header, predictors, since_ms=since, known=set() if recomputed is None else recomputed)
        self.size = sum(file.rows for file in self._files) + len(self._journal.entries)

    def _break(self, entry: int, file: str, why: str) -> Difference:
        self._market.difference = Difference(market=self._market.name, file=file, row=self._market.rows, entry=entry, why=why)
        return self._market.difference

    @property
    def noted(self) -> dict[bytes, int]:
        """The heads given, stamped ones among them, that are in the chain, and the entry of each."""
        links = getattr(self, "_links", None)
        return {} if links is None else {head: entry for head, entry in links.noted.items() if head in self._given}

    def look_at_name(self) -> None:
        """See that the folder is the one that a writer would give its market."""
        header = self._market.header
        if header is not None and not chain.is_named_after(self._market.name, header.market):
            self._break(0, "", compose("its chain is that of the market {market}: the folder was renamed", market=header.market))

    def run(self, advance: Callable[[int], object], begun: dict[bytes, str]) -> MarketLedger:
        """Check everything.

        Args:
            advance: called with how many entries more are done.
            begun: hashes of the first predictions of the chains checked before, and whose they are, to which this one's is added.
        """
        market = self._market
        if market.difference or market.reasons:
            return market
        try:
            for piece in self._pieces():
                if self._difference(piece, advance):
                    break
            else:
                if self._damaged:
                    self._break(self._links.index, *self._damaged[0])
        except chain.LedgerError as error:  # a file that cannot be read
            self._break(self._links.index, "", error.args[0])
        if self._links.first and (of := begun.setdefault(self._links.first, market.name)) != market.name:
            self._break(0, "", compose("its chain is that of {other}: the folder was copied", other=of))
        told = self._again.told()
        self._describe(told)
        entries = {head.hex(): entry for head, entry in self._links.noted.items()}
        market.anchors = [{**asdict(one), "remark": str(one.remark), "entry": entries.get(one.head)} for one in self._anchors]
        market.head, market.recomputed, market.late = self._links.head, told.count(RECOMPUTED), int(told.late.sum())
        market.left_out = +Counter({name: told.count(code) for code, name in LEFT_OUT.items()})
        market.left_out += Counter({MISSING: self._links.missing + self._again.unwritten})
        if market.difference is None:
            market.told = told
            market.reasons += self._reasons()
        return market

    def _describe(self, told: Told) -> None:
        """Stores the share of the time that the ledger covers, its gaps, and what predicted."""
        times, market = told.rows.timestamps, self._market
        if len(times):
            market.gaps = int(((np.diff(times) != STEP_MS) | (np.diff(told.stretch) > 0)).sum())
            market.coverage = len(told.at) / ((int(times[-1]) - int(times[0])) // STEP_MS + 1)
        if len(told.at) and market.header is not None:
            name, first = told.predictor and told.predictor.card["name"], int(times[told.at[0]])
            weights = market.header.model[0]
            market.models = [{"weights": weights, "checkpoint": name, "predictions": len(told.at), "first_ms": first}]

    def _pieces(self) -> Iterator[chain.Piece]:
        assert self._market.header is not None
        yield from chain.pieces(self._folder, self._files, self._market.header.heads)
        fresh = self._journal.entries[self._journal.entries["index"] >= self._links.index]
        if len(fresh):
            yield chain.Piece(entries=fresh, files=(chain.JOURNAL,), of=np.zeros(len(fresh), np.int64))

    def _difference(self, piece: chain.Piece, advance: Callable[[int], object]) -> Difference | None:
        """Take the next entries; returns the first that does not hold."""
        if self._damaged and int(piece.entries["index"][0]) > self._links.index:
            return self._break(self._links.index, *self._damaged[0])
        holds, why, holes = self._links.take(piece.entries)
        fault = self._again.take(piece.entries[:holds], holes[:holds], advance)
        at, why = fault or (holds, why)
        self._market.rows += int((piece.entries["kind"][:at] == chain.PREDICTION).sum())
        return None if why is None else self._break(int(piece.entries["index"][at]), piece.files[piece.of[at]], why)

    def _reasons(self) -> Iterator[Message]:
        out, links = self._market.left_out, self._links
        journal = self._journal
        if not self._market.rows:
            yield compose("it holds no prediction")
        if links.lost:
            yield compose("entries missing: {count:,}; predictions among them: {rows:,}", count=links.lost, rows=links.missing)
        if self._again.unwritten:
            yield compose("rows that end a whole window and have no prediction: {count:,}", count=self._again.unwritten)
        if count := out[LEFT_OUT[UNKNOWN_MODEL]]:
            yield compose("predictions by weights, or by a card, that are not known here: {count:,}", count=count)
        if count := out[LEFT_OUT[ROWS_MISSING]]:
            yield compose("predictions whose rows are missing: {count:,}", count=count)
        if count := out[LEFT_OUT[NOT_ASKED]]:
            yield compose("predictions of hours that were not asked for: {count:,}", count=count)
        if journal.broken:
            yield compose("bytes at the end of the journal that cannot be read: {count:,}", count=journal.broken)
        if not journal.follows:
            yield compose("its journal is missing")
        elif not len(journal.entries) and journal.follows != links.hash:
            yield compose("its newest segments are missing: the journal follows an entry that is not here")
        for one in _lost_anchors(self._market.anchors):
            yield compose("the head {head}... that {by} stamped is not in the chain: what it vouched for is gone", **one)
        if not self.noted:
            yield compose("no head of its chain was given: nothing outside this folder vouches for its end")
        elif (index := max(self.noted.values())) + 1 < links.index:
            yield compose(
                "the newest head given is that of entry {index:,}; entries after it, which nothing vouches for: {count:,}",
                index=index,
                count=links.index - 1 - index,
            )


def _lost_anchors(anchors: Sequence[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yields head and server of each checked time stamp whose head is in no chain."""
    for one in anchors:
        if one["checked"] and one["entry"] is None:
            yield {"head": one["head"][:12], "by": one["by"]}


class _Links:
    """The chain's hashes, numbers and times, entry by entry.

    Attributes:
        index, predictions: of the entry to come. hash: of the newest. head: the newest entry; None before the first.
        first: hash of the first prediction that is there, empty before it.
        lost, missing: entries that are not there, and the predictions among them. noted: heads given, and the entry of each.
    """

    def __init__(self, header: chain.LedgerHeader, given: Collection[bytes]) -> None:
        self._given, self._now_ms = given, time.time_ns() // 1_000_000
        self.index = self.predictions = self.lost = self.missing = 0
        self.hash, self.first = header.genesis, b""
        self.head: chain.ChainHead | None = None
        self.noted: dict[bytes, int] = {}
        self._last_ms, self._written_ms, self._after_gap = -STEP_MS, 0, False

    def take(self, entries: chain.Entries) -> tuple[int, str | None, NDArray[np.bool_]]:
        """Returns the number of next entries that hold, the fault of the one after them, and before which some are missing."""
        holds, why = self._sensible(entries)
        holes = np.zeros(len(entries), bool)
        for i, line in enumerate(_lines(entries[:holds])):
            holes[i] = line[1] > self.index
            fault = self._follow(*line)
            if fault is not None:
                holds, why = i, fault
                break
        if holds:
            self.head = chain.head_of(entries[:holds])
            self._last_ms, self._after_gap = int(entries["timestamp"][holds - 1]), bool(entries["kind"][holds - 1] == chain.GAP)
            self._written_ms = max(self._written_ms, int(entries["written_ms"][:holds].max()))
        return holds, why, holes

    def _follow(self, kind: int, index: int, predictions: int, digest: bytes, before: bytes, data: bytes) -> str | None:
        """Returns the reason that an entry does not continue the chain; None where it does, and is then the newest."""
        told = int(kind == chain.PREDICTION)
        if index < self.index:
            return compose("it is there twice, or was moved: entry {index} is due", index=self.index)
        if index > self.index:
            between = predictions - told - self.predictions
            if before == chain.NOTHING or not 0 <= between <= index - self.index:
                return compose("entries before it are missing, and it does not say which one it follows")
            self.lost, self.missing, self.hash = self.lost + index - self.index, self.missing + between, before
        elif before not in (chain.NOTHING, self.hash):
            return compose("it does not follow the entry before it: one was removed, added or altered")
        elif predictions != self.predictions + told:
            return compose("its number of predictions is not that of the entries before it")
        if chain.chained(self.hash, data) != digest:
            return compose("it is not the entry that was chained: a value or a hash was altered")
        self.hash, self.index, self.predictions = digest, index + 1, predictions
        self.first = self.first or (digest if told else b"")
        if digest in self._given:
            self.noted[digest] = index
        return None

    def _sensible(self, entries: chain.Entries) -> tuple[int, str | None]:
        """Returns the number of entries that may be what they say, and the fault of the one after them."""
        kind, times, written = (entries[name] for name in ("kind", "timestamp", "written_ms"))
        row, gap = kind != chain.GAP, kind == chain.GAP
        before = np.concatenate([[self._last_ms], times[:-1]])
        after_gap = np.concatenate([[self._after_gap], gap[:-1]])
        missing = np.diff(entries["index"], prepend=self.index - 1) != 1
        step = np.where(row & ~after_gap, STEP_MS, 0)
        newest = np.maximum.accumulate(np.concatenate([[self._written_ms], written]))[:-1]
        no_book = np.zeros(len(entries), bool)
        if (fault := first_fault(entries["levels"][row])) is not None:
            no_book[np.flatnonzero(row)[fault.values["row"]]] = True
        faults = [
            ((kind < chain.GAP) | (kind > chain.PREDICTION), compose("it is no gap, row or prediction")),
            (row & (times % STEP_MS != 0), compose("its time is not on the grid of 250 ms")),
            (times < before + step, compose("its time is not after that of the row before it")),
            (gap & (after_gap | (times != before)) & ~missing, compose("it is a gap that does not follow its row")),
            (row & (written < times), compose("it was written before the time of its row")),
            (written < newest - chain.CLOCK_MS, compose("it was written before the entry before it")),
            (written > self._now_ms + FUTURE_MS, compose("it was written later than now, by this machine's clock")),
            (entries["confirmed_ms"] > written + chain.CLOCK_MS, compose("it confirms rows of a time after it was written")),
            (no_book, compose("its row is no order book")),
        ]
        at = [(int(np.argmax(bad)), why) for bad, why in faults if bad.any()]
        return min(at, key=itemgetter(0)) if at else (len(entries), None)


def _lines(entries: chain.Entries) -> Iterator[tuple[int, int, int, bytes, bytes, bytes]]:
    """Of each entry kind, index, number of predictions, hash, the hash before where given, and the bytes that are hashed."""
    sizes, width, data = chain.hashed_sizes(entries.dtype), entries.dtype.itemsize, entries.tobytes()
    hashes, before = (entries[name].tobytes() for name in ("hash", "previous"))
    numbers = zip(*(entries[name].tolist() for name in ("kind", "index", "predictions")), strict=True)
    for i, (kind, index, predictions) in enumerate(numbers):
        at = slice(chain.HASH_BYTES * i, chain.HASH_BYTES * (i + 1))
        yield kind, index, predictions, hashes[at], before[at], data[width * i : width * i + sizes[kind]]


MAX_FILES: Final = 20_000
MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all files: a week of one market."""


def unpack(file: IO[bytes], folder: Path) -> Path:
    """Unpack a ledger into an empty folder; returns the folder whose markets each have a header, or the one market's.

    Raises:
        LedgerError: for what is no ZIP file, holds no ledger or too much, or names files outside of itself.
    """
    try:
        with zipfile.ZipFile(file) as packed:
            inside = [one for one in packed.infolist() if not one.is_dir()]
            if len(inside) > MAX_FILES or sum(one.file_size for one in inside) > MAX_UNPACKED:
                raise chain.LedgerError(
                    "it holds more than {count:,} files or {most} MiB: send one market, or fewer days",
                    count=MAX_FILES,
                    most=MAX_UNPACKED >> 20,
                )
            for one in inside:
                _check_name(one)
            packed.extractall(folder, inside)  # which reads no more of each than the size that it gives
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if isinstance(error, chain.LedgerError):
            raise
        raise chain.LedgerError(compose("it is no ZIP file that can be unpacked")) from error
    headers = sorted(folder.rglob(chain.HEADER), key=lambda path: len(path.parts))
    if not headers:
        raise chain.LedgerError("it holds no ledger: a market's folder has a file {file}", file=chain.HEADER)
    return headers[0].parent if len(headers) == 1 else headers[0].parent.parent


def _check_name(one: zipfile.ZipInfo) -> None:
    """Refuses a file that would lie elsewhere, or is larger than any of a ledger."""
    parts = PurePosixPath(one.filename).parts
    if not parts or one.filename.startswith("/") or any(part in ("..", ".") or set(part) & set(":\\\0") for part in parts):
        raise chain.LedgerError("it names a file outside of itself: {name}", name=repr(one.filename[:80]))
    if one.file_size > chain.MAX_JOURNAL:
        raise chain.LedgerError("{name} is too large for a file of a ledger", name=parts[-1][:80])
