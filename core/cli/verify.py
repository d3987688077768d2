"""`python -m core verify`: make a receipt's result again."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options
from core.market.store.index import FOLDER as RECORDINGS
from core.messages import compose
from core.receipts import OUT, Agreement, Receipt, ReceiptError, make_again, read_receipt


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    kinds = p.add_subparsers(dest="kind", required=True, metavar="KIND")
    add_receipt(kinds)


def add_receipt(kinds: Any) -> None:
    """Add the kind to `verify`'s."""
    p = kinds.add_parser("receipt", help="make a report or a checkpoint again and compare every number")
    p.add_argument("file", type=Path, help="a report (.json), or a checkpoint's card (.json)")
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
