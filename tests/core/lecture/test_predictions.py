"""Answers to what a change will show, against what the changed state itself gives, or a closed form."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.lecture import attention_steps, backprop, norms, predictions, recurrence, tokens
from core.lecture.course import LESSONS
from core.lecture.course_numbers import numbers_of
from core.lecture.optimisers import OPTIMISERS, SURFACES

WORDS = ["a", "b", "c", "d", "e"]


def test_the_largest_weight_is_that_of_a_softmax_at_the_other_temperature() -> None:
    x, weights = tokens.embed(WORDS, 4), attention_steps.random_weights(4)
    key, now, then, before, after = predictions.largest_weight(
        attention_steps.steps(x, weights), weights, temperature=0.1, head=0, query=2
    )
    scores = torch.tensor((x @ weights["W_Q"])[2] @ (x @ weights["W_K"]).T / 4**0.5)
    for weight, entropy, row in ((now, before, scores.softmax(0)), (then, after, (scores / 0.1).softmax(0))):
        assert key == int(row.argmax()) and np.isclose(weight, float(row.max()))
        assert np.isclose(entropy, float(torch.distributions.Categorical(row).entropy()))


def test_a_doubled_word_has_four_times_the_score_with_itself_and_a_value_moves_whoever_looks_at_it() -> None:
    x, weights = tokens.embed(WORDS, 4), attention_steps.random_weights(4)
    causal = attention_steps.steps(x, weights, heads=2, mask=attention_steps.build_mask("causal", 5))
    outcome = predictions.doubled_row(causal, weights, head=1, query=3)
    assert outcome.options[outcome.answer] == 4 and outcome.values[1] == pytest.approx(4 * outcome.values[0])
    assert [predictions.outputs_moved(causal, head=1, key=key) for key in range(5)] == [5, 4, 3, 2, 1]
    for key in range(5):
        values = causal.v[1].copy()
        values[key] *= 2
        rows = ~np.isclose(causal.weights[1] @ values, causal.weights[1] @ causal.v[1]).all(axis=1)
        assert rows.sum() == 5 - key


def test_one_row_moves_and_heads_multiply_the_weights() -> None:
    x, weights = tokens.embed(WORDS, 4), attention_steps.random_weights(4)
    assert predictions.rows_changed(x, weights["W_Q"], 3) == 1
    assert predictions.weights_counted(attention_steps.steps(x, weights), weights, 4) == 4 * 5 * 5


def test_reading_backwards_by_the_theorem() -> None:
    x, weights = tokens.embed(WORDS, 4), attention_steps.random_weights(4)
    for positions, causal, answer in ((False, "none", 0), (True, "none", 2), (False, "fixed", 2), (False, "permuted", 0)):
        assert predictions.read_backwards(x, weights, heads=1, positions=positions, causal=causal).answer == answer


def test_norms_dropout_cost_by_closed_form() -> None:
    place = {"sample": 1, "step": 5, "channel": 2}
    assert predictions.tripled("layer", level=3.0, **place).answer == predictions.TRENDS.index("stays")
    assert predictions.tripled("none", level=3.0, **place).answer == predictions.TRENDS.index("rises")
    assert predictions.dropped_mean(0.5).answer == 1
    t, d = 128, 40
    factor = (24 * t * d**2 + 8 * t**2 * d) / (12 * t * d**2 + 2 * t**2 * d)
    assert np.isclose(predictions.doubled_tokens(t, d, 1).values[0], factor)
    assert predictions.doubled_heads(t, d, 2).options[predictions.doubled_heads(t, d, 2).answer] == 2
    assert predictions.softmax_after(0).answer == 0 and predictions.softmax_after(120).answer == 2


def test_dropouts_mean_is_compared_with_what_it_would_be_unscaled_or_scaled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    for kept, answer in ((0.75, 0), (1.0, 1), (4 / 3, 2)):
        monkeypatch.setattr(norms, "dropout_example", lambda rate, kept=kept: SimpleNamespace(means=np.full(3, kept)))
        assert predictions.dropped_mean(0.25) == predictions.Outcome(answer=answer, values=(kept,))


def test_the_lowest_loss_is_recomputed_for_plain_descent() -> None:
    found = predictions.lowest_loss("bowl", rate=0.03, decay=0.1, step=50)
    point = np.array(SURFACES["bowl"].start)
    for _step in range(50):
        point = point - 0.03 * SURFACES["bowl"].gradient(point)
    at = OPTIMISERS.index("sgd")
    assert np.isclose(found.values[at], float(SURFACES["bowl"].value(point)), rtol=1e-6)
    assert found.values[found.answer] == min(found.values)


def test_options_hold_the_truth_once() -> None:
    for true, others in ((3, (3, 1, 2, 9)), (0, (0, 0, 5)), (7, (-1, 7))):
        options, answer = predictions.among(true, others)
        assert options[answer] == true and len(set(options)) == len(options)


def test_options_are_the_first_others_that_are_numbers_of_something() -> None:
    assert predictions.among(3, (3, -1, 9, 9, 0, 5, 12)) == ((0, 3, 5, 9), 1)


def test_every_lesson_has_its_numbers_and_some_are_known() -> None:
    found = {lesson.code: numbers_of(lesson.code) for lesson in LESSONS}
    assert found["permutation"]["orders"] == 120 and found["permutation"]["means"] == 1
    assert found["heads"]["parameters"] == 4 * 512**2 and found["cost"]["mib"] == 48
    assert found["transformer"]["pairs"] == 55 and found["cost"]["crossing"] == 1024
    assert found["ctc"]["llama"] == 6 and found["ctc"]["merged"] == "L"
    assert np.isclose(float(found["metrics"]["over"]), 240) and np.isclose(float(found["metrics"]["corpus"]), 10)
    assert np.isclose(float(found["backprop"]["g1"]), 0.21) and np.isclose(float(found["optimisers"]["limit"]), 0.1)


def test_a_trend_is_a_change_beyond_rounding() -> None:
    for before, after, answer in ((1, 2, "rises"), (2, 1, "falls"), (-2, -1, "rises"), (1, 1 + 1e-9, "stays"), (0, 0, "stays")):
        assert predictions.TRENDS[predictions.trend(before, after)] == answer


def test_the_most_alike_position_is_that_of_the_gram_matrix() -> None:
    matrix = np.random.default_rng(4).normal(size=(16, 6))
    found = predictions.most_alike(matrix, 10)
    assert found.options == (2, 11, 14)  # half, one and a quarter further, around the end
    assert found.options[found.answer] == max(found.options, key=lambda other: float(matrix[10] @ matrix[other]))


def test_slopes_by_autograd() -> None:
    for name, at, answer in (("relu", 1.0, 0), ("relu", -1.0, 1), ("gelu", -1.0, 2), ("gelu", 2.0, 0)):
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        getattr(torch.nn.functional, name)(x).backward()
        found = predictions.slope_at(name, at)
        assert found.answer == answer and np.isclose(found.values[0], float(x.grad or 0), atol=1e-6)


def test_costs_by_which_part_is_large() -> None:
    """12TD² doubles with T, 2T²D grows fourfold."""
    assert [predictions.doubled_tokens(t, d, 1).answer for t, d in ((8, 512), (128, 40), (4096, 8))] == [0, 1, 2]
    assert predictions.doubled_heads(16, 8, 2).options == (1, 2, 4)


def test_choices_among_numbers_that_are_given() -> None:
    assert predictions.largest([1.0, 5.0, 2.0, 5.0]) == predictions.Outcome(answer=1, tied=(3,), values=(5.0, 13.0))
    found = predictions.highest_rate({"a": [0.0, 1.0], "b": [9.0, 3.0], "c": [0.0, 3.0]}, 1)
    assert (found.answer, found.tied, found.values) == (1, (2,), (1.0, 3.0, 3.0))
    assert predictions.looked_at(np.array([0.1, 0.2, 0.3, 0.05, 0.35]), most=3) == ([1, 2, 4], 2)


def test_a_smaller_recurrent_weight_reaches_less_far_and_the_same_one_as_far() -> None:
    x = np.sin(np.arange(12.0))[:, None]
    rnn, lstm = recurrence.random_rnn(1, hidden=3, seed=1), recurrence.random_lstm(1, hidden=3, seed=1)
    for factor, answer in ((1.0, "stays"), (0.05, "falls")):
        found = predictions.reach(x, rnn, lstm, cell="rnn", factor=factor, shift=0.0, seed=0)
        assert predictions.TRENDS[found.answer] == answer


def test_gradients_of_a_moved_input() -> None:
    moved = predictions.moved_gradient("linear", "W", rows=3, seed=2, first=0.5, to=1.5, causal=False)
    entries = [backprop.example("linear", rows=3, seed=2, first=first, causal=False).autograd["W"][0, 0] for first in (0.5, 1.5)]
    assert np.allclose(moved.values, entries) and moved.answer == (0 if entries[1] > entries[0] else 2)
