"""TLOB and trees averaged: the average by hand, and the forecaster against its two parts."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from core.market.forecasters import blend as blend_module
from core.market.forecasters.blend import WEIGHTS, BlendForecaster, RunningWeights, log_average
from core.market.forecasters.catalogue import SHIPPED
from core.market.forecasters.protocol import ForecasterError, ForecastTask, ask, head_name, task_of
from core.market.forecasters.trees import FOLDER
from core.market.predictor import load_predictor, windows_of
from scripts.blend_weights import choose
from tests.core.market.helpers import EXCERPTS, read_rows

MARKET = "live/binance/NEXO/USDT"


def task() -> ForecastTask:
    predictor = load_predictor()
    return ForecastTask(heads=predictor.heads, alphas=predictor.market(MARKET).alphas, market=MARKET)


def test_the_weight_of_a_forecaster_that_knows_nothing_is_small() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 3_000)
    knows = np.where(np.arange(3) == truth[:, None], 0.6, 0.2)
    guesses = rng.dirichlet(np.ones(3), 3_000)
    assert choose(knows, guesses, truth, ("forward", 10)) <= 0.2
    assert choose(guesses, knows, truth, ("forward", 10)) >= 0.8


def test_it_answers_between_its_two_parts_by_the_weights_of_its_market() -> None:
    blend = BlendForecaster(task())
    content = json.loads((FOLDER / WEIGHTS).read_text())
    start = content["markets"]["binance_nexousdt"]["weights"]
    weights = RunningWeights(list(start.values()), [horizon for _, horizon in task().heads]).weights
    rows = read_rows(EXCERPTS[0])
    windows = windows_of(rows.levels, np.arange(200, 230, 10), 128)
    found, trees = blend.predict(windows), blend.trees.predict(windows)
    tlob = blend.tlob.by_head(blend.tlob.probabilities(windows))
    assert list(found) == [head_name(head) for head in task().heads]
    for weight, (head, p) in zip(weights, found.items(), strict=True):
        np.testing.assert_allclose(p, log_average(tlob[head], trees[head], weight))
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_beside_the_shipped_model_it_asks_for_no_second_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = load_predictor()
    beside = task_of(predictor, predictor.market(MARKET), MARKET)
    rows = read_rows(EXCERPTS[0])
    windows, times = windows_of(rows.levels, np.array([200]), 128), rows.timestamps[[200]]
    tlob = predictor.predict(windows, predictor.market(MARKET)).probabilities
    plain = ask(BlendForecaster(beside), "blend", times, windows, beside).probabilities
    blend, other = BlendForecaster(beside), BlendForecaster(task())
    monkeypatch.setattr(blend.tlob, "probabilities", None)
    np.testing.assert_allclose(ask(blend, "blend", times, windows, beside, tlob=tlob).probabilities, plain, atol=1e-6)
    wrong = tlob[..., ::-1]  # of another TLOB: not used
    np.testing.assert_allclose(ask(other, "blend", times, windows, beside, tlob=wrong).probabilities, plain, atol=1e-6)


class NeverRight:
    """In place of LightGBM's trees: sure of DOWN, which never comes."""

    market = "binance_nexousdt"

    def __init__(self, task: ForecastTask, **_: object) -> None:
        self.names = [head_name(head) for head in task.heads]

    def predict(self, windows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: np.tile([0.98, 0.01, 0.01], (len(windows), 1)) for name in self.names}


def test_it_leaves_trees_that_are_wrong_and_begins_anew_with_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blend_module, "TreeForecaster", NeverRight)
    predictor = load_predictor()
    beside = task_of(predictor, predictor.market(MARKET), MARKET)
    blend, windows = BlendForecaster(beside), np.ones((1_200, 128, 40))
    times, tlob = 250 * np.arange(1_200), np.tile([0.2, 0.6, 0.2], (1_200, 8, 1))
    first = blend.predict_beside(times, windows, tlob)
    assert first["forward_10"][0, 0] > 0.25
    truth = np.ones(1_201, dtype=np.int64)
    blend.learn(5, np.append(times, 10**9), truth)  # the last was never asked about
    later = blend.predict_beside(times, windows, tlob)
    for index, (name, p) in enumerate(later.items()):
        if index == 5:
            np.testing.assert_allclose(p[0], tlob[0, 5], atol=0.05)
        else:
            np.testing.assert_array_equal(p, first[name])
    blend.forget()
    blend.learn(5, times, truth[:-1])  # of the recording before: nothing is awaited any more
    np.testing.assert_array_equal(blend.predict_beside(times, windows, tlob)["forward_20"], first["forward_20"])


def test_the_weights_were_chosen_for_the_shipped_model() -> None:
    content = json.loads((FOLDER / WEIGHTS).read_text())
    assert content["tlob"] == load_predictor().card["weights_sha256"]
    files = {path.name.removeprefix("trees_").removesuffix(".json.xz") for path in FOLDER.glob("trees_*.json.xz")}
    assert set(content["markets"]) == files and "blend" in SHIPPED
    for market in content["markets"].values():
        assert all(0 <= weight <= 1 for weight in market["weights"].values())


def test_trees_without_weights_say_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "trees_pooled.json.xz").write_bytes(lzma.compress(json.dumps({"heads": {}}).encode()))
    with pytest.raises(ForecasterError, match=r"no weights of the blend for pooled: blend.json holds them"):
        BlendForecaster(task(), folder=tmp_path)
