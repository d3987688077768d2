"""Training on recordings as the app runs it: stopped and resumed, made again from its receipt, refused where it cannot be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest
from safetensors.numpy import load_file

from core.cli import main
from core.market.book import FILE_COLUMNS
from core.market.labels import momentum_calls
from core.market.predictor import load_predictor
from core.runs.local_run import PROGRESS, STOP, TrainError
from core.runs.market_training import MarketPlan, MarketTrainer, enough_outcomes, outlook, read_curve
from core.training import recipe
from tests.core.market.helpers import random_book

ROWS = 1_600


def write_book(path: Path, *, rows: int = ROWS, seed: int = 1) -> Path:
    """A book at random as a recording's file."""
    book = random_book(rows, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(book.levels, columns=list(FILE_COLUMNS)).assign(timestamp=book.timestamps).to_parquet(path)
    return path


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> MarketPlan:
    folder = tmp_path_factory.mktemp("market")
    path = write_book(folder / "data" / "venue-ABC-USD" / "2024-01-01" / "22" / "rows_1704146400000.parquet")
    return MarketPlan(
        name="whole",
        files=((str(path),),),
        start="",
        horizons=(5,),
        pairs=1,
        epochs=2,
        windows=64,
        folder=str(folder / "checkpoints"),
    )


@pytest.fixture(scope="module")
def whole(plan: MarketPlan) -> dict[str, Any]:
    """The card of a run that went through."""
    work = Path(plan.folder).parent / "work"
    assert main(plan.arguments(work)) == 0
    card: dict[str, Any] = json.loads((Path(plan.folder) / "whole.json").read_text())
    return card


def history(card: dict[str, Any]) -> list[dict[str, float]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in card["history"]]


def test_a_run_stopped_and_resumed_equals_one_that_ran_through(
    plan: MarketPlan, whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parted = replace(plan, name="parted")
    arguments = parted.arguments(tmp_path)
    stop = tmp_path / STOP
    with monkeypatch.context() as patch:
        patch.setattr(recipe, "progress_bar", lambda *a, **k: lambda event, _: stop.touch() if event == "epoch" else None)
        assert main(arguments) == 0
    trainer = MarketTrainer(folder=tmp_path)  # as another app finds it
    assert trainer.status().phase == "stopped" and len(trainer.status().history) == 1 and trainer.plan == parted
    stop.unlink()
    assert main(arguments) == 0
    assert trainer.status().phase == "finished"
    card = trainer.card()
    assert card is not None and history(card) == history(whole)
    one, two = (load_file(Path(plan.folder) / f"{name}.safetensors") for name in ("whole", "parted"))
    assert all((one[name] == two[name]).all() for name in one)
    assert card["metrics"]["gains"] == whole["metrics"]["gains"]


def test_a_card_is_made_again_from_its_receipt(
    plan: MarketPlan, whole: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(plan.folder)
    assert list(whole["receipt"]["data"]) == ["venue-ABC-USD/2024-01-01/22/rows_1704146400000.parquet"]
    assert str(folder) not in json.dumps(whole["receipt"]) and str(folder) not in whole["command"]
    capsys.readouterr()
    arguments = [str(folder / "whole.json"), "--data", str(folder.parent / "data"), "--checkpoints", str(folder), "--json"]
    assert main(["verify", "receipt", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] and answer["tolerance"] == 0.0 and answer["kind"] == "training"


def test_the_gain_is_what_the_trained_model_scores(plan: MarketPlan, whole: dict[str, Any]) -> None:
    """Beside what the evaluation of the test part says, which begins at the same row."""
    gains, scores = whole["metrics"]["gains"]["venue-ABC-USD"], whole["metrics"]["test"]["venue-ABC-USD"]
    assert [(one["label"], one["horizon"]) for one in gains] == [(one["label"], one["horizon"]) for one in scores]
    for gain, score in zip(gains, scores, strict=True):
        assert gain["trained_log_loss"] == pytest.approx(score["log_loss"], abs=0.1)  # every second row of it
        less = gain["less_frequencies"]
        assert less["value"] == pytest.approx(gain["trained_log_loss"] - gain["frequencies_log_loss"], abs=2e-5)
        assert less["low"] <= less["value"] <= less["high"]


def test_a_live_feed_of_the_recorded_market_gets_its_entry(plan: MarketPlan, whole: dict[str, Any]) -> None:
    trained = load_predictor("whole", folder=Path(plan.folder))
    assert trained.market("live/venue/ABC/USD ABC/USD").name == "venue-ABC-USD"
    assert trained.market("live/other/ABC/USD ABC/USD").name == trained.market("live/venue/ABC/EUR ABC/EUR").name == "pooled"


def test_the_outlook_counts_what_the_run_trains_on(plan: MarketPlan) -> None:
    found = outlook(plan)
    # 70 % of the rows, less a window at the start and the horizon at the end; likewise the other parts (D10)
    assert found.train == int(ROWS * 0.7) - 127 - 5
    assert found.test == ROWS - int(ROWS * 0.8) - (128 + 5) - 5
    assert found.outcomes == found.train // 5 and found.seconds > 0
    assert set(found.naive) == {"venue-ABC-USD/smoothed", "venue-ABC-USD/forward"}
    assert all(-1 <= value <= 1 for value in found.naive.values())
    assert momentum_calls(random_book(9, 1), 5, 0.0).shape == (9,)


def test_enough_is_where_training_began_to_pay_and_did_so_ever_after() -> None:
    def row(minutes: int, trained: float, nothing: float) -> dict[str, float]:
        return {
            "minutes": minutes, "outcomes": 2 * minutes, "trained": trained, "nothing": nothing, "start": 0.6, "frequencies": 0.7
        }  # fmt: skip

    curve = {"rows": [row(40, 0.5, 0.69), row(5, 0.8, 2.0), row(10, 0.5, 0.65), row(20, 0.59, 0.71)]}
    assert enough_outcomes(curve, from_start=True) == 20
    assert enough_outcomes(curve, from_start=False) == 80
    assert enough_outcomes({"rows": [row(5, 0.65, 1.0)]}, from_start=True) is None
    assert enough_outcomes(None, from_start=True) is None
    shipped = [enough_outcomes(read_curve(), from_start=start) for start in (True, False)]
    assert shipped == [28, 86]  # as docs/scoring_and_training.md says


def test_what_cannot_be_trained_is_one_sentence(plan: MarketPlan, whole: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="there is a checkpoint named 'whole' already"):
        plan.check()
    with pytest.raises(TrainError, match="choose a recording"):
        replace(plan, name="other", files=()).check()
    with patch("os.access", return_value=False), pytest.raises(TrainError, match="read-only: nothing trained here could be kept"):
        replace(plan, name="other").check()  # as in the image
    with pytest.raises(TrainError, match=r"'\.\./x' cannot be a checkpoint's name"):
        replace(plan, name="../x").check()
    short = write_book(tmp_path / "short_2024-01-01.parquet", rows=500)
    with pytest.raises(TrainError, match="has no window for validation"):
        outlook(replace(plan, files=((str(short),),)))
    with pytest.raises(TrainError, match="no stopped run"):
        MarketTrainer(folder=tmp_path / "none").resume()
    assert PROGRESS.endswith(".json")
