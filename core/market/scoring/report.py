"""The scores of recordings: their mean, by time and regime, two forecasters paired, and where the first was most wrong.

A score over several recordings is the mean of theirs, with its interval (D31). Rows of all together are scored too, beside
`frequencies`: where classes come more often in one recording than in another, a rule that sees no book scores well on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.book import STEP_MS, FloatArray
from core.market.bootstrap import mean_interval, score_intervals
from core.market.forecasters.comparison import paired_differences
from core.market.labels import STATIONARY, Head
from core.market.luck import spaced
from core.market.scoring.rows import NO_CALL, RowAnswers, ScoredDay
from core.market.value import CallRows, call_value

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
SESSIONS: Final = ("asia", "europe", "america")
"""Of eight hours each, from midnight UTC."""
LEVELS: Final = ("low", "middle", "high")
"""Thirds of a market's rows by volatility or spread; equal values stay together."""
MEASURES: Final = ("accuracy", "macro_f1", "matthews", "log_loss", "ece")
WORTH: Final = ("coverage", "precision", "move_bps", "half_spread_bps", "break_even_fee_bps")
MIN_ROWS: Final = 50
"""Rows of a recording in a group below which it is left out of the group's mean, where others have more."""
WORST: Final = 40
"""Rows listed at which the first forecaster was most wrong."""


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """All scored rows of one label and horizon, recording after recording.

    Attributes:
        recording: (n,) index into `names`. timestamps, seconds, mid, spread, volatility, truth: as in `ScoredDay`.
        answers: forecaster -> its answers at all rows.
    """

    head: Head
    names: tuple[str, ...]
    recording: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    seconds: FloatArray
    mid: FloatArray
    spread: FloatArray
    volatility: FloatArray
    truth: NDArray[np.int8]
    answers: Mapping[str, RowAnswers]

    @classmethod
    def of(cls, days: Sequence[ScoredDay], head: Head) -> Pooled:
        """The rows of several recordings."""
        sizes = [len(day) for day in days]

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(day, name) for day in days])

        return cls(
            head=head,
            names=tuple(day.recording for day in days),
            recording=np.repeat(np.arange(len(days)), sizes),
            **{name: joined(name) for name in ("timestamps", "seconds", "mid", "spread", "volatility", "truth")},
            answers={
                name: RowAnswers(
                    probabilities=np.concatenate([day.answers[name].probabilities for day in days]),
                    calls=np.concatenate([day.answers[name].calls for day in days]),
                    reason=next((day.answers[name].reason for day in days if day.answers[name].reason), ""),
                )
                for name in days[0].answers
            },
        )

    def __len__(self) -> int:
        return len(self.truth)

    def parts(self) -> Iterator[Pooled]:
        """Each recording by itself; arrays are views."""
        edges = np.searchsorted(self.recording, np.arange(len(self.names) + 1))
        for first, stop in pairwise(edges.tolist()):
            yield self._cut(slice(first, stop))

    def _cut(self, rows: slice | NDArray[np.bool_]) -> Pooled:
        arrays = ("recording", "timestamps", "seconds", "mid", "spread", "volatility", "truth")
        answers = {
            name: RowAnswers(probabilities=one.probabilities[rows], calls=one.calls[rows], reason=one.reason)
            for name, one in self.answers.items()
        }
        return replace(self, answers=answers, **{name: getattr(self, name)[rows] for name in arrays})

    def loss(self, name: str) -> FloatArray:
        """(n,) -log of the probability given to what happened; NaN where there is none."""
        p = self.answers[name].probabilities[np.arange(len(self)), self.truth].astype(np.float64)
        return -np.log(np.maximum(p, 1e-12))


