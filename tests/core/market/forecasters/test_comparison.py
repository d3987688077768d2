"""Forecasters beside TLOB over a recording: the same rows and rules, paired differences, the command."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss, matthews_corrcoef

from core.cli import main
from core.cli.evaluate_recordings import equal_lines
from core.market.answers.predictions import RowPredictions, outcomes, predict_rows
from core.market.book import BookRows, frame_from_rows
from core.market.calibration import fit_rule
from core.market.forecasters import comparison as comparison_module
from core.market.forecasters.catalogue import MomentumForecaster, StationaryForecaster
from core.market.forecasters.comparison import compare, run_over, split_ends
from core.market.forecasters.protocol import Fault, ForecastTask, task_of
from core.market.forecasters.table import TableForecaster
from core.market.labels import UNKNOWN
from core.market.predictor import MarketCard, Predictor
from tests.core.market.helpers import HEADS, random_book, tiny_predictor, with_hole

ROWS = with_hole(random_book(2_400, 1), 1_600, 9)


@pytest.fixture(autouse=True)
def rules_of_short_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording here is too short for rules that are worth having."""
    monkeypatch.setattr(comparison_module, "FIT_FROM", 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoint")


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return tiny_predictor(folder, random_book(1_000, 2))


@pytest.fixture(scope="module")
def entry(predictor: Predictor) -> MarketCard:
    return predictor.markets["testville"]


@pytest.fixture(scope="module")
def found(predictor: Predictor, entry: MarketCard) -> RowPredictions:
    return predict_rows(predictor, ROWS, entry)


@pytest.fixture(scope="module")
def task(predictor: Predictor, entry: MarketCard) -> ForecastTask:
    return task_of(predictor, entry, "testville abc")


class Oracle:
    """Probabilities from the outcomes themselves, wrong in a known share of the rows."""

    def __init__(self, rows: BookRows, predictor: Predictor, entry: MarketCard, wrong: float) -> None:
        truth = np.maximum(outcomes(rows, predictor.heads, entry), 0)
        rng = np.random.default_rng(0)
        truth = np.where(rng.random(truth.shape) < wrong, rng.integers(3, size=truth.shape), truth)
        self.times, self.p = rows.timestamps, np.eye(3)[truth] * 0.7 + 0.1

    def predict_at(self, timestamps: np.ndarray, windows: np.ndarray) -> np.ndarray:
        return self.p[np.searchsorted(self.times, timestamps)]


def test_rules_come_from_the_first_part_alone_and_scores_from_the_rest(predictor: Predictor, entry: MarketCard) -> None:
    oracle = Oracle(ROWS, predictor, entry, 0.5)
    comparison = compare(predictor, ROWS, entry, {"oracle": oracle}, spelling="testville abc")
    truth = outcomes(ROWS, predictor.heads, entry)
    for head, (kind, horizon) in enumerate(HEADS):
        tlob, found = comparison.scores(head)
        fit = np.arange(23, 480 - 20)  # a window at the start; the longest horizon before the cut
        fit = fit[truth[fit, head] != UNKNOWN]
        scored = np.array([t for t in range(480 + 24 + 20, 2_400) if not 1_600 <= t < 1_600 + 23 and truth[t, head] != UNKNOWN])
        logits = np.log(oracle.p[:, head])
        rule = fit_rule(logits[fit], truth[fit, head], maximise="macro_f1" if kind == "smoothed" else "matthews")
        assert found.rule is not None and asdict(found.rule) == pytest.approx(asdict(rule), abs=1e-9)
        assert found.scores.samples == tlob.scores.samples == len(scored) and found.missing == {}
        p = rule.probabilities(logits[scored])
        assert found.summary()["matthews"] == pytest.approx(matthews_corrcoef(truth[scored, head], rule.call(p)), abs=5e-5)
        assert found.scores.log_loss == pytest.approx(log_loss(truth[scored, head], p, labels=[0, 1, 2]), abs=1e-9)
        assert horizon and found.less_tlob["matthews"].low > 0 > found.less_tlob["log_loss"].high


def test_tlob_against_itself_differs_by_nothing(
    predictor: Predictor, entry: MarketCard, task: ForecastTask, found: RowPredictions
) -> None:
    """Its own exported table, read back as a forecaster, gives its own scores."""
    table = TableForecaster(found.table(), task, name="own.csv")
    comparison = compare(predictor, ROWS, entry, {"own": table}, spelling="testville abc", known=found)
    for head in range(len(HEADS)):
        tlob, own = comparison.scores(head)
        assert own.scores.confusion.tolist() == tlob.scores.confusion.tolist()
        assert own.scores.log_loss == pytest.approx(tlob.scores.log_loss, abs=1e-6)
        assert own.less_tlob.keys() == {"matthews", "log_loss"}
        for difference in own.less_tlob.values():
            assert max(map(abs, (difference.value, difference.low, difference.high))) < 1e-6


def test_missing_rows_are_counted_and_both_are_compared_on_the_others(
    predictor: Predictor, entry: MarketCard, task: ForecastTask, found: RowPredictions
) -> None:
    table = found.table()
    table.loc[table["timestamp"] > ROWS.timestamps[1_800], "forward_10_p_up"] = np.nan
    later = TableForecaster(table[table["timestamp"] < ROWS.timestamps[2_200]], task, name="own.csv")
    comparison = compare(predictor, ROWS, entry, {"own": later}, spelling="", known=found)
    tlob, own = comparison.scores(1)
    assert own.missing == {"absent": 200 - 10, "not_a_number": 399} and own.scores.samples == tlob.scores.samples - 589
    assert own.reason == "own.csv gave a probability that is not a number from 0 to 1."
    assert own.less_tlob["matthews"].value == pytest.approx(0, abs=1e-12)
    _, other = comparison.scores(0)
    assert other.missing == {"absent": 190}


def test_scores_of_no_answers_are_null_in_json(
    predictor: Predictor, entry: MarketCard, task: ForecastTask, found: RowPredictions
) -> None:
    table = found.table()
    silent = TableForecaster(table.assign(timestamp=table["timestamp"] + 10**9), task, name="silent.csv")
    comparison = compare(predictor, ROWS, entry, {"silent": silent}, spelling="", known=found)
    summary = comparison.scores(0)[1].summary()
    assert summary["rows"] == 0
    assert {summary[score] for score in ("accuracy", "macro_f1", "matthews", "log_loss", "ece")} == {None}
    json.dumps(summary, allow_nan=False)
    line = equal_lines({"rules_fitted_on": "nothing", "scores": {"silent": summary}})[1]
    assert "no answer to score" in line and "nan" not in line


def test_naive_rules_keep_their_names_promise(predictor: Predictor, entry: MarketCard, task: ForecastTask) -> None:
    """Always stationary calls nothing else, also where moves are commoner; its probabilities become base rates."""
    peers = {"momentum": MomentumForecaster(task), "stationary": StationaryForecaster(task)}
    comparison = compare(predictor, ROWS, entry, peers, spelling="")
    for head in range(len(HEADS)):
        _, _, stationary = comparison.scores(head)
        assert stationary.scores.confusion[:, [0, 2]].sum() == 0
        fit = comparison.fit & (comparison.truth[:, head] != UNKNOWN)
        moving = (comparison.truth[fit, head] != 1).mean()
        assert stationary.rule is not None
        p = stationary.rule.probabilities(np.log([0.25, 0.5, 0.25]))
        assert p == pytest.approx([moving / 2, 1 - moving, moving / 2], abs=1e-4)


class Failing:
    """Counts how often it is asked, and fails."""

    asked = 0

    def predict(self, windows: np.ndarray) -> np.ndarray:
        self.asked += 1
        raise OSError("gone")


def test_a_failing_forecaster_is_soon_asked_no_more(task: ForecastTask) -> None:
    failing, ends = Failing(), np.arange(23, 1_600)
    found = run_over(failing, "Mine", ROWS, ends, task)
    assert failing.asked == 3 and found.reason == "Mine failed: OSError: gone."
    assert (found.faults[: 3 * 256] == Fault.FAILED).all() and (found.faults[3 * 256 :] == Fault.NEVER).all()
    assert len(found.faults) == len(ends)


class Learning:
    """Answers one third each, and keeps what it is told and when."""

    def __init__(self) -> None:
        self.now, self.forgotten = 0, 0
        self.told: list[tuple[int, int, int, int]] = []  # when, head, timestamp, class

    def predict_at(self, timestamps: np.ndarray, windows: np.ndarray) -> np.ndarray:
        self.now = int(timestamps[-1])
        return np.full((len(windows), len(HEADS), 3), 1 / 3)

    def learn(self, head: int, timestamps: np.ndarray, truth: np.ndarray) -> None:
        self.told += [(self.now, head, int(at), int(came)) for at, came in zip(timestamps, truth, strict=True)]

    def forget(self) -> None:
        self.told.clear()
        self.forgotten += 1


def test_one_that_learns_is_told_each_outcome_once_and_none_before_it_is_known(task: ForecastTask) -> None:
    learning, ends = Learning(), np.concatenate([np.arange(30, 600, 2), np.arange(700, 1_500)])
    truth = np.random.default_rng(4).integers(0, 3, (len(ends), len(HEADS)))
    truth[::7] = UNKNOWN
    for _ in range(2):
        run_over(learning, "Mine", ROWS, ends, task, truth=truth)
    assert learning.forgotten == 2
    times = ROWS.timestamps[ends]
    last_batch = times[len(ends) // 256 * 256]
    for index, (_, horizon) in enumerate(HEADS):
        told = [(at, came) for _, head, at, came in learning.told if head == index]
        known = (times + 250 * horizon <= last_batch) & (truth[:, index] != UNKNOWN)
        assert told == list(zip(times[known].tolist(), truth[known, index].tolist(), strict=True))
        first_of_next = {int(times[start - 1]): int(times[start]) for start in range(256, len(ends), 256)}
        assert all(at + 250 * horizon <= first_of_next[now] for now, head, at, _ in learning.told if head == index)


def test_one_that_cannot_learn_goes_on(task: ForecastTask, caplog: pytest.LogCaptureFixture) -> None:
    class Refusing(Learning):
        def learn(self, head: int, timestamps: np.ndarray, truth: np.ndarray) -> None:
            raise OSError("gone")

    ends = np.arange(30, 1_200)
    found = run_over(Refusing(), "Mine", ROWS, ends, task, truth=np.ones((len(ends), len(HEADS)), dtype=np.int64))
    assert (found.faults == Fault.NONE).all() and "could not learn" in caplog.text


def test_validation_rows_are_those_of_the_split_by_time() -> None:
    """D10: 70 to 80 %, a window and a horizon after their beginning, a horizon before their end."""
    timestamps = 250 * np.arange(100_000)
    ends, fit = split_ends(timestamps, 128, 100, 80_000 + 228)
    assert ends[fit].tolist() == list(range(70_228, 79_900, 2)) and ends[~fit].tolist() == list(range(80_228, 100_000))
    ends, fit = split_ends(timestamps[:1_000], 128, 100, 0)
    assert not fit.any() and ends.tolist() == list(range(127, 1_000))


def test_the_command_prints_one_object_with_every_forecaster(
    folder: Path, found: RowPredictions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, own = tmp_path / "testville_abc.parquet", tmp_path / "own.csv"
    frame_from_rows(ROWS).to_parquet(data)
    found.table().to_csv(own, index=False)
    command = ["evaluate", "tlob", "--data", str(data), "--label", "forward", "--horizon", "10", "--checkpoint", "tiny"]
    assert main([*command, "--folder", str(folder), "--forecaster", "momentum", str(own), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"tiny", "momentum", "own.csv"} <= answer["forecasters"].keys()
    board = answer["recordings"][0]["equal_terms"]
    assert list(board["scores"]) == ["tlob", "momentum", "own.csv"] and board["rules_fitted_on"] == "the first fifth of the rows"
    assert board["scores"]["own.csv"]["matthews"] == board["scores"]["tlob"]["matthews"]
    assert board["scores"]["own.csv"]["less_tlob"]["matthews"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert main([*command, "--folder", str(folder), "--forecaster", "nobody"]) == 2
    assert "there is no forecaster 'nobody': momentum, stationary, lightgbm, deeplob" in capsys.readouterr().err
