"""`python -m core export NAME FILE`: a shipped checkpoint as an ONNX file with its attention maps."""

import argparse
from pathlib import Path

from core import checkpoints


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = (
        "Write a checkpoint as an ONNX file: its outputs are the logits and each attention map; its card lies in the metadata."
    )
    parser.add_argument("name", help="tlob, vit, cct, iiga_hands and their like")
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, default=checkpoints.FOLDER, help="of the checkpoint")
    parser.set_defaults(run=_export)


def _export(o: argparse.Namespace) -> None:
    from core.onnx_file import export

    o.file.parent.mkdir(parents=True, exist_ok=True)
    print(f"{o.file}: {', '.join(export(o.name, o.file, folder=o.folder))}")
