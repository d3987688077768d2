"""`python -m core tournament FOLDER`: forecasters over recordings by equal rules: standings, rounds, a chained record."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd

from core import checkpoints
from core.cli import evaluate_recordings, options
from core.files import write_bytes
from core.market.answers import report
from core.market.answers.table import Table
from core.market.forecasters.catalogue import SHIPPED
from core.market.labels import LABEL_KINDS
from core.market.predictor import DEFAULT
from core.training.recipe import MADE, place

ENTERED = (DEFAULT, "deeplob", "lightgbm", "blend", "momentum")
"""Entries where none are named; the rules that see no book, and those of momentum and of always stationary, are always there."""


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Asks every entry at the same rows of the same recordings; one that learns is told outcomes only once they were known. "
        "Writes report.html, which needs nothing else, its tables, and tournament.jsonl, a chain of the rules, of each day's "
        "answers and of the standings: its last hash vouches for all of it."
    )
    p.add_argument("data", nargs="+", type=place, metavar="FILE_OR_FOLDER", help="recordings, or a store's URL")
    p.add_argument(
        "--entries",
        nargs="+",
        default=list(ENTERED),
        metavar="NAME_OR_FILE_OR_ADDRESS",
        help="checkpoints, shipped forecasters, entry points, .csv or .parquet files of probabilities, http://127.0.0.1:PORT/; "
        "the first checkpoint sets the labels (docs/forecasters.md)",
    )
    p.add_argument("--label", choices=LABEL_KINDS, default=None, help="forward where left out, if the card has it")
    p.add_argument("--horizon", type=int, default=None, help="steps ahead; the label's first on the card where left out")
    p.add_argument("--every", type=int, default=1, help="ask at every so many-th row")
    p.add_argument("--folder", type=Path, default=checkpoints.FOLDER, help="folder of the checkpoints")
    p.add_argument("--out", type=Path, default=MADE / "tournament", help="folder of the report, the tables and the chain")
    options.add_ray(p)
    options.add_json(p)
    p.set_defaults(run=_run, market=None, part="auto", progress=None, adaptive=False)


def _run(o: argparse.Namespace) -> None:
    models = [name for name in dict.fromkeys(o.entries) if name not in SHIPPED or name == "deeplob"]
    models = [name for name in models if (o.folder / f"{name}.json").is_file()]
    if not models:
        raise ValueError("no checkpoint is entered: one sets the labels and thresholds that all are scored by")
    o.data = options.here(o.data)
    o.checkpoint, o.beside = models[0], models[1:]
    o.forecaster = [name for name in dict.fromkeys(o.entries) if name not in (*models, "momentum", "stationary")]
    answer, rows = evaluate_recordings.scored(o)
    days = rounds(rows)
    table = standings(answer, days)
    days.to_csv(o.out / "rounds.csv", index=False)
    table.to_csv(o.out / "standings.csv", index=False)
    chain = chained(answer, rows, table)
    write_bytes(o.out / "tournament.jsonl", "".join(json.dumps(line) + "\n" for line in chain).encode())
    result = {"standings": report.plain(table), "rounds": report.plain(days), "head": chain[-1]["hash"], "out": str(o.out)}
    if o.json:
        print(
            json.dumps(result | {"samples": answer["samples"], "recordings": answer["recordings"], "skipped": answer["skipped"]})
        )
        return
    print(table.to_string(index=False, na_rep="", float_format="{:.4f}".format))
    print(f"{o.out / 'report.html'}; the chain ends with {chain[-1]['hash']}")


def rounds(rows: Table) -> pd.DataFrame:
    """A line per day (UTC) and forecaster with probabilities: `samples`, `log_loss`, `matthews`, and whether it `won` the day."""
    table = report.group_table(rows)
    table = table[(table["by"] == "day") & table["log_loss"].notna()].rename(columns={"group": "day"})
    best = table.groupby("day")["log_loss"].transform("min")
    return table[["day", "forecaster", "samples", "log_loss", "matthews"]].assign(won=table["log_loss"] == best)


def standings(answer: dict[str, Any], days: pd.DataFrame) -> pd.DataFrame:
    """A line per entry by its mean log-loss, best first, those without probabilities last by Matthews correlation.

    `ahead`, `ahead_low` and `ahead_high` are the confidence sequence of the first checkpoint's log-loss less the entry's: above
    zero the entry is better, however often one looks. `won` counts rounds.
    """
    lines = []
    for name, one in answer["forecasters"].items():
        sequence = answer["ahead"].get(name, {}).get("log_loss", [None] * 3)
        line = {
            "forecaster": name,
            **{key: one[key] for key in ("samples", "missing", "log_loss", "matthews", "accuracy", "ece")},
        }
        line |= dict(zip(("ahead", "ahead_low", "ahead_high"), sequence, strict=True))
        lines.append(line | {"won": int(days[days["forecaster"] == name]["won"].sum())})
    return pd.DataFrame(lines).sort_values(["log_loss", "matthews"], ascending=[True, False], na_position="last")


def chained(answer: dict[str, Any], rows: Table, table: pd.DataFrame) -> list[dict[str, Any]]:
    """The record: rules, then each day's answers by their SHA-256, then the standings, each with the hash of all before it."""
    receipt = answer["receipt"]
    records: list[dict[str, Any]] = [{"rules": {key: receipt[key] for key in ("command", "data", "weights", "versions")}}]
    lines = report.row_table(rows)
    days = pd.to_datetime(lines["timestamps"], unit="ms").dt.strftime("%Y-%m-%d")
    for day, part in lines.groupby(days, sort=True):
        digest = hashlib.sha256(part.drop(columns="truth").to_csv(index=False).encode()).hexdigest()
        outcomes = hashlib.sha256(part[["recording", "timestamps", "truth"]].to_csv(index=False).encode()).hexdigest()
        records.append({"round": day, "rows": len(part), "answers": digest, "outcomes": outcomes})
    records.append({"standings": report.plain(table)})
    before = "0" * 64
    for record in records:
        text = json.dumps(record, sort_keys=True)
        record |= {"previous": before}
        before = record["hash"] = hashlib.sha256((before + text).encode()).hexdigest()
    return records
