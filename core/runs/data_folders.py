"""The folders of Fashion-MNIST's files that visitors of the app may train from, as the environment sets them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

SETTING: Final = "OBSERVATORY_TRAIN_FOLDERS"
"""Environment variable: folders separated as in PATH."""
DEFAULT: Final = Path(__file__).resolve().parents[2] / "data" / "fashion-mnist"
"""Allowed where nothing is set; the data set is downloaded into it."""
BUNDLED: Final = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "fashion-mnist-few"
"""Allowed where nothing is set: the first 400 training images of each class, in IDX files."""
BUNDLED_IMAGES: Final = 4_000


def folders() -> list[Path]:
    """The folders to choose from, at least one."""
    named = [part.strip() for part in os.environ.get(SETTING, "").split(os.pathsep)]
    return [Path(part).expanduser() for part in named if part] or [BUNDLED, DEFAULT]


def allowed(folder: Path) -> bool:
    """Tells whether a visitor may train from this folder."""
    return folder in folders()
