"""Scores of recordings against scikit-learn, scipy-free sums written out, and the evaluation of one file."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import log_loss, matthews_corrcoef

from core.checkpoints import sha256
from core.cli import evaluate as command
from core.market.answers import report
from core.market.answers.predictions import evaluate
from core.market.answers.recordings import ScoredDay, Scoring, find_recordings, score_day, volatility
from core.market.answers.table import Answered, Table
from core.market.book import STEP_MS
from core.market.predictor import Predictor
from core.market.store.rows import read_market
from tests.core.market.helpers import EXCERPTS, HEADS, frame_from_rows, random_book, real_rows, with_hole, with_stall

HEAD = HEADS[3]


@pytest.fixture(scope="module")
def days(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> list[ScoredDay]:
    folder = tmp_path_factory.mktemp("recordings")
    for index in (1, 2):
        shutil.copy(EXCERPTS[index], folder / f"venue_pair{index}_2024-01-0{index}.parquet")
    return [score_day(day, {"mine": predictor, "twin": predictor}, Scoring(head=HEAD)) for day in find_recordings([folder])]


@pytest.fixture(scope="module")
def rows(days: list[ScoredDay]) -> Table:
    return Table.joined({day.recording: day.table for day in days})


def exact(rows: Table, name: str) -> np.ndarray:
    """Probabilities that sum to one in float64."""
    p = rows.answers[name].probabilities.astype(float)
    return p / p.sum(axis=1, keepdims=True)


def test_one_recordings_scores_are_those_of_the_evaluation(days: list[ScoredDay], predictor: Predictor) -> None:
    one = Table.joined({days[0].recording: days[0].table})
    found = evaluate(predictor, read_market([EXCERPTS[1]]), predictor.market("venue_pair1"))[3].summary()
    table = report.mean_table(one).set_index("forecaster")
    mine = table.loc["mine"]
    assert mine["samples"] == found["samples"] > 200
    for name in ("macro_f1", "matthews", "accuracy", "log_loss", "ece"):
        assert mine[name] == pytest.approx(found[name], abs=6e-5), name  # the summary has four decimals
        assert np.isnan(mine[f"{name}_low"]) or mine[f"{name}_low"] <= mine[name] <= mine[f"{name}_high"]
    for rule, naive in found["baselines"].items():
        for name, value in naive.items():
            assert table.loc[rule, name] == pytest.approx(value, abs=6e-5), (rule, name)


def test_the_mean_over_recordings_leads_and_is_not_the_score_of_all_rows(days: list[ScoredDay], rows: Table) -> None:
    table = report.mean_table(rows).set_index("forecaster")
    each = [matthews_corrcoef(day.table.truth, day.table.answers["mine"].calls) for day in days]
    low, high = stats.t.interval(0.95, len(each) - 1, loc=np.mean(each), scale=stats.sem(each))
    mine = table.loc["mine"]
    assert (mine["matthews"], mine["matthews_low"], mine["matthews_high"]) == pytest.approx((np.mean(each), low, high), abs=2e-3)
    assert mine["recordings"] == 2 and mine["samples"] == len(rows)
    losses = [log_loss(day.table.truth, exact(day.table, "frequencies"), labels=[0, 1, 2]) for day in days]
    assert table.loc["frequencies", "log_loss"] == pytest.approx(np.mean(losses))


def test_a_rule_that_sees_no_book_scores_on_the_rows_of_several_together_alone() -> None:
    """Two recordings of other base rates, in each of which the calls are of one class, and so say nothing."""
    rng = np.random.default_rng(0)
    truth = np.concatenate([rng.choice(3, 2_000, p=[0.1, 0.8, 0.1]), rng.choice(3, 2_000, p=[0.1, 0.1, 0.8])]).astype(np.int8)
    calls = np.repeat(np.array([1, 2], dtype=np.int8), 2_000)
    nothing = np.full((4_000, 3), np.nan, dtype=np.float32)
    columns = {"timestamp": STEP_MS * np.arange(4_000), "truth": truth}
    columns |= {name: np.ones(4_000) for name in ("second", "mid", "spread", "volatility")}
    whole = Table(head=HEAD, rows=pd.DataFrame(columns), answers={"blind": Answered(probabilities=nothing, calls=calls)})
    both = Table.joined({"quiet": whole[:2_000], "rising": whole[2_000:]})
    (pooled,) = report.pooled_table(both)["matthews"]
    (mean,) = report.mean_table(both)["matthews"]
    assert pooled > 0.5 and mean == 0
    groups = report.group_table(both).set_index(["by", "group"])
    assert groups.loc[("day", "1970-01-01"), "matthews"] == 0  # nor does a group pool them


@pytest.mark.parametrize("sure", [(0.9, 0.3), (0.3, 0.9), (0.9, 0.9), (0.3, 0.01)])
def test_recordings_on_which_saying_a_third_each_is_better_are_named(rows: Table, sure: tuple[float, float]) -> None:
    """What came gets so much of the probability in the one recording and in the other; a loss is its logarithm."""
    given = np.array(sure)[rows.rows["recording"].cat.codes]
    p = np.repeat((1 - given[:, None]) / 2, 3, axis=1)
    p[np.arange(len(rows)), rows.truth] = given
    mine = replace(rows.answers["mine"], probabilities=p.astype(np.float32))
    table = report.group_table(replace(rows, answers={"mine": mine}))
    mean = float(np.mean(-np.log(sure)))
    answer = {"checkpoint": "mine", "log_loss": mean, "recordings": [{}, {}], "groups": report.plain(table)}
    worse = [name for name, share in zip(rows.rows["recording"].cat.categories, sure, strict=True) if share < 1 / 3]
    said = command.worse_than_nothing(answer)
    assert len(said) == int(mean > np.log(3)) + bool(worse)
    assert all("1.0986" in one or "of 2 recordings" in one for one in said)
    assert [name for name in rows.rows["recording"].cat.categories if any(name in one for one in said)] == worse


def test_the_groups_of_each_kind_hold_every_row_once(rows: Table) -> None:
    table = report.group_table(rows)
    sums = table[table["forecaster"] == "mine"].groupby("by")["samples"].sum()
    assert set(sums.index) == {"recording", "day", "hour", "volatility", "spread"}
    assert (sums == len(rows)).all()
    hours = pd.to_datetime(rows.column("timestamp"), unit="ms", utc=True).hour
    assert report.groups(rows)["hour"].astype(int).tolist() == list(hours)


def test_a_forecaster_differs_from_its_twin_by_exactly_nothing(rows: Table) -> None:
    pairs = report.pair_table(rows).set_index(["first", "second"])
    twin = pairs.loc[("mine", "twin")]
    assert [twin[f"{m}_{b}"] for m in ("matthews", "log_loss") for b in ("value", "low", "high")] == [0.0] * 6
    other = pairs.loc[("mine", "frequencies")]
    values = report.mean_table(rows).set_index("forecaster")["log_loss"]
    assert other["log_loss_value"] == pytest.approx(values["frequencies"] - values["mine"])
    assert other["log_loss_low"] <= other["log_loss_value"] <= other["log_loss_high"]


def test_the_worst_rows_are_the_least_expected_and_a_horizon_apart(rows: Table) -> None:
    worst = report.worst_table(rows)
    given = rows.answers["mine"].probabilities[np.arange(len(rows)), rows.truth]
    assert worst["loss"].iloc[0] == pytest.approx(-np.log(given.min().astype(float)))
    assert worst["loss"].is_monotonic_decreasing
    for _, same in worst.groupby("recording"):
        assert (np.diff(np.sort(same["timestamp"])) >= HEAD[1] * STEP_MS).all()
    line = worst.iloc[0]
    where = (rows.column("timestamp") == line["timestamp"]).argmax()
    assert rows.truth[where] == line["truth"]


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
    seen.__dict__ |= predictor.__dict__ | {"card": predictor.card | {"data": [{"file": "x", "sha256": sha256(day.path)}]}}
    whole, part = (score_day(day, {"mine": one}, Scoring(head=HEAD)) for one in (predictor, seen))
    first = int(len(real_rows(1)) * 0.8) + predictor.window + max(h for _, h in HEADS)
    assert (whole.part, part.part) == ("all", "test")
    seconds = whole.table.column("second")
    np.testing.assert_array_equal(part.table.column("second"), seconds[seconds >= first * STEP_MS / 1e3])


def test_rows_of_a_stalled_book_are_counted_and_said_and_not_scored(predictor: Predictor, tmp_path: Path) -> None:
    """Of 1,200 steps without a change those past two minutes, and no row after them."""
    frame_from_rows(with_stall(real_rows(1), 200, 1_200)).to_parquet(tmp_path / "venue_abc_2024-01-01.parquet")
    day = score_day(find_recordings([tmp_path])[0], {"mine": predictor}, Scoring(head=HEAD))
    times = (day.table.column("timestamp") - real_rows(1).timestamps[0]) // STEP_MS
    assert day.stalled == 1_200 - 480 + 1
    assert not ((times >= 200 + 480) & (times <= 200 + 1_200)).any() and times.max() > 1_400
    rows = Table.joined({day.recording: day.table})
    answer = command._answer("mine", rows, [day], {}, report.all_tables(rows))
    assert answer["recordings"][0]["stalled"] == day.stalled
    assert "721 rows of a book that had not changed for 120 s are not scored" in command.table(answer)
