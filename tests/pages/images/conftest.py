"""A small trained ViT in the place of the shipped one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core import checkpoints
from tests.core.vision.tiny_vit import FOLDER


@pytest.fixture
def models() -> Iterator[Path]:
    """The folder of its checkpoint, while it is the app's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FOLDER", FOLDER)
        yield FOLDER
