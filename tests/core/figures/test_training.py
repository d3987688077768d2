"""Figures of a training run: the right series, the floor taken off, empty ones left out."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures import training as figures
from core.runs.history import report_run, run_from_card

ROW = {"rate": 1e-3, "validation_accuracy": 0.8, "train_loss": 0.6, "validation_loss": 0.7}
HISTORY = [ROW | {"epoch": epoch % 2, "train_accuracy": 0.8 + epoch / 50} for epoch in range(4)]
RUN = run_from_card({"name": "small", "history": HISTORY, "training": {"smoothing": 0.1}, "classes": list(range(10))})


def named(figure: go.Figure) -> dict[str, go.Scatter]:
    return {one.name: one for one in figure.data}


def test_both_runs_stand_beside_each_other() -> None:
    lines = named(figures.curve_figure("accuracy", RUN, report_run()))
    assert list(lines) == ["Training images", "Validation images", "Report: training", "Report: test"]
    assert lines["Report: test"].y[-1] == pytest.approx(0.8958)
    assert lines["Training images"].line.color == lines["Validation images"].line.color
    assert lines["Training images"].line.dash != lines["Validation images"].line.dash


def test_the_loss_stands_above_its_floor_and_the_unmeasured_is_left_out() -> None:
    lines = named(figures.curve_figure("loss", RUN, report_run()))
    assert list(lines) == ["Training images", "Validation images", "Report: training"]
    np.testing.assert_allclose(lines["Validation images"].y, 0.7 - 0.50026, atol=1e-4)


def test_the_gap_is_a_difference_of_shares() -> None:
    line = named(figures.curve_figure("gap", RUN, report_run()))["Training - validation"]
    np.testing.assert_allclose(line.y, [0, 0.02, 0.04, 0.06], atol=1e-9)


def test_a_new_stage_is_marked() -> None:
    rate = figures.curve_figure("rate", RUN, report_run())
    assert [shape.x0 for shape in rate.layout.shapes] == [2.5] and list(named(rate)) == ["Learning rate"]


def test_confusion_is_shaded_by_row_and_shows_counts() -> None:
    (heat,) = figures.confusion_figure(np.array([[8, 2], [0, 0]]), ["a", "b"]).data
    assert heat.z.tolist() == [[0.8, 0.2], [0, 0]]
    assert [list(row) for row in heat.text] == [["8", "2"], ["", ""]]


@pytest.mark.usefixtures("upper_case_translator")
def test_words_are_translated() -> None:
    figure = figures.curve_figure("accuracy", RUN, report_run())
    assert all(one.name.isupper() for one in figure.data)
    assert figure.layout.xaxis.title.text == "EPOCH"
