"""Every "reproduce this" snippet runs as it stands, in a Python of its own, and says what it found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SNIPPETS = sorted((ROOT / "assets" / "snippets").glob("*.py"))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet_runs_as_it_stands(path: Path) -> None:
    """From the project's folder, as its first line asks; fed as text, as a notebook would, so that it can rest on no file."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-"], input=path.read_text(encoding="utf-8"), cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip(), f"{path.name} prints nothing: show what it found"
    assert "Warning" not in done.stderr, done.stderr[-3000:]


def test_there_are_snippets() -> None:
    assert SNIPPETS
