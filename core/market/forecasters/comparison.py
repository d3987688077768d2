"""Forecasters and TLOB on one scoreboard: the same rows, call rules fitted alike (D25), and paired differences of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import scores
from core.market.answers.predictions import outcomes
from core.market.book import STEP_MS, BookRows
from core.market.bootstrap import block_length, resampled_sums
from core.market.calibration import CallRule, fit_rule
from core.market.forecasters.catalogue import AnyForecaster
from core.market.forecasters.naive import StationaryForecaster
from core.market.forecasters.protocol import Checked, Fault, ForecastTask, ask, begin_anew, missing, task_of, tell
from core.market.labels import UNKNOWN, Head, LabelKind
from core.market.predictor import MarketCard, Predictor, windows_of
from core.market.windows import window_ends

BATCH = 256
FAILURES = 3
"""Batches in a row that may fail before a forecaster is not asked any more."""
FEWEST = 200
"""Rows with a known outcome below which neither a rule nor an interval is computed."""
FIT_FROM = 1_000
"""Rows of a recording below which none are set apart to fit call rules: rules of fewer are noise."""
COVERAGE = 95
"""Per cent of the resampled differences that an interval holds."""


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """A forecaster's score less TLOB's on the rows that both answered: value, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ForecasterScore:
    """One forecaster on one head.

    Attributes:
        rows: scored; those of the same outcomes that it did not answer are `missing`, by fault. reason: a sentence about the
            first fault. rule: how its calls were made; None where the likeliest class was called, for want of rows to fit.
        confusion: (3, 3) counts. log_loss, ece: of its calibrated probabilities.
        matthews_difference, log_loss_difference: from TLOB; None for TLOB itself, and where too few rows are shared.
    """

    name: str
    rows: int
    missing: dict[str, int]
    reason: str
    rule: CallRule | None
    confusion: NDArray[np.int64]
    log_loss: float
    ece: float
    matthews_difference: PairedDifference | None = None
    log_loss_difference: PairedDifference | None = None

    def summary(self) -> dict[str, Any]:
        """Plain numbers, rounded to four decimals; None for a score of no rows, as JSON has no NaN."""
        differences = {"matthews": self.matthews_difference, "log_loss": self.log_loss_difference}
        measured = {**scores.summary(self.confusion), "log_loss": self.log_loss, "ece": self.ece}
        return {
            "rows": self.rows,
            "missing": self.missing,
            **({"reason": str(self.reason)} if self.reason else {}),
            "call": self.rule.kind if self.rule is not None else "likeliest",
            **{name: round(value, 4) if self.rows else None for name, value in measured.items()},
            "less_tlob": {
                name: {"value": round(d.value, 4), "low": round(d.low, 4), "high": round(d.high, 4)}
                for name, d in differences.items()
                if d is not None
            },
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Raw answers of several forecasters, TLOB the first, at the same rows of a recording.

    Attributes:
        truth: (n, heads), UNKNOWN where the outcome is not known. fit: (n,) rows that call rules are fitted on; the others are
            scored. plain: names whose likeliest class before calibration is called.
    """

    heads: tuple[Head, ...]
    truth: NDArray[np.int64]
    fit: NDArray[np.bool_]
    answers: Mapping[str, Checked]
    plain: frozenset[str] = field(default=frozenset())

    def scores(self, head: int) -> list[ForecasterScore]:
        """Every forecaster's scores on one head, TLOB first."""
        known = self.truth[:, head] != UNKNOWN
        scored: dict[str, tuple[CallRule | None, NDArray[np.float64], NDArray[np.int64]]] = {}
        for name, answer in self.answers.items():
            there = answer.faults[:, head] == Fault.NONE
            rule = self._rule(name, answer, head, there & known & self.fit)
            scored[name] = (rule, *_calls(rule, answer.probabilities[:, head]))
        first = next(iter(self.answers))
        return [
            self._score(name, head, known & ~self.fit, scored[name], None if name == first else scored[first], first)
            for name in self.answers
        ]

    def _rule(self, name: str, answer: Checked, head: int, rows: NDArray[np.bool_]) -> CallRule | None:
        if rows.sum() < FEWEST:
            return None
        kind, _ = self.heads[head]
        return fit_peer_rule(answer.probabilities[rows, head], self.truth[rows, head], kind, plain=name in self.plain)

    def _score(
        self,
        name: str,
        head: int,
        rows: NDArray[np.bool_],
        mine: tuple[CallRule | None, NDArray[np.float64], NDArray[np.int64]],
        tlob: tuple[CallRule | None, NDArray[np.float64], NDArray[np.int64]] | None,
        first: str,
    ) -> ForecasterScore:
        rule, p, called = mine
        faults = self.answers[name].faults[:, head]
        there = rows & (faults == Fault.NONE)
        truth = self.truth[there, head]
        differences: dict[str, PairedDifference | None] = {}
        if tlob is not None:
            both = there & (self.answers[first].faults[:, head] == Fault.NONE)
            differences = paired_differences(
                self.truth[both, head], (called[both], p[both]), (tlob[2][both], tlob[1][both]), self.heads[head][1]
            )
        return ForecasterScore(
            name=name,
            rows=int(there.sum()),
            missing=count_missing(faults[rows]),
            reason=self.answers[name].reason,
            rule=rule,
            confusion=scores.confusion_matrix(truth, called[there]),
            log_loss=scores.log_loss(p[there], truth),
            ece=scores.calibration_error(p[there], truth) if there.any() else float("nan"),
            **differences,
        )


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


def paired_differences(
    truth: NDArray[np.int64],
    mine: tuple[NDArray[np.int64], NDArray[np.float64]],
    tlob: tuple[NDArray[np.int64], NDArray[np.float64]],
    horizon: int,
) -> dict[str, PairedDifference | None]:
    """Differences of Matthews correlation and log-loss on the same rows, with block-bootstrap intervals.

    Args:
        truth: (n,) in time order. mine, tlob: calls (n,) and probabilities (n, 3). horizon: steps; sets the length of a block.

    Returns:
        `matthews_difference` and `log_loss_difference`, None where there are fewer than `FEWEST` rows.
    """
    if len(truth) < FEWEST:
        return {"matthews_difference": None, "log_loss_difference": None}
    rows = np.arange(len(truth))
    cells = [np.eye(9)[3 * truth + called] for called, _ in (mine, tlob)]
    losses = [-np.log(np.maximum(p[rows, truth], 1e-12))[:, None] for _, p in (mine, tlob)]
    columns = np.concatenate([*cells, *losses], axis=1)  # 9 + 9 + 1 + 1

    def differences(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        mcc = [scores.matthews(sums[:, start : start + 9].reshape(-1, 3, 3)) for start in (0, 9)]
        return np.stack([mcc[0] - mcc[1], (sums[:, 18] - sums[:, 19]) / len(truth)])

    values = differences(columns.sum(axis=0)[None])[:, 0]
    tail = (100 - COVERAGE) / 2
    resampled = differences(resampled_sums(columns, block_length(len(truth), horizon)))
    bounds = np.percentile(resampled, [tail, 100 - tail], axis=1)
    return {
        name: PairedDifference(value=float(values[i]), low=float(bounds[0, i]), high=float(bounds[1, i]))
        for i, name in enumerate(("matthews_difference", "log_loss_difference"))
    }


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


class _PredictorForecaster:
    """TLOB's calibrated probabilities, by the entry of its card for the market."""

    def __init__(self, predictor: Predictor, market: MarketCard) -> None:
        self.predictor, self.market = predictor, market

    def predict(self, windows: NDArray[np.float64]) -> NDArray[np.float32]:
        return self.predictor.predict(windows, self.market).probabilities


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
    known: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """TLOB and its peers over a recording.

    Args:
        peers: forecaster by name. spelling: the file's name. first: row from which it is scored, 0 for the whole.
        known: rows and TLOB's probabilities (n, heads, 3) that are there already.
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
    known: tuple[NDArray[np.int64], NDArray[np.float32]] | None,
    progress: Callable[[int, int], None] | None,
) -> Checked:
    tlob = _PredictorForecaster(predictor, market)
    if known is None:
        return run_over(tlob, "TLOB", rows, ends, task, progress=progress)
    there = np.isin(ends, known[0])
    p = np.empty((len(ends), len(task.heads), 3))
    p[there] = known[1][np.searchsorted(known[0], ends[there])]
    p[~there] = run_over(tlob, "TLOB", rows, ends[~there], task, progress=progress).probabilities
    return Checked(probabilities=p, faults=np.zeros(p.shape[:2], dtype=np.int8))


def _calls(rule: CallRule | None, raw: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Calibrated probabilities and calls of raw ones; rows that are NaN stay so, and their calls mean nothing."""
    there = np.isfinite(raw).all(axis=-1)
    rule = CallRule() if rule is None else rule
    p = np.full(raw.shape, np.nan)
    p[there] = rule.probabilities(np.log(np.maximum(raw[there], 1e-12)))
    called = np.full(len(raw), UNKNOWN)
    called[there] = rule.call(p[there])
    return p, called


def names_of(spellings: Sequence[str]) -> dict[str, str]:
    """A short name of each forecaster by its spelling: a file's or an address's last part, unique."""
    names: dict[str, str] = {}
    for spelling in spellings:
        name = spelling if "://" in spelling else spelling.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        names[spelling] = spelling if name in names.values() or name == "tlob" else name
    return names
