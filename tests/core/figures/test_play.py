"""Figures that the browser plays: what each frame shows agrees with the figure drawn for that frame alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from core.figures import ctc as ctc_figures
from core.figures import metrics as table_figures
from core.figures.learn import optimisers as walk_figures
from core.figures.learn import recurrent as state_figures
from core.figures.learn.recurrent import Band
from core.figures.play import Play, PlayFrame
from core.lecture import optimisers
from core.signs import ctc_lab
from core.signs.edits import edit_table


def test_a_walks_frame_shows_what_the_figure_of_that_step_shows() -> None:
    surface = optimisers.SURFACES["bowl"]
    walks: dict[str, NDArray[np.float64]] = {
        name: optimisers.surface_walks(surface, steps=20, rate=optimisers.constant(0.03))[name].points
        for name in optimisers.OPTIMISERS
    }
    play = walk_figures.surface_play(walks, [str(step) for step in range(21)], start=5)
    x, y, heights = optimisers.height_map(surface, points=5)
    drawn = walk_figures.surface_figure(x, y, heights, walks, names={code: code for code in walks}, minima=surface.minima, step=5)
    assert [len(drawn.data[index].x) for index in play.how] == list(play.frames[5].shown)
    assert len(play.frames) == 21 and play.message()["start"] == 5


def test_the_tables_frame_fills_as_many_entries_and_frames_the_last() -> None:
    reference, hypothesis = ["A", "B", "C"], ["A", "C"]
    table = edit_table(reference, hypothesis)
    whole = table_figures.table_figure(table, reference, hypothesis, filled=table.size, path=[(0, 0), (3, 2)])
    play = table_figures.table_play(whole, 3, [str(entry) for entry in range(table.size)], start=0)
    alone = table_figures.table_figure(table, reference, hypothesis, filled=5)
    heat = int(np.isfinite(np.asarray(alone.data[0].z, dtype=float)).sum())
    assert dict(zip(play.how.values(), play.frames[4].shown, strict=False))["cells"] == heat == 5
    box = alone.layout.shapes[0]
    assert {name: play.frames[4].layout[f"shapes.0.{name}"] for name in ("x0", "x1", "y0", "y1")} == {
        name: box[name] for name in ("x0", "x1", "y0", "y1")
    }
    path = list(play.how).index(1)  # the line of the path: only with the last entry
    assert [frame.shown[path] > 0 for frame in play.frames] == [False] * 11 + [True]


def test_unrolled_states_move_the_mark_with_the_columns() -> None:
    bands = [Band(name="x", values=np.zeros((4, 1))), Band(name="h", values=np.ones((4, 6)))]
    drawn = state_figures.states_figure(bands, steps=list("hola"), at=2, unit=0, x_title="Step")
    play = state_figures.states_play(drawn, list("hola"), at=2)
    mark = len(drawn.layout.shapes) - 1
    assert play.frames[2].layout[f"shapes.{mark}.x0"] == drawn.layout.shapes[mark].x0 == 2
    assert play.frames[2].shown == (3, 3)


def test_the_trellis_opens_full_and_its_sums_end_at_no_more_than_one() -> None:
    problem = ctc_lab.made(["A", "B"], 6, "follow")
    found = problem.lattice()
    sums = ctc_lab.frame_sums(ctc_lab.trellis_values(found, "alpha"))
    drawn = ctc_figures.trellis_figure(found, problem.names)
    play = ctc_figures.trellis_play(drawn, [str(one.frame) for one in sums])
    assert play.start == 5 and set(play.frames[5].shown) == {6}
    last = np.exp(found.alpha[-1])
    assert sums[-1].total == pytest.approx(last.sum()) and 1 >= sums[0].total >= sums[-1].total >= np.exp(found.log_probability)


def test_frames_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one per trace"):
        Play(how={0: "points", 1: "rows"}, frames=[PlayFrame(shown=(1,))]).message()
    with pytest.raises(ValueError, match="none of 1"):
        Play(how={0: "points"}, frames=[PlayFrame(shown=(1,))], start=3).message()
