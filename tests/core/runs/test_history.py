"""Training runs as tables."""

from __future__ import annotations

import numpy as np
import pytest

from core.runs.history import counts, from_history, reliability_bins, report_run, run_of

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
    run = report_run()
    assert run.epoch.tolist() == list(range(1, 26))
    assert run.held_out_accuracy[-1] == pytest.approx(0.8958)  # section 6: 89.58 % on test, 91.09 % on training images
    assert run.train_accuracy[-1] == pytest.approx(0.9109, abs=5e-5)
    assert run.gap[-1] == pytest.approx(0.0151, abs=5e-5)  # 1.51 points, says the text
    assert run.train_loss[-1] == pytest.approx(0.6948 - 0.50026, abs=1e-4)
    assert run.train_loss.min() > 0


def test_stages_follow_each_other() -> None:
    history = [ROW, ROW | {"epoch": 1}, ROW | {"epoch": 2}]
    card = {
        "history": history,
        "training": {"smoothing": 0.0},
        "classes": list(range(10)),
        "started_from": {"history": history[:2]},
    }
    run = run_of(card)
    assert run.epoch.tolist() == [1, 2, 3, 4, 5]
    assert run.stages == (3,)
    assert run.floor == 0
    np.testing.assert_allclose(run.gap, 0.1)
    assert run.table().shape == (5, 7)
    alone = run_of(card | {"started_from": None})
    assert alone.stages == ()


def test_what_a_history_lacks_is_not_a_number() -> None:
    run = from_history([{"epoch": 0, "train_accuracy": 0.5}], smoothing=0.1, classes=10)
    assert np.isnan(run.held_out_accuracy).all()


def test_a_cards_lists_become_arrays() -> None:
    assert counts([[3, 1], [0, 4]]).sum() == 8
    bins = reliability_bins({"confidence": [None, 0.5], "accuracy": [None, 1.0], "count": [0, 2]})
    assert np.isnan(bins["confidence"][0])
    assert bins["count"].tolist() == [0, 2]
