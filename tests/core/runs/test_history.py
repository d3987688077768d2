"""Training runs as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core import checkpoints
from core.runs.history import read_record, report_run, run_from_card

ROW = {
    "epoch": 0,
    "rate": 1e-3,
    "seconds": 2.0,
    "train_accuracy": 0.9,
    "validation_accuracy": 0.8,
    "train_loss": 0.7,
    "validation_loss": 0.9,
}


def test_the_reports_table_is_whole() -> None:
    run = report_run().epochs
    assert run["epoch"].tolist() == list(range(1, 26))
    last = run.iloc[-1]
    assert last["held_out_accuracy"] == pytest.approx(0.8958)  # section 6: 89.58 % on test, 91.09 % on training images
    assert last["train_accuracy"] == pytest.approx(0.9109, abs=5e-5)
    assert last["gap"] == pytest.approx(0.0151, abs=5e-5)  # 1.51 points, says the text
    assert last["train_loss"] == pytest.approx(0.6948 - 0.50026, abs=1e-4)
    assert run["train_loss"].min() > 0 and run[["rate", "held_out_loss"]].isna().all().all()


def test_stages_follow_each_other() -> None:
    history = [ROW, ROW | {"epoch": 1}, ROW | {"epoch": 2}]
    staged = {
        "name": "staged",
        "history": history,
        "training": {"smoothing": 0.0},
        "classes": list(range(10)),
        "started_from": {"history": history[:2]},
    }
    run = run_from_card(staged)
    assert run.epochs["epoch"].tolist() == [1, 2, 3, 4, 5]
    assert run.stages == (3,)
    assert run.floor == 0
    np.testing.assert_allclose(run.epochs["gap"], 0.1)
    assert run.epochs.shape == (5, 8)
    alone = run_from_card(staged | {"started_from": None})
    assert alone.stages == ()


def test_what_a_history_lacks_is_not_a_number() -> None:
    run = run_from_card(card(history=[{"epoch": 0, "train_accuracy": 0.5}]))
    assert run.epochs["held_out_accuracy"].isna().all() and run.epochs["train_accuracy"].tolist() == [0.5]


def card(**changes: Any) -> dict[str, Any]:
    """Of two classes."""
    scores = {
        "samples": 8,
        "accuracy": 0.875,
        "calibration_error": 0.02,
        "confusion": [[3, 1], [0, 4]],
        "reliability": {"confidence": [None, 0.5], "accuracy": [None, 1.0], "count": [0, 8]},
    }
    return {
        "name": "small",
        "command": "python -m core train vit",
        "date": "2026-01-02",
        "parameters": 12,
        "classes": ["Dress", "Coat"],
        "calibration": {"temperature": 1.5},
        "training": {"smoothing": 0.1},
        "history": [ROW],
        "metrics": {"test": scores, "validation": {**scores, "samples": 4}},
        **changes,
    }


def test_a_card_becomes_a_record() -> None:
    record = read_record(card(teacher={"validation_accuracy": 0.9}))
    assert list(record.parts) == ["test", "validation"] and record.parts["validation"].samples == 4
    test = record.parts["test"]
    assert test.confusion.sum() == test.samples == 8
    assert np.isnan(test.reliability["confidence"][0]) and test.reliability["count"].tolist() == [0, 8]
    assert record.teacher_accuracy == 0.9
    assert record.photographs is None and record.run.epochs["epoch"].tolist() == [1]


def test_the_shipped_card_is_a_record() -> None:
    record = read_record(checkpoints.read_card("vit"))
    assert record.parts["test"].samples == 10_000 == record.parts["test"].confusion.sum()
    assert record.photographs is None
    photographed = read_record(checkpoints.read_card("cct")).photographs
    assert photographed is not None and photographed.samples == 341


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"classes": None}, "another type"),
    ({"history": 3}, "another type"),
    ({"history": [[1]]}, "another type"),
    ({"training": {}}, "it lacks 'smoothing'"),
    ({"training": {"smoothing": "much"}}, "could not convert"),
    ({"calibration": []}, "another type"),
    ({"parameters": 1e999}, "another type"),
    ({"metrics": {"test": {}}}, "it lacks"),
    ({"metrics": {"test": {**card()["metrics"]["test"], "confusion": [[1, 2]]}}}, "another shape"),
    ({"metrics": {"test": {**card()["metrics"]["test"], "confusion": [[1, 2], [3]]}}}, "describe"),
    (
        {"metrics": {"test": {**card()["metrics"]["test"], "reliability": {"confidence": [], "accuracy": [1], "count": []}}}},
        "shape",
    ),
    ({"started_from": {"history": None}}, "another type"),
    ({"teacher": "he"}, "another type"),
]


@pytest.mark.parametrize(("change", "words"), MALFORMED, ids=[str(place) for place in range(len(MALFORMED))])
def test_a_malformed_card_gets_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(checkpoints.CheckpointError, match=words):
        read_record(card(**change))
