"""`python -m core verify`: recompute a ledger's predictions, outcomes and scores; make a receipt's result again."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from core.cli import options, verify_receipt
from core.market.ledger.recomputation import known_predictors
from core.market.ledger.scorecard import score_card
from core.market.ledger.verification import NOT_PROVEN, State, Verification, verify
from core.training.progress import counting_bar

EXIT: dict[State, int] = {"verified": 0, "broken": 1, "incomplete": 3}
"""Exit codes; 2 is for bad input, as of every command."""


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    kinds = p.add_subparsers(dest="kind", required=True, metavar="KIND")
    ledger = kinds.add_parser(
        "ledger",
        help="recompute a ledger's predictions from its rows and the weights",
        epilog="Exit code: 0 verified, 1 broken, 2 no ledger, 3 incomplete. docs/ledger.md says what each means.",
    )
    ledger.add_argument("folder", type=Path, help="the ledger's folder, or one market's in it")
    ledger.add_argument(
        "--head",
        action="append",
        default=[],
        help="the newest hash noted elsewhere; repeat the option for each market",
    )
    ledger.add_argument("--hours", type=int, default=None, help="recompute the newest so many hours alone")
    ledger.add_argument(
        "--checkpoints",
        type=Path,
        action="append",
        default=[],
        help="folder of the weights; else the shipped ones and trained/",
    )
    ledger.add_argument(
        "--tsa-certificate",
        type=Path,
        action="append",
        default=[],
        help="root certificate (PEM) of a time-stamp server; heads that it stamped count as given",
    )
    options.add_json(ledger)
    ledger.set_defaults(run=_run_ledger)
    verify_receipt.add_parser(kinds)


def _run_ledger(o: argparse.Namespace) -> None:
    if o.hours is not None and o.hours < 1:
        raise ValueError("--hours must be 1 or more")
    result = verify(
        o.folder,
        known_predictors(*o.checkpoints),
        heads=o.head,
        hours=o.hours,
        certificates=o.tsa_certificate,
        progress=counting_bar("entries"),
    )
    if o.json:
        print(json.dumps(result.to_dict() | {"scores": _scores(result)}))
    else:
        _print(result)
    if result.state != "verified":
        raise SystemExit(EXIT[result.state])


def _scores(result: Verification) -> dict[str, dict[str, dict[str, float | None]]]:
    """By market and head; what is not known is null."""
    scores: dict[str, dict[str, dict[str, float | None]]] = {}
    for line in score_card(result).to_dict("records"):
        numbers = {name: None if math.isnan(value) else value for name, value in line.items() if name not in ("market", "head")}
        scores.setdefault(line["market"], {})[line["head"]] = numbers
    return scores


def _print(result: Verification) -> None:
    for market in result.markets:
        _say(f"{market.name}: {market.state}. {market.recomputed:,} of {market.rows:,} predictions recomputed and equal")
        for model in market.models:
            name, first = model["checkpoint"] or "weights not known here", f"{_utc(model['first_ms'])}"
            _say(f"  {model['predictions']:,} by {name} (SHA-256 {model['weights'][:12]}...), the first of {first}")
        if not market.named_before:
            _say("  its format is the one before: no checkpoint is named before the first prediction")
        if market.late:
            _say(f"  {market.late:,} were written too late, and are scored apart")
        if market.head:
            _say(f"  predictions at {market.coverage:.1%} of the steps from its first row to its newest, gaps: {market.gaps:,}")
            _say(f"  newest head {market.head.hash}, written {_utc(market.head.written_ms)}")
        for one in market.anchors:
            when = "" if one["no_later_ms"] is None else f", no later than {_utc(one['no_later_ms'])}"
            where = "in no entry here" if one["entry"] is None else f"entry {one['entry']:,} and all before it"
            checked = "signature checked" if one["checked"] else one["remark"]
            _say(f"  {one['kind']} of {one['by']}: {where}{when} ({checked})")
        if d := market.difference:
            _say(f"  FIRST DIFFERENCE: {d.file} entry {d.entry}, after {d.row:,} predictions that hold: {d.why}")
    for name, reason in result.reasons():
        _say(f"  incomplete: {name + ': ' if name else ''}{reason}")
    _say(f"{result.state}. {NOT_PROVEN}")


def _utc(milliseconds: int) -> str:
    return str(np.datetime64(milliseconds, "ms").astype("datetime64[s]")).replace("T", " ") + " UTC"


def _say(line: str) -> None:
    """One line: names of files and a header's texts are others', and could begin lines of their own or move the cursor."""
    print("".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line))
