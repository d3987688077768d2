"""`python -m attention_light demo [FILE]` opens a sentence that MiniLM read, in the browser."""

from __future__ import annotations

import argparse
import base64
import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Final

import numpy as np

from attention_light.layers import LayerMaps
from attention_light.scene import FOLDER, AttentionScene
from attention_light.stages import WordStage

DEMO: Final = FOLDER / "demo.json"
"""A sentence of `core.words.bundled`, its pieces and MiniLM's 72 maps in float16."""


def demo() -> AttentionScene:
    """The shipped sentence."""
    read = json.loads(DEMO.read_text(encoding="utf-8"))
    weights = np.frombuffer(base64.b64decode(read["weights"]), dtype=np.float16).reshape(read["shape"])
    layers = [LayerMaps(name=f"layer {i + 1}", weights=one) for i, one in enumerate(weights)]
    return AttentionScene(stage=WordStage.of_pieces(read["tokens"]), layers=layers, answer=read["text"])


def main(arguments: list[str] | None = None) -> int:
    """Write the demo and open it; returns 0."""
    p = argparse.ArgumentParser(prog="python -m attention_light", description="The view of attention.")
    p.add_argument("command", choices=["demo"], help="open a sentence that MiniLM read")
    p.add_argument("file", nargs="?", type=Path, help="where the page is written; a temporary one where left out")
    p.add_argument("--no-browser", action="store_true", help="write it only")
    o = p.parse_args(arguments)
    path = demo().save(o.file or Path(tempfile.mkdtemp(), "attention.html"))
    print(path)
    if not o.no_browser:
        webbrowser.open(path.resolve().as_uri())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
