"""Downloads Fashion-MNIST for a command, with a progress bar."""

from __future__ import annotations

import sys
from pathlib import Path

from core.vision.idx import MD5, fetch, missing


def fetch_missing(folder: Path, part: str) -> None:
    """Download Fashion-MNIST's files into a folder that lacks those of a part ("train" or "t10k").

    Raises:
        IdxError: where they are neither in the folder nor on the network.
    """
    from tqdm import tqdm

    if not missing(folder, tuple(name for name in MD5 if name.startswith(part))):
        return
    bar = tqdm(unit="B", unit_scale=True, file=sys.stderr)

    def show(name: str, done: int, total: int) -> None:
        bar.set_description(name, refresh=False)
        bar.total = total or None
        bar.update(done - bar.n)

    with bar:
        fetch(folder, report=show)
