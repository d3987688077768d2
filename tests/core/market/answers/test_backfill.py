"""Predictions and scores of a folder's recordings, in one process (tests/core/test_ray.py: on two workers)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.market.answers.predictions import evaluate
from core.market.book import frame_from_rows
from core.market.predictor import load_predictor
from core.market.store.rows import read_market
from core.parallel import each
from tests.core.market.helpers import real_rows, save_tiny


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command over three recordings, one of which is damaged."""
    (tmp_path / "data").mkdir()
    for number in (0, 4):
        frame_from_rows(real_rows(number)).to_parquet(tmp_path / "data" / f"market_{number}.parquet")
    (tmp_path / "data" / "damaged.parquet").write_bytes(b"no parquet")
    save_tiny(tmp_path / "card", real_rows(4))
    return ["backfill", "--data", str(tmp_path / "data"), "--checkpoint", "tiny", "--folder", str(tmp_path / "card"), "--json"]


def test_every_recording_is_predicted_and_scored_once(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["recording"] for one in answer["recordings"]] == ["market_0", "market_4"]
    assert "is not a readable Parquet" in answer["skipped"]["damaged"]

    predictor = load_predictor("tiny", folder=tmp_path / "card")
    rows = read_market([tmp_path / "data" / "market_4.parquet"])
    wanted = evaluate(predictor, rows, predictor.market("market_4"))
    for mine, other in zip(answer["recordings"][1]["heads"], wanted, strict=True):
        assert mine["matthews"] == pytest.approx(other.summary()["matthews"], abs=1e-6)
        assert mine["scored"] == other.summary()["samples"]
    table = pd.read_parquet(tmp_path / "out" / "predictions" / "market_4.parquet")
    assert len(table) == answer["recordings"][1]["predictions"] == len(rows) - predictor.window + 1
    assert (np.diff(table["timestamp"]) == 250).all()

    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}
    frame_from_rows(real_rows(1)).to_parquet(tmp_path / "data" / "market_0.parquet")
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    changed = [path.stem for path, stamp in made.items() if path.stat().st_mtime_ns != stamp]
    assert changed == ["market_0"]  # the only one whose file is another


def doubled(number: int) -> int:
    if number == 2:
        raise ValueError("two is refused")
    return 2 * number


def test_what_is_refused_costs_its_item_only() -> None:
    found = dict(each(doubled, [1, 2, 3]))
    assert (found[0], str(found[1]), found[2]) == (2, "two is refused", 6)
