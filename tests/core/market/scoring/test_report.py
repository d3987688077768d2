"""Scores of recordings against scikit-learn, scipy-free sums written out, and the evaluation of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, log_loss, matthews_corrcoef

from core.market.book import STEP_MS, read_market
from core.market.evaluation import evaluate
from core.market.labels import UNKNOWN
from core.market.predictor import Predictor
from core.market.scoring import report
from core.market.scoring.recordings import find_recordings
from core.market.scoring.report import Pooled
from core.market.scoring.rows import PRIOR, ScoredDay, base_rates, score_day, volatility
from tests.core.market.helpers import EXCERPTS, HEADS, random_book, real_rows, tiny_predictor, with_hole

HEAD = HEADS[3]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))


@pytest.fixture(scope="module")
def days(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> list[ScoredDay]:
    folder = tmp_path_factory.mktemp("recordings")
    for index in (1, 2):
        shutil.copy(EXCERPTS[index], folder / f"venue_pair{index}_2024-01-0{index}.parquet")
    return [score_day(day, {"mine": predictor, "twin": predictor}, [], HEAD) for day in find_recordings([folder])]


@pytest.fixture(scope="module")
def rows(days: list[ScoredDay]) -> Pooled:
    return Pooled.of(days, HEAD)


def test_one_recordings_scores_are_those_of_the_evaluation(days: list[ScoredDay], predictor: Predictor) -> None:
    one = Pooled.of(days[:1], HEAD)
    found = evaluate(predictor, read_market([EXCERPTS[1]]), predictor.market("venue_pair1"), heads=[3])[0].summary()
    mine = report.overall_table(one).set_index("forecaster").loc["mine"]
    assert mine["samples"] == found["samples"] > 200
    for name in ("macro_f1", "matthews", "accuracy", "log_loss", "ece"):
        assert mine[name] == pytest.approx(found[name], abs=6e-5), name  # the summary has four decimals


def test_scores_over_recordings_are_sklearns(rows: Pooled) -> None:
    table = report.overall_table(rows).set_index("forecaster")
    answer = rows.answers["mine"]
    exact = answer.probabilities.astype(float) / answer.probabilities.astype(float).sum(axis=1, keepdims=True)
    assert table.loc["mine", "matthews"] == pytest.approx(matthews_corrcoef(rows.truth, answer.calls))
    assert table.loc["mine", "log_loss"] == pytest.approx(log_loss(rows.truth, exact, labels=[0, 1, 2]))
    momentum = f1_score(rows.truth, rows.answers["momentum"].calls, average="macro")
    assert table.loc["momentum", "macro_f1"] == pytest.approx(momentum)
    assert np.isnan(table.loc["stationary", "log_loss"]) and table.loc["stationary", "matthews"] == 0


def test_the_groups_of_each_kind_hold_every_row_once(rows: Pooled) -> None:
    table = report.group_table(rows)
    sums = table[table["forecaster"] == "mine"].groupby("by")["samples"].sum()
    assert set(sums.index) == {"recording", "day", "hour", "session", "volatility", "spread"}
    assert (sums == len(rows)).all()
    index, names = report.groups(rows)["hour"]
    hours = pd.to_datetime(rows.timestamps, unit="ms", utc=True).hour
    assert [int(names[i]) for i in index] == list(hours)


def test_a_forecaster_differs_from_its_twin_by_exactly_nothing(rows: Pooled) -> None:
    pairs = report.pair_table(rows).set_index(["first", "second"])
    twin = pairs.loc[("mine", "twin")]
    assert [twin[f"{m}_{b}"] for m in ("matthews", "log_loss") for b in ("value", "low", "high")] == [0.0] * 6
    other = pairs.loc[("mine", "frequencies")]
    values = report.overall_table(rows).set_index("forecaster")["log_loss"]
    assert other["log_loss_value"] == pytest.approx(values["frequencies"] - values["mine"])
    assert other["log_loss_low"] <= other["log_loss_value"] <= other["log_loss_high"]


def test_the_worst_rows_are_the_least_expected_and_a_horizon_apart(rows: Pooled) -> None:
    worst = report.worst_table(rows, most=10)
    given = rows.answers["mine"].probabilities[np.arange(len(rows)), rows.truth]
    assert worst["loss"].iloc[0] == pytest.approx(-np.log(given.min().astype(float)))
    assert worst["loss"].is_monotonic_decreasing
    for _, same in worst.groupby("recording"):
        assert (np.diff(np.sort(same["timestamp"])) >= HEAD[1] * STEP_MS).all()
    line = worst.iloc[0]
    where = (rows.timestamps == line["timestamp"]).argmax()
    assert rows.truth[where] == line["truth"]


def test_frequencies_use_only_outcomes_that_were_known() -> None:
    truth = np.array([2, 2, 0, UNKNOWN, 1, 1, 1])
    found = base_rates(STEP_MS * np.arange(7), truth, horizon=2)
    counts = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 0, 2], [1, 1, 2]]
    wanted = np.array(counts) + PRIOR
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-6)


def test_volatility_is_pandas_and_begins_anew_after_a_gap() -> None:
    book = with_hole(random_book(120, 3), 60, 7)
    found = volatility(book, 16)
    moves = pd.Series(np.log(book.mid)).diff() * 1e4
    moves[[0, 60]] = 0.0
    second = moves[60:].rolling(16, min_periods=1).std(ddof=0)
    np.testing.assert_allclose(found[60:], second, atol=1e-5)
    assert found[0] == found[60] == 0


def test_a_recording_it_learned_from_is_scored_on_its_test_part(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "venue_abc_2024-01-01.parquet"
    shutil.copy(EXCERPTS[1], path)
    day = find_recordings([path])[0]
    seen = Predictor.__new__(Predictor)
    seen.__dict__ |= predictor.__dict__ | {"card": predictor.card | {"data": [{"file": "x", "sha256": day.hashes()[path.name]}]}}
    whole, part = (score_day(day, {"mine": one}, [], HEAD) for one in (predictor, seen))
    first = int(len(real_rows(1)) * 0.8) + predictor.window + max(h for _, h in HEADS)
    assert (whole.part, part.part) == ("all", "test")
    np.testing.assert_array_equal(part.seconds, whole.seconds[whole.seconds >= first * STEP_MS / 1e3])
