"""Figures of signs, CTC and metrics: every number where it belongs, and what is impossible left out."""

import re
from itertools import product

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest

from core.figures import ctc as ctc_figures
from core.figures import metrics as metrics_figures
from core.figures import signs as figures
from core.signs import ctc, ctc_lab, metrics
from core.signs.edits import edit_table
from pages.shared.language import translate_to

NAMES = tuple("∅ABCDEFGHIJKLMNOPQRSTU")


def travels(figure: go.Figure) -> None:
    """It can be sent to a browser."""
    orjson.loads(figure.to_json(validate=False))


@pytest.fixture
def probabilities() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(len(NAMES), 0.2), 30).astype(np.float32)


def test_a_clip_shows_the_likeliest_labels_and_the_blank(probabilities):
    shown = figures.labels_shown(probabilities)
    assert len(shown) == figures.MAX_LABELS
    assert shown[0] == 0
    hidden = set(range(len(NAMES))) - set(shown)
    assert probabilities[:, list(hidden)].max() <= probabilities[:, shown[1:]].max(axis=0).min()
    seconds = np.arange(30) / 8
    figure = figures.clip_figure(probabilities, NAMES, seconds, strip=[(0, b"one"), (20, b"two")])
    heat, dots = figure.data
    np.testing.assert_array_equal(heat.z, probabilities[:, shown].T)
    assert list(figure.layout.yaxis.ticktext) == [NAMES[label] for label in shown]
    for second, row in zip(dots.x, dots.y, strict=True):
        t = round(second * 8)
        assert shown[row] == probabilities[t].argmax()
    assert len(figure.layout.images) == 2
    assert figure.layout.yaxis.domain[1] < 1
    assert figure.layout.height == figures.clip_height(len(shown), strip=True)
    travels(figure)
    assert figures.clip_figure(probabilities[:1], NAMES, seconds[:1]).layout.images == ()


@pytest.mark.parametrize("skip", [True, False])
def test_the_trellis_marks_what_lies_on_a_valid_path(skip):
    problem = ctc_lab.made(["A", "B", "B"], 6, "random", seed=2)
    found = problem.lattice(skip=skip)
    figure = ctc_figures.trellis_figure(found, problem.names, best=ctc.best_path(found).states, selected=(2, 1))
    lying = next(trace for trace in figure.data if trace.name == "states")
    marked = {(int(x) - 1, int(y)) for x, y in zip(lying.x, lying.y, strict=True)}
    assert marked == {(t, state) for path in ctc.valid_paths(found) for t, state in enumerate(path.states)}
    colours = dict(zip(zip(lying.x - 1, lying.y, strict=True), lying.marker.color, strict=True))
    for (t, s), colour in colours.items():
        assert colour == pytest.approx(found.posteriors[t, s])
    steps = {(int(x0) - 1, int(y0), int(y1)) for x0, y0, y1 in edges(figure)}
    taken = {
        (t, a, b) for path in ctc.valid_paths(found) for t, (a, b) in enumerate(zip(path.states, path.states[1:], strict=False))
    }
    assert steps == taken
    assert any(trace.name == "Skip over a blank" for trace in figure.data) is skip
    travels(figure)


def edges(figure):
    for trace in figure.data:
        if trace.name in ("Stay or next state", "Skip over a blank"):
            for place in range(0, len(trace.x), 3):
                yield trace.x[place], trace.y[place], trace.y[place + 1]


def test_a_table_is_filled_entry_by_entry():
    reference, hypothesis = ["A", "B", "C"], ["A", "C"]
    table = edit_table(reference, hypothesis)
    path = metrics_figures.alignment_path(metrics.word_errors([reference], [hypothesis]).alignments[0])
    assert path == [(0, 0), (1, 1), (2, 1), (3, 2)]
    for filled in (1, 5, 12):
        shown = metrics_figures.sentences_table(table, reference, hypothesis, name="edits", path=path, filled=filled)
        known = np.arange(12).reshape(4, 3) < filled
        np.testing.assert_array_equal(np.isfinite(shown.values), known)
        np.testing.assert_array_equal(shown.values[known], table[known])
    assert shown.outlined == ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 1, 1), (3, 3, 2, 2)) and shown.written
    assert shown.row_names == ["–", *reference] and shown.column_names == ["–", *hypothesis]


def test_the_sentence_about_an_entry_is_the_recursions_in_both_languages():
    sentences = ["A C B", "A B C A B", "", "A", "B A", "X A A Y"]
    for ref, hyp in product(map(str.split, sentences[1:]), map(str.split, sentences)):
        table = edit_table(ref, hyp)
        for i, j in product(range(len(ref) + 1), range(len(hyp) + 1)):
            above, left, diagonal, here = (int(table[at]) for at in ((i - 1, j), (i, j - 1), (i - 1, j - 1), (i, j)))
            if not i or not j:
                alone = f"Deletions alone: {here}." if i else f"Insertions alone: {here}."
                true = alone if i or j else "Two empty beginnings need no edit."
            elif ref[i - 1] == hyp[j - 1]:
                true = f"`{ref[i - 1]}` equals `{hyp[j - 1]}`: the diagonal entry, {here}, is copied."
            else:
                assert here == 1 + min(above, left, diagonal)
                true = (
                    f"`{ref[i - 1]}` differs from `{hyp[j - 1]}`: 1 + the least of {above} (above, a deletion), {left} (to the "
                    f"left, an insertion) and {diagonal} (diagonal, a substitution)."
                )
            told = metrics_figures.about_entry(table, ref, hyp, (i, j))
            spanish = translate_to("es", told)
            assert told == true, (ref, hyp, i, j)
            assert spanish != told and sorted(re.findall(r"\d+", spanish)) == sorted(re.findall(r"\d+", told)), spanish
