"""The scores of recordings: their mean, by time and regime, two forecasters paired, and where the first was most wrong.

A score over several recordings is the mean of theirs, with its interval (D31). Rows of all together are scored too, beside
`frequencies`: where classes come more often in one recording than in another, a rule that sees no book scores well on them.
"""

import math
from dataclasses import astuple, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.answers.intervals import mean_interval, spaced
from core.market.answers.table import MEASURES, NO_CALL, Scores, Table, differences, intervals, losses, score
from core.market.answers.value import call_value
from core.market.book import FloatArray
from core.market.grid import DAY_MS, HOUR_MS, STEP_MS

LEVELS: Final = ("low", "middle", "high")
"""Thirds of a market's rows by volatility or spread; equal values stay together."""
WORTH: Final = ("coverage", "precision", "move_bps", "half_spread_bps", "break_even_fee_bps")
MIN_ROWS: Final = 50
"""Rows of a recording in a group below which it is left out of the group's mean, where others have more."""
WORST: Final = 40
"""Rows listed at which the first forecaster was most wrong."""
LOSS_POINTS: Final = 400


def groups(rows: Table) -> pd.DataFrame:
    """The groups that each row is of: by recording, day, hour of the day, volatility and spread, as categories.

    Hours and days are UTC. Thirds are of each recording's own rows.
    """
    times = rows.column("timestamp")
    hours = times // HOUR_MS % 24
    recording = rows.rows["recording"].cat
    spread_bps = rows.column("spread") / rows.column("mid") * 1e4
    return pd.DataFrame(
        {
            "recording": rows.rows["recording"].array,
            "day": pd.Categorical((times // DAY_MS * DAY_MS).astype("datetime64[ms]").astype("datetime64[D]").astype(str)),
            "hour": pd.Categorical.from_codes(hours, [f"{hour:02d}" for hour in range(24)]),
            "volatility": pd.Categorical.from_codes(_thirds(rows.column("volatility"), recording.codes.to_numpy()), list(LEVELS)),
            "spread": pd.Categorical.from_codes(_thirds(spread_bps, recording.codes.to_numpy()), list(LEVELS)),
        }
    )


def _thirds(values: FloatArray, recording: NDArray[np.int64]) -> NDArray[np.int64]:
    level = np.zeros(len(values), dtype=np.int64)
    for one in np.unique(recording):
        here = recording == one
        level[here] = np.searchsorted(np.quantile(values[here], [1 / 3, 2 / 3]), values[here], side="left")
    return level


def parts(rows: Table) -> list[Table]:
    """Each recording that has rows, by itself."""
    number = rows.rows["recording"].cat.codes.to_numpy()
    return [rows[number == one] for one in np.unique(number)]


def mean_table(rows: Table) -> pd.DataFrame:
    """One line per forecaster: the mean over recordings of its scores and of what its calls were worth (docs/value.md).

    `MEASURES` come with the bounds `_low` and `_high` of the 95 % interval: Student's t, or of one recording blocks of its rows.
    """
    lines = []
    each, scored = parts(rows), score(rows, by=["recording"])
    for name in rows.answers:
        mine = scored[scored["forecaster"] == name]
        line: dict[str, Any] = {"forecaster": name, "recordings": len(each)}
        line |= {count: int(mine[count].sum()) for count in ("samples", "missing")}
        for measure in MEASURES:
            line[measure], low, high = mean_interval(mine[measure])
            line |= {f"{measure}_low": low, f"{measure}_high": high}
        if len(each) == 1:
            for measure, (low, high) in intervals(each[0], name).items():
                line |= {f"{measure}_low": low, f"{measure}_high": high}
        worth = pd.DataFrame([_worth(part, name) for part in each])
        lines.append(line | {measure: worth[measure].mean() for measure in WORTH})
    return pd.DataFrame(lines)


def pooled_table(rows: Table) -> pd.DataFrame:
    """One line per forecaster: its scores, and the worth of its calls, over the rows of all recordings together."""
    return pd.concat([score(rows), pd.DataFrame([_worth(rows, name) for name in rows.answers])], axis=1)


def _worth(rows: Table, name: str) -> dict[str, float]:
    value = call_value(rows.call_rows(name))
    return {
        "coverage": value.coverage,
        "precision": value.precision.value,
        "move_bps": value.move_bps.value,
        "half_spread_bps": value.half_spread_bps,
        "break_even_fee_bps": value.break_even_bps,
    }


def group_table(rows: Table) -> pd.DataFrame:
    """One line per group and forecaster: `by`, `group`, then as `score`, the mean over the recordings with rows in the group.

    Recordings with fewer than `MIN_ROWS` rows in a group are left out where others have more.
    """
    kinds = groups(rows)
    marked = replace(rows, rows=kinds.assign(truth=rows.truth))
    tables = []
    for by in kinds:
        each = score(marked, by=list(dict.fromkeys(["recording", by])))
        enough = each["samples"] + each["missing"] >= MIN_ROWS
        used = each[enough | ~enough.groupby(each[by]).transform("any")]
        group = pd.Categorical(used[by], kinds[by].cat.categories)
        name = pd.Categorical(used["forecaster"], list(rows.answers))
        of = used.assign(by=by, group=group, forecaster=name).groupby(["by", "group", "forecaster"], observed=True)
        tables.append(of[["samples", "missing"]].sum().join(of[list(MEASURES)].mean()).reset_index())
    return pd.concat(tables).astype({"group": str, "forecaster": str})


def pair_table(rows: Table) -> pd.DataFrame:
    """One line per other forecaster: its Matthews correlation and log-loss less the first one's on rows that both answered.

    With 95 % intervals: of the mean over recordings by Student's t; of one recording by blocks of its rows.
    """
    lines: list[dict[str, Any]] = []
    each = parts(rows)
    first, *others = rows.answers
    for second in others:
        if second == "stationary":  # it gives no probabilities, and its Matthews correlation is 0
            continue
        both = [(part.answers[first].calls != NO_CALL) & (part.answers[second].calls != NO_CALL) for part in each]
        line: dict[str, Any] = {"first": first, "second": second, "samples": int(sum(map(np.sum, both)))}
        if len(each) == 1:
            shared = {measure: astuple(d) for measure, d in differences(each[0], second, first).items()}
        else:
            there = list(zip(each, both, strict=True))
            one, other = (
                pd.DataFrame([Scores.of(part.truth[at], part.answers[name][at]).summary() for part, at in there])
                for name in (first, second)
            )
            shared = {measure: mean_interval(other[measure] - one[measure]) for measure in ("matthews", "log_loss")}
        for measure in ("matthews", "log_loss"):
            bounds = shared.get(measure, (math.nan,) * 3)
            line |= {f"{measure}_{bound}": value for bound, value in zip(("value", "low", "high"), bounds, strict=True)}
        lines.append(line)
    columns = ["first", "second", "samples", *(f"{m}_{b}" for m in ("matthews", "log_loss") for b in ("value", "low", "high"))]
    return pd.DataFrame(lines, columns=columns)


def worst_table(rows: Table) -> pd.DataFrame:
    """Rows at which the first forecaster gave what happened the least probability, most wrong first, a horizon apart at least."""
    name = next(iter(rows.answers))
    loss = _loss(rows, name)
    order = np.argsort(-np.where(np.isfinite(loss), loss, -np.inf), kind="stable")[: 50 * WORST]
    recording, times = rows.column("recording"), rows.column("timestamp")
    kept: list[int] = []
    for row in order:
        near = [k for k in kept if recording[k] == recording[row]]
        if all(abs(int(times[k] - times[row])) >= rows.head[1] * STEP_MS for k in near):
            kept.append(int(row))
        if len(kept) == WORST:
            break
    at = rows[np.array(kept, dtype=np.int64)]
    answer = at.answers[name]
    p = answer.probabilities
    return pd.DataFrame(
        {
            "recording": at.column("recording").tolist(),
            "timestamp": at.column("timestamp"),
            "second": np.round(at.column("second"), 2),
            "called": answer.calls,
            "truth": at.truth,
            "p_down": p[:, 0],
            "p_stationary": p[:, 1],
            "p_up": p[:, 2],
            "loss": loss[kept],
        }
    )


def _loss(rows: Table, name: str) -> FloatArray:
    return losses(rows.answers[name].probabilities, rows.truth)


def row_table(rows: Table) -> pd.DataFrame:
    """One line per row: when, the book's mid and spread, what happened, and every forecaster's answer."""
    columns: dict[str, Any] = {"recording": rows.rows["recording"].array, "timestamps": rows.column("timestamp")}
    columns |= {name: rows.column(name) for name in ("mid", "spread", "volatility", "truth")}
    for name, answer in rows.answers.items():
        if name != "uniform" and np.isfinite(answer.probabilities).any():
            columns |= {f"{name}_{label}": answer.probabilities[:, i] for i, label in enumerate(("down", "stationary", "up"))}
        columns[f"{name}_call"] = answer.calls
    return pd.DataFrame(columns)


def reliability_table(rows: Table) -> pd.DataFrame:
    """One line per forecaster with probabilities and bin of its likeliest class: `confidence`, `accuracy`, `count` (D26)."""
    lines = []
    for name, one in rows.score().items():
        bins = one.reliability
        lines += [
            {"forecaster": name, "confidence": c, "accuracy": a, "count": int(n)}
            for c, a, n in zip(bins["confidence"], bins["accuracy"], bins["count"], strict=True)
            if n
        ]
    return pd.DataFrame(lines, columns=["forecaster", "confidence", "accuracy", "count"])


def loss_table(rows: Table) -> pd.DataFrame:
    """Row by row, the running sum of each forecaster's log-loss less that of `frequencies`, nats: below zero is better.

    Columns are `row`, `recording`, `timestamp`, then a forecaster each; recordings follow one another. At most `LOSS_POINTS`
    rows, the last among them.
    """
    keep = np.unique(np.linspace(0, len(rows) - 1, min(LOSS_POINTS, len(rows))).astype(np.int64))
    base = _loss(rows, "frequencies")
    at = rows[keep]
    out: dict[str, Any] = {"row": keep, "recording": at.column("recording").tolist(), "timestamp": at.column("timestamp")}
    for name in rows.answers:
        loss = _loss(rows, name)
        if name not in ("frequencies", "uniform") and np.isfinite(loss).all():
            out[name] = np.cumsum(loss - base)[keep]
    return pd.DataFrame(out)


def independent_samples(rows: Table) -> int:
    """Counts the rows whose outcomes do not overlap: about what the scores' certainty rests on."""
    return sum(len(spaced(part.column("timestamp") // STEP_MS, rows.head[1])) for part in parts(rows))


def all_tables(rows: Table) -> dict[str, pd.DataFrame]:
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
