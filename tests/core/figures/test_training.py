"""The figure of a training run: the right series, empty ones left out."""

import plotly.graph_objects as go
import pytest

from core.figures.training import accuracy_figure
from core.runs.history import report_run, run_from_card

HISTORY = [{"epoch": epoch % 2, "validation_accuracy": 0.8, "train_accuracy": 0.8 + epoch / 50} for epoch in range(4)]
RUN = run_from_card({"name": "small", "history": HISTORY})


def named(figure: go.Figure) -> dict[str, go.Scatter]:
    return {one.name: one for one in figure.data}


def test_both_runs_stand_beside_each_other_and_a_new_stage_is_marked() -> None:
    figure = accuracy_figure(RUN, report_run())
    lines = named(figure)
    assert list(lines) == ["Training images", "Validation images", "Report: training", "Report: test"]
    assert lines["Report: test"].y[-1] == pytest.approx(0.8958)
    assert lines["Training images"].line.color == lines["Validation images"].line.color
    assert lines["Training images"].line.dash != lines["Validation images"].line.dash
    assert [shape.x0 for shape in figure.layout.shapes] == [2.5]


def test_what_was_not_measured_is_left_out() -> None:
    alone = run_from_card({"name": "small", "history": [{"epoch": 0, "train_accuracy": 0.5}]})
    assert list(named(accuracy_figure(alone, report_run()))) == ["Training images", "Report: training", "Report: test"]


@pytest.mark.usefixtures("upper_case_translator")
def test_words_are_translated() -> None:
    figure = accuracy_figure(RUN, report_run())
    assert all(one.name.isupper() for one in figure.data)
    assert figure.layout.xaxis.title.text == "EPOCH"
