"""A small trained ViT in the place of the shipped one, and links that are noted: a page alone has nowhere to link to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from core import checkpoints
from tests.core.vision.tiny_vit import FOLDER


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of its checkpoint, while it is the app's."""
    # The test's own patcher, so that what a test patches besides is undone in order.
    monkeypatch.setattr(checkpoints, "FOLDER", FOLDER)
    return FOLDER


@pytest.fixture
def vit_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a folder the app's that holds a copy of the app's ViT, of whose card some entries are others."""

    def copied(**entries: Any) -> Path:
        if tmp_path != checkpoints.FOLDER:
            (tmp_path / "vit.safetensors").write_bytes((checkpoints.FOLDER / "vit.safetensors").read_bytes())
        card = json.loads((checkpoints.FOLDER / "vit.json").read_text())
        (tmp_path / "vit.json").write_text(json.dumps(card | entries))
        monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
        return tmp_path

    return copied


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """The query that each other page was last linked to with, by its file."""
    noted: dict[str, dict[str, str]] = {}

    def page_link(page: str, *, query_params: dict[str, str] | None = None, **_more: Any) -> None:
        noted[page] = dict(query_params or {})

    monkeypatch.setattr(st, "page_link", page_link)
    return noted
