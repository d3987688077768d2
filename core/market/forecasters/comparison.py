"""Forecasters and TLOB on one scoreboard: the same rows, call rules fitted alike (D25), and paired differences of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.intervals import FEWEST
from core.market.answers.predictions import RowPredictions, outcomes
from core.market.answers.table import NO_CALL, Answered, Scores, Table, ahead, differences, in_short
from core.market.answers.value import Estimate
from core.market.book import STEP_MS, BookRows
from core.market.calibration import CallRule, fit_rule
from core.market.forecasters.catalogue import AnyForecaster, StationaryForecaster
from core.market.forecasters.protocol import Checked, Fault, ForecastTask, ask, begin_anew, missing, task_of, tell
from core.market.labels import UNKNOWN, Head, LabelKind
from core.market.predictor import MarketCard, Predictor, windows_of
from core.market.windows import window_ends

BATCH = 256
FAILURES = 3
"""Batches in a row that may fail before a forecaster is not asked any more."""
FIT_FROM = 1_000
"""Rows of a recording below which none are set apart to fit call rules: rules of fewer are noise."""


@dataclass(frozen=True, kw_only=True)
class ForecasterScore:
    """One forecaster on one head.

    Attributes:
        scores: of its calibrated probabilities. tlob: TLOB's on the same rows.
        missing: by fault, its rows of the same outcomes that it did not answer. reason: a sentence about a fault.
        rule: how its calls were made; None where the likeliest class was called, for want of rows to fit.
        less_tlob: differences from TLOB's `matthews` and `log_loss`; none for TLOB itself, and where too few rows are shared.
        ahead: the confidence sequences of its losses less TLOB's (`core.market.answers.table.in_short`); none for TLOB itself.
    """

    name: str
    scores: Scores
    tlob: Scores
    missing: dict[str, int]
    reason: str
    rule: CallRule | None
    less_tlob: dict[str, Estimate]
    ahead: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals; None for a score of no rows, as JSON has no NaN."""
        rows = self.scores.samples
        return {
            "rows": rows,
            "missing": self.missing,
            **({"reason": str(self.reason)} if self.reason else {}),
            "call": self.rule.kind if self.rule is not None else "likeliest",
            **{name: round(value, 4) if rows else None for name, value in self.scores.summary().items()},
            "less_tlob": {
                name: {bound: round(value, 4) for bound, value in asdict(one).items()} for name, one in self.less_tlob.items()
            },
            "ahead": self.ahead,
        }


def score_of(table: Table, name: str, *, missing: dict[str, int], reason: str, rule: CallRule | None) -> ForecasterScore:
    """Score a forecaster of the table, and its "tlob"; see `ForecasterScore`."""
    scored = replace(table, answers={one: table.answers[one] for one in ("tlob", name)}).score()
    return ForecasterScore(
        name=name,
        scores=scored[name],
        tlob=scored["tlob"],
        missing=missing,
        reason=reason,
        rule=rule,
        less_tlob=differences(table, name, "tlob") if name != "tlob" else {},
        ahead=in_short(ahead(table, name, "tlob")) if name != "tlob" else {},
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Raw answers of several forecasters, TLOB the first, at the same rows of a recording.

    Attributes:
        timestamps: (n,) ms. truth: (n, heads), UNKNOWN where the outcome is not known. fit: (n,) rows that call rules are
            fitted on; the others are scored. plain: names whose likeliest class before calibration is called.
    """

    heads: tuple[Head, ...]
    timestamps: NDArray[np.int64]
    truth: NDArray[np.int64]
    fit: NDArray[np.bool_]
    answers: Mapping[str, Checked]
    plain: frozenset[str] = field(default=frozenset())

    def scores(self, head: int) -> list[ForecasterScore]:
        """Every forecaster's scores on one head, TLOB first."""
        truth = self.truth[:, head]
        rules: dict[str, CallRule | None] = {}
        calibrated: dict[str, Answered] = {}
        for name, answer in self.answers.items():
            p, rows = answer.probabilities[:, head], (truth != UNKNOWN) & self.fit & (answer.faults[:, head] == Fault.NONE)
            plain, kind = name in self.plain, self.heads[head][0]
            rules[name] = fit_peer_rule(p[rows], truth[rows], kind, plain=plain) if rows.sum() >= FEWEST else None
            calibrated[name] = _calibrated(rules[name] or CallRule(), p)
        scored = (truth != UNKNOWN) & ~self.fit
        table = Table(
            head=self.heads[head], rows=pd.DataFrame({"timestamp": self.timestamps, "truth": truth}), answers=calibrated
        )[scored]
        return [
            score_of(table, name, missing=count_missing(answer.faults[scored, head]), reason=answer.reason, rule=rules[name])
            for name, answer in self.answers.items()
        ]


def fit_peer_rule(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64], kind: LabelKind, *, plain: bool = False
) -> CallRule:
    """The call rule of probabilities (n, 3) as they were answered, fitted and chosen as TLOB's (D25).

    Args:
        truth: (n,) in time order. plain: call the likeliest class of the answers before calibration.
    """
    logits = np.log(np.maximum(probabilities, 1e-12))
    rule = fit_rule(logits, truth, maximise="macro_f1" if kind == "smoothed" else "matthews")
    return CallRule(temperature=rule.temperature, bias=rule.bias, lean=-rule.bias) if plain else rule


def count_missing(faults: NDArray[np.int8]) -> dict[str, int]:
    """Counts the missing answers by the fault's name in lower case; heads that a forecaster does not offer do not count."""
    counts = {fault.name.lower(): int((faults == fault).sum()) for fault in Fault if fault > Fault.NOT_OFFERED}
    return {name: count for name, count in counts.items() if count}


