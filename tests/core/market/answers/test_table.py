"""The table of answers: scores by group are scikit-learn's, and counted one by one they are those of the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

from core.market.answers.table import NO_CALL, Answered, Scores, Table, score
from core.market.labels import UNKNOWN

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


def test_outcomes_counted_as_they_come_are_the_scores_of_the_whole() -> None:
    """Two heads of two forecasters, of which a step resolves one or both; and two halves of a table added."""
    known = (TRUTH != UNKNOWN) & (CALLS != NO_CALL)
    truth, calls = TRUTH[known], np.stack([CALLS[known], PLAIN[known]], axis=1)
    given = np.stack([SURE[known], np.full((known.sum(), 3), np.nan)], axis=1)
    running = Scores.nothing(2, 2)
    for row in range(len(truth)):
        heads = np.array([0, 1] if row % 3 else [1])
        running.count(heads, truth[[row] * len(heads)], calls[[row] * len(heads)], given[[row] * len(heads)])
    for head, rows in ((0, np.arange(len(truth)) % 3 > 0), (1, slice(None))):
        for place in range(2):
            whole = Scores.of(truth[rows], Answered(calls=calls[rows, place], probabilities=given[rows, place]))
            mine = running[head, place]
            assert mine.confusion.tolist() == whole.confusion.tolist()
            assert [mine.log_loss, mine.ece, mine.call_gap] == pytest.approx(
                [whole.log_loss, whole.ece, whole.call_gap], rel=1e-12, nan_ok=True
            )
    whole, added = TABLE.score()["mine"], TABLE[:1_000].score()["mine"] + TABLE[1_000:].score()["mine"]
    assert added.confusion.tolist() == whole.confusion.tolist()
    assert added.log_loss == pytest.approx(whole.log_loss, rel=1e-12) and added.ece == pytest.approx(whole.ece, rel=1e-12)
