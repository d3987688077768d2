"""Training runs as tables."""

from typing import Any

import numpy as np
import pytest

from core import checkpoints
from core.runs.history import report_run, run_from_card

ROW = {"epoch": 0, "train_accuracy": 0.9, "validation_accuracy": 0.8, "train_loss": 0.7}


def test_the_reports_table_is_whole() -> None:
    run = report_run().epochs
    assert run["epoch"].tolist() == list(range(1, 26))
    last = run.iloc[-1]
    assert last["held_out_accuracy"] == pytest.approx(0.8958)  # section 6: 89.58 % on test, 91.09 % on training images
    assert last["train_accuracy"] == pytest.approx(0.9109, abs=5e-5)
    assert last["gap"] == pytest.approx(0.0151, abs=5e-5)  # 1.51 points, says the text


def test_stages_follow_each_other() -> None:
    history = [ROW, ROW | {"epoch": 1}, ROW | {"epoch": 2}]
    staged = {"name": "staged", "history": history, "started_from": {"history": history[:2]}}
    run = run_from_card(staged)
    assert run.epochs["epoch"].tolist() == [1, 2, 3, 4, 5]
    assert run.stages == (3,)
    np.testing.assert_allclose(run.epochs["gap"], 0.1)
    assert run.epochs.shape == (5, 4)
    assert run_from_card(staged | {"started_from": None}).stages == ()


def test_what_a_history_lacks_is_not_a_number() -> None:
    run = run_from_card({"name": "small", "history": [{"epoch": 0, "train_accuracy": 0.5}]})
    assert run.epochs["held_out_accuracy"].isna().all() and run.epochs["train_accuracy"].tolist() == [0.5]


def test_the_shipped_run_ends_at_its_validation_score() -> None:
    card = checkpoints.read_card("vit")
    run = run_from_card(card)
    assert run.epochs["held_out_accuracy"].iloc[-1] == pytest.approx(card["metrics"]["validation"]["accuracy"])
    assert len(run.epochs) > len(card["history"]) and run.stages


@pytest.mark.parametrize("change", [{"history": 3}, {"history": [[1]]}, {"started_from": {"history": None}}])
def test_a_malformed_history_gets_one_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(checkpoints.CheckpointError, match="another type"):
        run_from_card({"name": "small", "history": [ROW], **change})
