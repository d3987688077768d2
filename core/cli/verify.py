"""`python -m core verify`: recompute a ledger's predictions, outcomes and scores; make a receipt's result again."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from core import checkpoints
from core.cli import options
from core.market.ledger.scorecard import score_card
from core.market.ledger.verification import NOT_PROVEN, State, Verification, known_predictors, verify
from core.market.store.index import FOLDER as RECORDINGS
from core.messages import compose
from core.receipts import OUT, Agreement, Receipt, ReceiptError, make_again, read_receipt
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
        "--head", action="append", default=[], help="the newest hash noted elsewhere; repeat the option for each market"
    )
    ledger.add_argument("--hours", type=int, default=None, help="recompute the newest so many hours alone")
    ledger.add_argument(
        "--checkpoints", type=Path, action="append", default=[], help="folder of the weights; else the shipped ones and trained/"
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
    add_receipt(kinds)


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


def add_receipt(kinds: Any) -> None:
    """Add the kind to `verify`'s."""
    p = kinds.add_parser("receipt", help="make a report or a checkpoint again and compare every number")
    p.add_argument("file", type=Path, help="a report (.html or .json), or a checkpoint's card (.json)")
    p.add_argument("--data", nargs="+", type=Path, default=[], metavar="FOLDER", help="where its data are, found by their hashes")
    p.add_argument("--checkpoints", type=Path, default=checkpoints.FOLDER, help="folder of the checkpoints it used")
    options.add_json(p)
    p.set_defaults(run=_run_receipt)


def _run_receipt(o: argparse.Namespace) -> None:
    receipt = read_receipt(o.file)
    places = [*o.data, o.file.parent, RECORDINGS, o.checkpoints, checkpoints.FOLDER]
    agreement = make_again(receipt, places, run_command)
    if o.json:
        print(json.dumps(asdict(agreement) | {"ok": agreement.agrees, "kind": receipt.kind}))
    else:
        print(describe(receipt, agreement))
    if not agreement.agrees:
        raise SystemExit(1)


def run_command(arguments: list[str]) -> dict[str, Any]:
    """Run a command line of `python -m core` and return the results of the receipt that it wrote.

    Raises:
        ReceiptError: where the command fails.
    """
    from core.cli import main  # which imports this module

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(arguments)
    if code:
        raise ReceiptError(compose("the command of the receipt failed here: see the line above"))
    out = next(Path(word) for place, word in enumerate(arguments) if Path(word).name == OUT and place)
    written = sorted(out.glob("*.json"))
    if len(written) != 1:
        raise ReceiptError(compose("the command of the receipt wrote no result to compare"))
    return read_receipt(written[0]).results


def describe(receipt: Receipt, agreement: Agreement) -> str:
    """Describes what was compared and how well it agreed, for a person."""
    lines = [receipt.shell]
    lines += [f"{name} was {then} then and is {now} now" for name, (then, now) in agreement.versions.items()]
    if agreement.tolerance == 0:
        lines.append(f"made again: {agreement.numbers:,} numbers, all exactly equal")
    elif agreement.agrees:
        lines.append(
            f"made again: {agreement.numbers:,} numbers agree within {agreement.tolerance:g}; "
            f"the largest difference is {agreement.largest:.2g}, of {agreement.at}"
        )
    else:
        lines.append(
            f"DIFFERENT: of {agreement.numbers:,} numbers {agreement.at} differs most, by {agreement.largest:.2g}: "
            "more than another machine explains"
        )
    return "\n".join(lines)
