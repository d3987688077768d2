"""A class's trial: quantiles and interval against SciPy, the interval's coverage in simulated classes, and what a class keeps."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from core.lecture.classroom import Asked, ClassError, Classes
from core.lecture.trial import MIN_ARM, PHASES, Trial, effect, quantile


@pytest.mark.parametrize("freedom", [4, 5, 7.3, 12, 40, 400])
def test_quantiles_are_scipys(freedom: float) -> None:
    for probability in (0.9, 0.95, 0.975):
        assert quantile(probability, freedom) == pytest.approx(float(stats.t.ppf(probability, freedom)), abs=0.01)


def test_the_interval_is_welchs() -> None:
    draw = np.random.default_rng(3)
    for n, m in ((6, 9), (20, 14), (60, 61)):
        predicting, watching = draw.integers(-1, 4, n).astype(float), draw.integers(-2, 3, m).astype(float)
        made = effect(list(predicting), list(watching))
        told = stats.ttest_ind(predicting, watching, equal_var=False).confidence_interval(0.95)
        assert made.difference == pytest.approx(float(predicting.mean() - watching.mean()))
        assert (made.low, made.high) == pytest.approx((told.low, told.high), abs=0.01)


def test_too_few_or_equal_gains_get_no_interval() -> None:
    assert math.isnan(effect([1.0] * (MIN_ARM - 1), [0.0, 1.0] * 5).low) and math.isnan(effect([1.0] * 9, [0.0] * 9).low)
    assert effect([1.0] * 9, [0.0] * 9).difference == 1 and math.isnan(effect([], [1.0]).difference)


@pytest.mark.parametrize(("size", "lift"), [(12, 0.3), (24, 0.0), (24, 0.3), (60, 0.15)])
def test_of_simulated_classes_95_in_100_intervals_hold_the_true_effect(size: int, lift: float) -> None:
    """Three questions, students who know more or less, a quarter absent from the second test; the truth by a sum."""
    draw, held, made = np.random.default_rng(size), 0, 0
    knows = (0.2, 0.6)  # before, of either half of the students; afterwards .15 more, and `lift` more for who predicts
    true = 3 * lift  # nobody reaches 1
    for _ in range(1500):
        trial = Trial()
        for student in range(size):
            who, level = str(student), knows[student % 2]
            trial.take(who, "before", int(draw.binomial(3, level)))
            if draw.random() > 1 / 4 or size < 24:
                gained = 0.05 + (lift if trial.arms[who] == "predict" else 0.0)
                trial.take(who, "after", int(draw.binomial(3, min(1.0, level + gained))))
        told = trial.effect("after")
        made += not math.isnan(told.low)  # without an interval where too many were absent
        held += told.low <= true <= told.high
    assert made > 1200 and abs(held / made - 0.95) < 0.025  # four standard errors are .0225


def asked(answer: int) -> Asked:
    return Asked(key="k", text="t", options=("a", "b", "c"), answer=answer, right=(), why="w")


def test_a_class_draws_pairs_counts_right_answers_and_tells_none() -> None:
    classes = Classes()
    code, _key = classes.open()
    shown = asked(1)
    with pytest.raises(ClassError, match="this test is over"):
        classes.hand_in(code, "a", [1, 2])
    classes.test(code, "norms", "before", {"en": [asked(1), asked(2)], "es": [asked(1), asked(2)]})
    told = json.loads(classes.slots(code, "en", {})["test"][1])
    assert told["phase"] == "before" and set(told["items"][0]) == {"text", "options"}  # no answers
    for number in range(10):
        assert classes.mine(code, str(number)) == "null"
        classes.hand_in(code, str(number), [1, 2 * (number % 2)])
        classes.hand_in(code, str(number), [0, 0])  # a second time counts nothing
    _lesson, trial = classes.trial(code)
    assert sorted(trial.arms.values()) == ["predict"] * 5 + ["watch"] * 5
    assert [one["before"] for one in trial.right.values()] == [1 + number % 2 for number in range(10)]
    classes.test(code, "norms", "before", {})
    classes.show(code, {"en": "1"}, {"en": shown}, revealed=False)
    watcher = next(who for who, arm in trial.arms.items() if arm == "watch")
    assert json.loads(classes.mine(code, watcher))["watch"] is True
    with pytest.raises(ClassError, match="this time you watch"):
        classes.answer(code, "k", watcher, 0)
    classes.answer(code, "k", next(who for who, arm in trial.arms.items() if arm == "predict"), 0)
    classes.test(code, "norms", "after", {"en": [shown]})
    classes.answer(code, "k", watcher, 0)  # the comparison is over
    with pytest.raises(ClassError, match="this test is over"):
        classes.hand_in(code, watcher, [1, 2])


def test_the_teachers_page_counts_while_phones_hand_in() -> None:
    """Thirty phones hand in at once, to the server's own thread; a page counts in another."""
    classes = Classes()
    code, _key = classes.open()
    classes.test(code, "norms", "before", {"en": [asked(1)]})
    classes.hand_in(code, "first", [1])
    _lesson, trial = classes.trial(code)
    for of_students in (trial.right, trial.arms):
        for number, _ in enumerate(of_students.values()):
            classes.hand_in(code, f"{id(of_students)} {number}", [1])
    assert len(trial.rows()) == 1 and len(classes.trial(code)[1].rows()) == 3


def test_weeks_later_the_phone_brings_its_group_and_results_and_nothing_else_is_believed() -> None:
    classes = Classes()
    code, _key = classes.open()
    classes.test(code, "norms", "later", {"en": [asked(1)]})
    classes.hand_in(code, "a", [1], ("predict", {"before": 0, "after": 99, "never": 3}))
    classes.hand_in(code, "b", [0], ("teacher", {"before": 0}))
    classes.hand_in(code, "c", [1])
    _lesson, trial = classes.trial(code)
    assert trial.rows() == [{"group": "predict", "before": 0, "after": 1, "later": 1}]
    assert trial.effect("later").counts == (1, 0)


def test_rows_are_ordered_by_what_they_say() -> None:
    trial = Trial()
    for who, right in (("zoe", 0), ("abe", 3), ("kim", 1), ("lee", 2)):
        trial.take(who, PHASES[0], right)
    rows = trial.rows()
    assert rows == sorted(rows, key=lambda row: [str(one) for one in row.values()]) and set(rows[0]) == {"group", *PHASES}