def run_over(
    forecaster: AnyForecaster,
    name: str,
    rows: BookRows,
    ends: NDArray[np.int64],
    task: ForecastTask,
    *,
    truth: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """A forecaster's answers at the rows `ends` of a recording, (len(ends), heads, 3).

    One that fails `FAILURES` batches in a row is asked no more: the rest is missing as NEVER. One that learns is told before each
    batch what was known by the batch's first row.

    Args:
        truth: (len(ends), heads) what came, for a forecaster that learns.
        progress: called with (windows done, windows in all).
    """
    heads, failures = len(task.heads), 0
    done: list[Checked] = []
    begin_anew(forecaster)
    times, told = rows.timestamps[ends], [0] * heads
    for start in range(0, len(ends), BATCH):
        part = ends[start : start + BATCH]
        if truth is not None:
            for head, (_, horizon) in enumerate(task.heads):
                known = int(np.searchsorted(times, times[start] - horizon * STEP_MS, side="right"))
                tell(forecaster, head, times[told[head] : known], truth[told[head] : known, head])
                told[head] = known
        if failures >= FAILURES:
            done.append(missing(len(ends) - start, heads, Fault.NEVER))
            break
        done.append(ask(forecaster, name, times[start : start + BATCH], windows_of(rows.levels, part, task.window), task))
        failures = failures + 1 if (done[-1].faults >= Fault.FAILED).all() else 0
        if progress is not None:
            progress(min(start + BATCH, len(ends)), len(ends))
    if not done:
        return missing(0, heads, Fault.NONE)
    return Checked(
        probabilities=np.concatenate([part.probabilities for part in done]),
        faults=np.concatenate([part.faults for part in done]),
        reason=next((part.reason for part in done if part.reason), ""),
    )


def split_ends(
    timestamps: NDArray[np.int64], window: int, longest: int, first: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows at which forecasters are asked, and which of them call rules are fitted on.

    Where rows before `first` were kept for validation, every second one of the tenth of the file before it; else the first fifth
    of the file; none where that is fewer than `FIT_FROM`. A window and a horizon lie between the two parts (D10).

    Args:
        longest: horizon, steps. first: row from which a file is scored, 0 for the whole.
    """
    ends = window_ends(timestamps, window)
    gap = window + longest
    if first:
        stop = first - gap  # where the validation part ends
        validation = ends[(ends >= stop - len(timestamps) // 10 + gap) & (ends < stop - longest)][::2]
        scored = ends[ends >= first]
    else:
        cut = len(timestamps) // 5
        validation, scored = ends[ends < cut - longest], ends[ends >= cut + gap]
    if len(validation) < FIT_FROM:
        validation, scored = validation[:0], ends[ends >= first]
    fit = np.zeros(len(validation) + len(scored), dtype=bool)
    fit[: len(validation)] = True
    return np.concatenate([validation, scored]), fit


def compare(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    peers: Mapping[str, AnyForecaster],
    *,
    spelling: str,
    first: int = 0,
    known: RowPredictions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """TLOB and its peers over a recording.

    Args:
        peers: forecaster by name. spelling: the file's name. first: row from which it is scored, 0 for the whole.
        known: TLOB's answers that are there already.
        progress: called with (windows done, windows in all) of one forecaster after the other.
    """
    task = task_of(predictor, market, spelling)
    ends, fit = split_ends(rows.timestamps, predictor.window, max(horizon for _, horizon in predictor.heads), first)
    truth = outcomes(rows, predictor.heads, market)[ends]
    answers = {"tlob": _tlob_answers(predictor, rows, market, ends, task, known, progress)}
    for name, forecaster in peers.items():
        answers[name] = run_over(forecaster, name, rows, ends, task, truth=truth, progress=progress)
    return Comparison(
        heads=predictor.heads,
        timestamps=rows.timestamps[ends],
        truth=truth,
        fit=fit,
        answers=answers,
        plain=frozenset(name for name, forecaster in peers.items() if isinstance(forecaster, StationaryForecaster)),
    )


def _tlob_answers(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    ends: NDArray[np.int64],
    task: ForecastTask,
    known: RowPredictions | None,
    progress: Callable[[int, int], None] | None,
) -> Checked:
    tlob = SimpleNamespace(predict=lambda windows: predictor.predict(windows, market).probabilities)
    if known is None:
        return run_over(tlob, "TLOB", rows, ends, task, progress=progress)
    there = np.isin(ends, known.rows)
    p = np.empty((len(ends), len(task.heads), 3))
    p[there] = known.probabilities[np.searchsorted(known.rows, ends[there])]
    p[~there] = run_over(tlob, "TLOB", rows, ends[~there], task, progress=progress).probabilities
    return Checked(probabilities=p, faults=np.zeros(p.shape[:2], dtype=np.int8))


def _calibrated(rule: CallRule, raw: NDArray[np.float64]) -> Answered:
    """Calibrated probabilities and calls of raw ones; rows that are NaN stay so."""
    there = np.isfinite(raw).all(axis=-1)
    p, called = np.full(raw.shape, np.nan), np.full(len(raw), NO_CALL)
    p[there] = rule.probabilities(np.log(np.maximum(raw[there], 1e-12)))
    called[there] = rule.call(p[there])
    return Answered(calls=called, probabilities=p)


def names_of(spellings: Sequence[str]) -> dict[str, str]:
    """A short name of each forecaster by its spelling: a file's or an address's last part, unique."""
    names: dict[str, str] = {}
    for spelling in spellings:
        name = spelling if "://" in spelling else spelling.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        names[spelling] = spelling if name in names.values() or name == "tlob" else name
    return names
