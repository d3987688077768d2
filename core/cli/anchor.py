"""`python -m core anchor`: put the newest heads of a ledger down outside of this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.market.ledger.anchors import ANCHORS_VARIABLE, destinations, put_down, upgrade
from core.market.ledger.chain import newest_head, read_header
from core.market.ledger.verification import market_folders


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Sends each market's newest head to time-stamp servers, calendars, web hooks or a file, and keeps the answers beside it. "
        "The app does so every hour by itself. OpenTimestamps' pending stamps are completed."
    )
    p.add_argument("folder", type=Path, help="the ledger's folder, or one market's in it")
    p.add_argument(
        "--to",
        nargs="+",
        default=[],
        metavar="PLACE",
        help=f"rfc3161+URL, ots+URL, webhook+URL or file:PATH; {ANCHORS_VARIABLE} where left out",
    )
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    places = destinations(" ".join(o.to) if o.to else None)
    if not places:
        raise ValueError(f"no place is named: give --to, or set {ANCHORS_VARIABLE}")
    failed = False
    for folder in market_folders(o.folder):
        head = newest_head(folder)
        problems = put_down(folder, read_header(folder).market, head, places)
        print(f"{folder.name}: entry {head.index:,}, {head.hash}")
        for problem in problems:
            print(f"  {problem}", file=sys.stderr)
        failed = failed or bool(problems)
        if any(kind == "ots" for kind, _ in places) and (done := upgrade(folder)):
            print(f"  {done} earlier stamps now name a block of Bitcoin")
    if failed:
        raise SystemExit(1)
