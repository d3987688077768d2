"""Score cards of a ledger: per market, head and day, week or month, computed from the rows and grouped by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import scores
from core.market.book import STEP_MS
from core.market.ledger.verification import Verification, market_folders, read_market, resolved_table
from core.market.luck import luck, spaced
from core.market.predictor import Predictor

Period = Literal["day", "week", "month"]
PERIODS: tuple[Period, ...] = ("day", "week", "month")
CALIBRATION_BINS = 15

GROUPED = """
    SELECT market, date_trunc($period, make_timestamp(timestamp * 1000)) AS begins, head,
           count(*) AS samples,
           avg((called = truth)::INT) AS accuracy,
           avg(-ln(greatest([p_down, p_stationary, p_up][truth + 1], 1e-12))) AS log_loss,
           {cells}
    FROM resolved GROUP BY ALL ORDER BY market, begins, head
"""
CALIBRATION = """
    WITH likeliest AS (
        SELECT market, date_trunc($period, make_timestamp(timestamp * 1000)) AS begins, head,
               greatest(p_down, p_stationary, p_up) AS p,
               (truth = CASE greatest(p_down, p_stationary, p_up)
                            WHEN p_stationary THEN 1 WHEN p_up THEN 2 ELSE 0 END)::INT AS hit
        FROM resolved
    ), binned AS (
        SELECT market, begins, head, count(*) AS n, abs(avg(p) - avg(hit)) AS gap
        FROM likeliest GROUP BY market, begins, head, least(floor(p * $bins), $bins - 1)
    )
    SELECT market, begins, head, sum(n * gap) / sum(n) AS ece FROM binned GROUP BY ALL
"""
CALLS = """
    SELECT market, date_trunc($period, make_timestamp(timestamp * 1000)) AS begins, head,
           list(timestamp ORDER BY timestamp) AS timestamps, list(called ORDER BY timestamp) AS called,
           list(truth ORDER BY timestamp) AS truth
    FROM resolved GROUP BY ALL
"""


def score_card(root: Path, predictors: Callable[[str, str], Predictor | None], *, period: Period = "day") -> pd.DataFrame:
    """One row per market, period (UTC) and head, of predictions that have come due and were not late.

    Args:
        root: the ledger's folder.
        predictors: see `core.market.ledger.verification.verify`.

    Returns:
        Columns market, begins, head, samples, accuracy, log_loss (nats), macro_f1, matthews, momentum_macro_f1,
        momentum_matthews; ece: the calibration error of the likeliest class (Guo et al. 2017, 15 bins; D26); and luck: the
        largest chance with which a coin that knows the period's class rates would ever have looked as good in it
        (`core.market.luck`).

    Raises:
        LedgerError: where the folder holds no ledger or a damaged one.
    """
    parts = []
    for folder in market_folders(root):
        header, records, rows = read_market(folder, Verification())
        predictor = predictors(records[-1][0].weights, records[-1][0].card) if records else None
        if predictor is not None:
            table = resolved_table(records, rows, header.heads, predictor.market(header.market))
            parts.append(table.assign(market=folder.name))
    columns = ["market", "begins", "head", "samples", "accuracy", "log_loss"]
    measures = ["macro_f1", "matthews", "momentum_macro_f1", "momentum_matthews", "ece", "luck"]
    if not parts:
        return pd.DataFrame(columns=[*columns, *measures])
    resolved = pd.concat(parts, ignore_index=True)
    cells = ", ".join(
        f"count(*) FILTER (truth = {t} AND {who} = {c}) AS {who}_{t}{c}"
        for who in ("called", "momentum")
        for t in range(3)
        for c in range(3)
    )
    with duckdb.connect() as database:
        database.register("resolved", resolved)
        table = database.execute(GROUPED.format(cells=cells), {"period": period}).df()
        calls = database.execute(CALLS, {"period": period}).df()
        calibration = database.execute(CALIBRATION, {"period": period, "bins": CALIBRATION_BINS}).df()
    for who, prefix in (("called", ""), ("momentum", "momentum_")):
        counts = np.stack([table[f"{who}_{t}{c}"].to_numpy() for t in range(3) for c in range(3)], axis=1).reshape(-1, 3, 3)
        table[f"{prefix}macro_f1"], table[f"{prefix}matthews"] = scores.macro_f1(counts), scores.matthews(counts)
    series = (calls[name] for name in ("head", "timestamps", "called", "truth"))
    calls["luck"] = [_chance_of_luck(*one) for one in zip(*series, strict=True)]
    for more in (calibration, calls[["market", "begins", "head", "luck"]]):
        table = table.merge(more, on=["market", "begins", "head"])
    return table[[*columns, *measures]]


def _chance_of_luck(head: str, timestamps: NDArray[np.int64], called: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Of one head's calls of a period, one a horizon."""
    once = spaced(np.asarray(timestamps), int(head.rpartition("_")[2]) * STEP_MS)
    return luck(np.asarray(called)[once], np.asarray(truth)[once]).chance