def groups(rows: Pooled) -> dict[str, tuple[NDArray[np.int64], list[str]]]:
    """Groups by recording, day, hour of the day, session, volatility and spread: kind -> (n,) index of a name, and the names.

    Hours, days and sessions are UTC. Thirds are of each recording's own rows.
    """
    hours = rows.timestamps // HOUR_MS % 24
    days, day = np.unique(rows.timestamps // DAY_MS, return_inverse=True)
    spread_bps = rows.spread / rows.mid * 1e4
    return {
        "recording": (rows.recording, list(rows.names)),
        "day": (day.astype(np.int64), [str(np.datetime64(int(one), "D")) for one in days]),
        "hour": (hours, [f"{hour:02d}" for hour in range(24)]),
        "session": (hours // 8, list(SESSIONS)),
        "volatility": (_thirds(rows.volatility, rows.recording), list(LEVELS)),
        "spread": (_thirds(spread_bps, rows.recording), list(LEVELS)),
    }


def _thirds(values: FloatArray, recording: NDArray[np.int64]) -> NDArray[np.int64]:
    level = np.zeros(len(values), dtype=np.int64)
    for one in np.unique(recording):
        here = recording == one
        level[here] = np.searchsorted(np.quantile(values[here], [1 / 3, 2 / 3]), values[here], side="left")
    return level


def score(rows: Pooled, name: str) -> dict[str, float]:
    """A forecaster's samples, accuracy, macro-F1, Matthews correlation, log-loss and calibration error on all rows (D26)."""
    answer = rows.answers[name]
    there = answer.calls != NO_CALL
    truth, p = rows.truth[there], answer.probabilities[there]
    given = len(p) > 0 and bool(np.isfinite(p).all())
    return {
        "samples": len(truth),
        "missing": len(rows) - len(truth),
        **scores.summary(scores.confusion_matrix(truth, answer.calls[there])),
        "log_loss": scores.log_loss(p, truth) if given else math.nan,
        "ece": scores.calibration_error(p, truth) if given else math.nan,
    }


def mean_table(rows: Pooled) -> pd.DataFrame:
    """One line per forecaster: the mean over recordings of its scores and of what its calls were worth (docs/value.md).

    `MEASURES` come with the bounds `_low` and `_high` of the 95 % interval: Student's t, or of one recording blocks of its rows.
    """
    lines = []
    parts = [part for part in rows.parts() if len(part)]
    for name in rows.answers:
        found = pd.DataFrame([{**score(part, name), **_worth(part, name)} for part in parts])
        line: dict[str, Any] = {"forecaster": name, "recordings": len(parts)}
        line |= {count: int(found[count].sum()) for count in ("samples", "missing")}
        for measure in MEASURES:
            line[measure], low, high = mean_interval(found[measure])
            line |= {f"{measure}_low": low, f"{measure}_high": high}
        if len(parts) == 1:
            answer = parts[0].answers[name]
            there = answer.calls != NO_CALL
            bounds = score_intervals(parts[0].truth[there], answer.calls[there], answer.probabilities[there], rows.head[1])
            for measure, (low, high) in bounds.items():
                line |= {f"{measure}_low": low, f"{measure}_high": high}
        lines.append(line | {measure: found[measure].mean() for measure in WORTH})
    return pd.DataFrame(lines)


def pooled_table(rows: Pooled) -> pd.DataFrame:
    """One line per forecaster: its scores, and the worth and luck of its calls, over the rows of all recordings together."""
    return pd.DataFrame([{"forecaster": name, **score(rows, name), **_worth(rows, name)} for name in rows.answers])


def _worth(rows: Pooled, name: str) -> dict[str, float]:
    answer = rows.answers[name]
    value = call_value(
        CallRows(
            horizon=rows.head[1],
            timestamps=rows.timestamps,
            mid=rows.mid,
            spread=rows.spread,
            calls=np.where(answer.calls == NO_CALL, STATIONARY, answer.calls),
            truth=rows.truth,
        )
    )
    return {
        "coverage": value.coverage,
        "precision": value.precision.value,
        "move_bps": value.move_bps.value,
        "half_spread_bps": value.half_spread_bps,
        "break_even_fee_bps": value.taker.break_even_bps,
        "chance": value.luck.chance,
    }


def group_table(rows: Pooled) -> pd.DataFrame:
    """One line per group and forecaster: `by`, `group`, then as `score`, the mean over the recordings with rows in the group."""
    found: dict[tuple[str, int], list[Pooled]] = {}
    kinds = groups(rows)
    edges = np.searchsorted(rows.recording, np.arange(len(rows.names) + 1))
    for by, (index, _names) in kinds.items():
        for (first, stop), part in zip(pairwise(edges.tolist()), rows.parts(), strict=True):
            for place in np.unique(index[first:stop]).tolist():
                found.setdefault((by, place), []).append(part._cut(index[first:stop] == place))
    lines = []
    for by, place in sorted(found, key=lambda key: (list(kinds).index(key[0]), key[1])):
        here = found[by, place]
        used = [part for part in here if len(part) >= MIN_ROWS] or here
        for name in rows.answers:
            mean = pd.DataFrame([score(part, name) for part in used])
            counts = {count: int(mean[count].sum()) for count in ("samples", "missing")}
            line = {"by": by, "group": kinds[by][1][place], "forecaster": name, **counts}
            lines.append(line | {measure: mean[measure].mean() for measure in MEASURES})
    return pd.DataFrame(lines)


def pair_table(rows: Pooled) -> pd.DataFrame:
    """One line per pair: the second's Matthews correlation and log-loss less the first's on rows that both answered.

    With 95 % intervals: of the mean over recordings by Student's t; of one recording by blocks of its rows.
    """
    names = [name for name in rows.answers if name != "stationary"]
    lines: list[dict[str, Any]] = []
    parts = [part for part in rows.parts() if len(part)]
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            both = [part._cut(_answered(part, first) & _answered(part, second)) for part in parts]
            line: dict[str, Any] = {"first": first, "second": second, "samples": sum(map(len, both))}
            if len(both) == 1:
                a, b = (both[0].answers[name] for name in (first, second))
                found = paired_differences(
                    both[0].truth.astype(np.int64),
                    (b.calls.astype(np.int64), b.probabilities.astype(np.float64)),
                    (a.calls.astype(np.int64), a.probabilities.astype(np.float64)),
                    rows.head[1],
                )
            for measure in ("matthews", "log_loss"):
                if len(both) == 1:
                    d = found[f"{measure}_difference"]
                    bounds = (math.nan,) * 3 if d is None else (d.value, d.low, d.high)
                else:
                    bounds = mean_interval([score(part, second)[measure] - score(part, first)[measure] for part in both])
                line |= {f"{measure}_{bound}": value for bound, value in zip(("value", "low", "high"), bounds, strict=True)}
            lines.append(line)
    columns = ["first", "second", "samples", *(f"{m}_{b}" for m in ("matthews", "log_loss") for b in ("value", "low", "high"))]
    return pd.DataFrame(lines, columns=columns)


def _answered(rows: Pooled, name: str) -> NDArray[np.bool_]:
    return rows.answers[name].calls != NO_CALL


def worst_table(rows: Pooled, name: str | None = None, *, most: int = WORST) -> pd.DataFrame:
    """Rows at which a forecaster gave what happened the least probability, most wrong first, a horizon apart at least.

    Args:
        name: the first forecaster where None.
    """
    name = name or next(iter(rows.answers))
    loss = rows.loss(name)
    order = np.argsort(-np.where(np.isfinite(loss), loss, -np.inf), kind="stable")[: 50 * most]
    kept: list[int] = []
    for row in order:
        near = [k for k in kept if rows.recording[k] == rows.recording[row]]
        if all(abs(int(rows.timestamps[k] - rows.timestamps[row])) >= rows.head[1] * STEP_MS for k in near):
            kept.append(int(row))
        if len(kept) == most:
            break
    at = np.array(kept, dtype=np.int64)
    answer = rows.answers[name]
    p = answer.probabilities[at]
    return pd.DataFrame(
        {
            "recording": [rows.names[i] for i in rows.recording[at]],
            "timestamp": rows.timestamps[at],
            "second": np.round(rows.seconds[at], 2),
            "called": answer.calls[at],
            "truth": rows.truth[at],
            "p_down": p[:, 0],
            "p_stationary": p[:, 1],
            "p_up": p[:, 2],
            "loss": loss[at],
        }
    )


def row_table(rows: Pooled) -> pd.DataFrame:
    """One line per row: when, the book's mid and spread, what happened, and every forecaster's answer."""
    columns: dict[str, Any] = {
        "recording": pd.Categorical.from_codes(rows.recording, list(rows.names)),
        **{name: getattr(rows, name) for name in ("timestamps", "mid", "spread", "volatility", "truth")},
    }
    for name, answer in rows.answers.items():
        if name != "uniform" and np.isfinite(answer.probabilities).any():
            columns |= {f"{name}_{label}": answer.probabilities[:, i] for i, label in enumerate(("down", "stationary", "up"))}
        columns[f"{name}_call"] = answer.calls
    return pd.DataFrame(columns)


def reliability_table(rows: Pooled) -> pd.DataFrame:
    """One line per forecaster with probabilities and bin of its likeliest class: `confidence`, `accuracy`, `count` (D26)."""
    lines = []
    for name, answer in rows.answers.items():
        there = np.isfinite(answer.probabilities).all(axis=1)
        if not there.any():
            continue
        p = answer.probabilities[there].astype(np.float64)
        bins = scores.reliability(p.max(axis=1), p.argmax(axis=1) == rows.truth[there])
        lines += [
            {"forecaster": name, "confidence": c, "accuracy": a, "count": int(n)}
            for c, a, n in zip(bins["confidence"], bins["accuracy"], bins["count"], strict=True)
            if n
        ]
    return pd.DataFrame(lines, columns=["forecaster", "confidence", "accuracy", "count"])


def loss_table(rows: Pooled, *, points: int = 400) -> pd.DataFrame:
    """Row by row, the running sum of each forecaster's log-loss less that of `frequencies`, nats: below zero is better.

    Columns are `row`, `recording`, `timestamp`, then a forecaster each; recordings follow one another.

    Args:
        points: at most so many rows, the last among them.
    """
    keep = np.unique(np.linspace(0, len(rows) - 1, min(points, len(rows))).astype(np.int64))
    base = rows.loss("frequencies")
    names = [rows.names[i] for i in rows.recording[keep]]
    out: dict[str, Any] = {"row": keep, "recording": names, "timestamp": rows.timestamps[keep]}
    for name in rows.answers:
        loss = rows.loss(name)
        if name not in ("frequencies", "uniform") and np.isfinite(loss).all():
            out[name] = np.cumsum(loss - base)[keep]
    return pd.DataFrame(out)


def independent_samples(rows: Pooled) -> int:
    """Counts the rows whose outcomes do not overlap: about what the scores' certainty rests on."""
    return sum(len(spaced(rows.timestamps[rows.recording == one] // STEP_MS, rows.head[1])) for one in np.unique(rows.recording))


def all_tables(rows: Pooled) -> dict[str, pd.DataFrame]:
    """Every table of a report by name."""
    return {
        "forecasters": mean_table(rows),
        "pooled": pooled_table(rows),
        "groups": group_table(rows),
        "pairs": pair_table(rows),
        "worst": worst_table(rows),
        "calibration": reliability_table(rows),
        "losses": loss_table(rows),
    }


def plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON's objects: numbers rounded to six decimals, None for NaN."""

    def value(one: Any) -> Any:
        if isinstance(one, float | np.floating):
            return None if not np.isfinite(one) else round(float(one), 6)
        return one.item() if isinstance(one, np.generic) else one

    return [{key: value(one) for key, one in row.items()} for row in table.to_dict("records")]
