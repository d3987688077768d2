"""Training on recordings by its command: stopped and resumed, and found by a live feed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from safetensors.numpy import load_file

from core.cli import main
from core.market.book import FILE_COLUMNS
from core.market.predictor import load_predictor
from core.training import recipe
from tests.core.market.helpers import random_book

ROWS = 1_600


def write_book(path: Path, *, rows: int = ROWS, seed: int = 1) -> Path:
    """A book at random as a recording's file."""
    book = random_book(rows, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(book.levels, columns=list(FILE_COLUMNS)).assign(timestamp=book.timestamps).to_parquet(path)
    return path


def command(folder: Path, name: str, state: Path) -> list[str]:
    """Two epochs of a tiny model on the folder's book."""
    data = folder / "data" / "venue-ABC-USD" / "2024-01-01" / "22" / "rows_1704146400000.parquet"
    words = f"train tlob --data {data} --transform flow --pairs 1 --pooling last --epochs 2 --windows 64 --batch 64 --rate 3e-4"
    words += " --warmup 1 --ema 0.9 --label smoothed forward --horizon 5 --no-bf16 --mirrored"
    return [*words.split(), "--name", name, "--folder", str(folder / "checkpoints"), "--state", str(state)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the data, and of the checkpoint of a run that went through."""
    folder = tmp_path_factory.mktemp("market")
    write_book(folder / "data" / "venue-ABC-USD" / "2024-01-01" / "22" / "rows_1704146400000.parquet")
    assert main(command(folder, "whole", folder / "state")) == 0
    return folder


def card_of(folder: Path, name: str) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((folder / "checkpoints" / f"{name}.json").read_text())
    return card


def history(card: dict[str, Any]) -> list[dict[str, float]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in card["history"]]


def test_a_run_stopped_and_resumed_equals_one_that_ran_through(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parted = command(folder, "parted", tmp_path / "state")
    with monkeypatch.context() as patch:
        patch.setattr(recipe, "progress_bar", lambda *a, **k: lambda event, _: event == "epoch")
        assert main(parted) == 0
    assert len(card_of(folder, "parted")["history"]) == 1
    assert main(parted) == 0
    card, whole = card_of(folder, "parted"), card_of(folder, "whole")
    assert history(card) == history(whole)
    one, two = (load_file(folder / "checkpoints" / f"{name}.safetensors") for name in ("whole", "parted"))
    assert all((one[name] == two[name]).all() for name in one)
    assert card["metrics"] == whole["metrics"] | {"validation": card["metrics"]["validation"]}  # but for the epoch's seconds


def test_a_live_feed_of_the_recorded_market_gets_its_entry(folder: Path) -> None:
    trained = load_predictor("whole", folder=folder / "checkpoints")
    assert trained.market("live/venue/ABC/USD ABC/USD").name == "venue-ABC-USD"
    assert trained.market("live/other/ABC/USD ABC/USD").name == trained.market("live/venue/ABC/EUR ABC/EUR").name == "pooled"
