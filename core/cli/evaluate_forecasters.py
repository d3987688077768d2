"""`python -m core evaluate tlob --forecaster X`: forecasters on the same rows and terms as TLOB."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from core.market.answers.intervals import block_length
from core.market.answers.predictions import RowPredictions
from core.market.book import BookRows
from core.market.forecasters.catalogue import find_forecaster
from core.market.forecasters.comparison import compare, names_of
from core.market.forecasters.protocol import task_of
from core.market.predictor import MarketCard, Predictor
from core.training.progress import counting_bar


def add_option(p: argparse.ArgumentParser) -> None:
    """`--forecaster`."""
    p.add_argument(
        "--forecaster",
        nargs="+",
        default=[],
        metavar="NAME_OR_FILE_OR_ADDRESS",
        help="score these beside TLOB: momentum, stationary, lightgbm, deeplob, an entry point, a .csv or .parquet file of "
        "probabilities, or http://127.0.0.1:PORT/ (docs/forecasters.md)",
    )


def scores(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    o: argparse.Namespace,
    *,
    first: int,
    head: int,
    found: RowPredictions,
) -> dict[str, Any]:
    """Every forecaster's scores on one head, TLOB's first, as JSON's objects.

    Raises:
        ForecasterError: where a forecaster cannot be used.
    """
    spelling = o.market or o.data[0].name
    task = task_of(predictor, market, spelling)
    peers = {name: find_forecaster(wanted, task) for wanted, name in names_of(o.forecaster).items()}
    comparison = compare(
        predictor,
        rows,
        market,
        peers,
        spelling=spelling,
        first=first,
        known=(found.rows, found.probabilities),
        progress=counting_bar("window"),
    )
    boards = comparison.scores(head)
    for board in boards:
        if board.reason:
            print(board.reason, file=sys.stderr)
    fit_rows = int(comparison.fit.sum())
    fitted_on = "validation rows" if first else "the first fifth of the rows"
    return {
        "rules_fitted_on": fitted_on if fit_rows else "nothing, as there are too few rows",
        "fit_rows": fit_rows,
        "block": block_length(boards[0].scores.samples, predictor.heads[head][1]),
        "coverage": 0.95,
        "scores": {board.name: board.summary() for board in boards},
    }


def table(forecasters: dict[str, Any] | None) -> list[str]:
    """The scores as lines of text."""
    if forecasters is None:
        return []
    lines = [f"on equal terms (rules fitted on {forecasters['rules_fitted_on']}):"]
    for name, found in forecasters["scores"].items():
        missing = f"   missing {sum(found['missing'].values()):,}" if found["missing"] else ""
        if not found["rows"]:
            lines.append(f"  {name:<12} no answer to score{missing}")
            continue
        line = f"  {name:<12} Matthews {found['matthews']:.4f}   log-loss {found['log_loss']:.4f}   rows {found['rows']:,}"
        for score, d in found["less_tlob"].items():
            line += f"   {score} less TLOB {d['value']:+.4f} [{d['low']:+.4f}, {d['high']:+.4f}]"
        lines.append(line + missing)
    return lines
