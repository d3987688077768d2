"""Fashion-MNIST's files for a command: there already, or fetched with a progress bar."""

from __future__ import annotations

import sys
from pathlib import Path

from core.vision.idx import MD5, fetch, missing


def ready(folder: Path, part: str) -> None:
    """See that the folder has the part's files ("train" or "t10k"); download the data set where it lacks them.

    Raises:
        IdxError: where they are neither there nor to be had.
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
