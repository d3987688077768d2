"""The table of answers: scores by group are scikit-learn's, and counted one by one they are those of the whole."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

from core import scores
from core.market.answers.intervals import FEWEST, block_length, resampled_sums
from core.market.answers.table import NO_CALL, Answered, Table, differences, intervals, score
from core.market.labels import STATIONARY, UNKNOWN

ROWS = 3_000
RNG = np.random.default_rng(11)
TRUTH = RNG.choice([UNKNOWN, 0, 1, 2], ROWS, p=[0.05, 0.2, 0.5, 0.25])
SURE = RNG.dirichlet([1, 2, 1], ROWS)
CALLS = np.where(RNG.random(ROWS) < 0.1, NO_CALL, RNG.integers(0, 3, ROWS))
"""A tenth is missing; the class called is not the likeliest."""
PLAIN = RNG.integers(0, 3, ROWS)
TABLE = Table(
    head=("forward", 5),
    rows=pd.DataFrame(
        {
            "truth": TRUTH,
            "day": RNG.integers(0, 4, ROWS),
            "level": pd.Categorical.from_codes(np.repeat([2, 0], ROWS // 2), ["low", "middle", "high"]),
        }
    ),
    answers={
        "mine": Answered(calls=CALLS, probabilities=SURE),
        "plain": Answered(calls=PLAIN, probabilities=np.full((ROWS, 3), np.nan)),
    },
)


def test_scores_by_group_are_those_of_the_groups_rows() -> None:
    lines = score(TABLE, by=["day", "level"])
    assert [*zip(lines["day"], lines["level"], lines["forecaster"], strict=True)] == [
        (day, level, name) for day in range(4) for level in ("low", "high") for name in ("mine", "plain")
    ]
    for line in lines.to_dict("records"):
        answers = TABLE.answers[line["forecaster"]]
        due = (TABLE.column("day") == line["day"]) & (TABLE.column("level") == line["level"]) & (TRUTH != UNKNOWN)
        there = due & (answers.calls != NO_CALL)
        truth, called = TRUTH[there], answers.calls[there]
        assert (line["samples"], line["missing"]) == (there.sum(), due.sum() - there.sum())
        assert line["accuracy"] == pytest.approx(accuracy_score(truth, called))
        assert line["macro_f1"] == pytest.approx(f1_score(truth, called, average="macro"))
        assert line["matthews"] == pytest.approx(matthews_corrcoef(truth, called))
        if line["forecaster"] == "mine":
            assert line["log_loss"] == pytest.approx(log_loss(truth, SURE[there], labels=[0, 1, 2]))
        else:
            assert np.isnan([line["log_loss"], line["ece"]]).all()


def drawn(there: np.ndarray, *calls: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """(resamples, n): how often each of these rows stands in each resample; and the confusion matrices of calls in them."""
    counts = resampled_sums(np.eye(there.sum()), block_length(int(there.sum()), TABLE.head[1]))
    came = np.eye(3)[TRUTH[: len(there)][there]]
    return counts, [np.einsum("rn,ni,nj->rij", counts, came, np.eye(3)[one[: len(there)][there]], optimize=True) for one in calls]


def test_intervals_are_percentiles_of_the_scores_of_resampled_rows() -> None:
    there = (TRUTH[:260] != UNKNOWN) & (CALLS[:260] != NO_CALL)
    counts, (confusion,) = drawn(there, CALLS)
    lost = -np.log(SURE[:260][there][np.arange(there.sum()), TRUTH[:260][there]])
    expected = {name: getattr(scores, name)(confusion) for name in ("accuracy", "macro_f1", "matthews")}
    expected["log_loss"] = counts @ lost / there.sum()
    bounds = intervals(TABLE[:260], "mine")
    assert bounds.keys() == expected.keys() and intervals(TABLE[:260], "plain").keys() == expected.keys() - {"log_loss"}
    for name, values in expected.items():
        assert bounds[name] == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])))
    assert intervals(TABLE[: FEWEST - 1], "plain") == {}


def test_differences_are_of_the_rows_that_both_answered() -> None:
    part = TABLE[:260]
    there = (TRUTH[:260] != UNKNOWN) & (CALLS[:260] != NO_CALL)
    _, (mine, plain) = drawn(there, CALLS, PLAIN)
    each = scores.matthews(mine) - scores.matthews(plain)
    truth = TRUTH[:260][there]
    whole = matthews_corrcoef(truth, CALLS[:260][there]) - matthews_corrcoef(truth, PLAIN[:260][there])
    less = differences(part, "mine", "plain")["matthews"]
    assert [less.value, less.low, less.high] == pytest.approx([whole, *np.percentile(each, [2.5, 97.5])])
    alike = differences(replace(part, answers={"mine": part.answers["mine"], "same": part.answers["mine"]}), "mine", "same")
    assert [(one.value, one.low, one.high) for one in alike.values()] == [(0, 0, 0)] * 2
    assert differences(TABLE[: FEWEST - 1], "mine", "plain") == {}


def test_calls_of_a_stalled_book_and_those_that_are_missing_are_worth_nothing() -> None:
    rows = pd.DataFrame(
        {"truth": [2, 0, 1, 2], "timestamp": range(4), "mid": 1.0, "spread": 0.1, "stalled": [False, True, False, False]}
    )
    answers = Answered(calls=np.array([2, 0, NO_CALL, 0]), probabilities=np.array([[0.1, 0.2, 0.7]] * 4))
    table = Table(head=("forward", 5), rows=rows, answers={"mine": answers})
    worth = table.call_rows("mine")
    assert worth.calls.tolist() == [2, STATIONARY, STATIONARY, 0] and worth.horizon == 5
    moving = replace(table, rows=rows.drop(columns="stalled")).call_rows("mine")
    assert moving.calls.tolist() == [2, 0, STATIONARY, 0]


def test_tables_are_joined_one_after_the_other() -> None:
    assert Table.joined({"a": TABLE[:3]}).rows["recording"].tolist() == ["a"] * 3
    assert Table.joined({"a": TABLE[:3], "b": TABLE[:3]}).rows.index.tolist() == list(range(6))
    joined = Table.joined({"a": TABLE[:5], "b": TABLE[5:9]})
    assert joined.rows["recording"].tolist() == ["a"] * 5 + ["b"] * 4 and joined.truth.tolist() == TRUTH[:9].tolist()
    assert joined.answers["mine"].calls.tolist() == CALLS[:9].tolist()
    np.testing.assert_array_equal(joined.answers["mine"].probabilities, SURE[:9])
