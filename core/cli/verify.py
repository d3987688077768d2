"""`python -m core verify`: recompute a ledger's predictions, outcomes and scores; make a receipt's result again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from core import checkpoints
from core.cli import options, verify_receipt
from core.cli.progress import counting_bar
from core.market.ledger.verification import Verification, shipped_predictors, verify


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    p = commands.add_parser("verify", help="check what was written down: a ledger of predictions, a receipt")
    kinds = p.add_subparsers(dest="kind", required=True, metavar="KIND")
    ledger = kinds.add_parser("ledger", help="recompute a ledger's predictions from its rows and the weights")
    ledger.add_argument("folder", type=Path, help="the ledger's folder, or one market's in it")
    ledger.add_argument("--head", default=None, help="a hash published earlier, which must be part of the chain")
    ledger.add_argument("--checkpoints", type=Path, default=checkpoints.FOLDER, help="folder of the checkpoints that predicted")
    options.add_json(ledger)
    ledger.set_defaults(run=_run_ledger)
    verify_receipt.add_parser(kinds)


def with_kind(arguments: list[str]) -> list[str]:
    """The arguments, with `receipt` put after `verify` where a file follows it at once."""
    named = len(arguments) > 1 and arguments[0] == "verify" and Path(arguments[1]).is_file()
    return ["verify", "receipt", *arguments[1:]] if named else arguments


def _run_ledger(o: argparse.Namespace) -> None:
    bar = counting_bar("predictions")
    result = verify(o.folder, shipped_predictors(o.checkpoints), published=o.head, progress=bar)
    if o.json:
        print(json.dumps(result.to_dict()))
    else:
        _print(result)
    if result.difference is not None:
        raise SystemExit(1)


def _print(result: Verification) -> None:
    d = result.difference
    print(
        f"{result.rows:,} predictions, {result.recomputed:,} recomputed and equal, {result.unchecked:,} without rows or weights"
    )
    if result.late:
        print(f"{result.late:,} were written too late and are not scored")
    if result.broken_bytes:
        print(f"a crash left {result.broken_bytes:,} broken bytes at the end of a journal")
    for market, head in result.heads.items():
        print(f"{market}: head {head}")
    print("ok" if d is None else f"FIRST DIFFERENCE: {d.market} {d.file} prediction {d.index}: {d.why}")
