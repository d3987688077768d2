"""The experiment on TLOB's number of pairs: that runs differ in it alone, and that scores and naive rules are what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from core.market.labels import momentum
from core.market.store.index import FOLDER
from core.market.store.rows import read_market
from core.training.tlob import MarketData, predict, prepare_market
from core.training.tlob_pairs import PairsSettings, accuracies, naive_rules, run_one

SETTINGS = PairsSettings(steps=12, epochs=1, batches=2, batch=8)
FILE = FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


@pytest.fixture(scope="module")
def market() -> MarketData:
    return prepare_market("btc", read_market([FILE]), [SETTINGS.head], SETTINGS.steps)


def test_runs_differ_in_pairs_and_seed_alone(market: MarketData) -> None:
    rows = [run_one([market], SETTINGS, pairs=pairs, seed=seed) for seed, pairs in ((0, 1), (0, 2), (1, 1))]
    assert {row["optimiser_steps"] for row in rows} == {2}
    assert rows[0]["parameters"] == rows[2]["parameters"] < rows[1]["parameters"]
    again = run_one([market], SETTINGS, pairs=1, seed=0)
    assert {key: value for key, value in again.items() if key != "seconds"} == {
        key: value for key, value in rows[0].items() if key != "seconds"
    }


def test_scores_are_those_of_scikit_learn(market: MarketData) -> None:
    from core.models.tlob import TLOB

    model = TLOB(SETTINGS.config(1)).eval()
    ends = market.ends["test"]
    called = predict(model, market, ends, "ladder")[:, 0].argmax(axis=1)
    found = accuracies(model, [market], "test")["btc"]
    truth = market.labels[ends, 0]
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, called))
    rules = naive_rules([market], SETTINGS.head)
    calls = momentum(market.rows.mid, SETTINGS.head[1], market.alphas[0])[ends]
    assert rules["momentum"]["btc"]["macro_f1"] == pytest.approx(f1_score(truth, calls, average="macro", labels=[0, 1, 2]))
    train = market.labels[market.ends["train"], 0]
    commonest = np.bincount(train).argmax()
    assert rules["commonest"]["btc"]["accuracy"] == pytest.approx(np.mean(truth == commonest))


def test_the_command_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from core.cli import main

    out = tmp_path / "found.json"
    words = f"pairs --pairs 1 2 --seeds 0 --steps 12 --epochs 1 --batches 1 --batch 8 --out {out} --json"
    assert main([*words.split(), "--data", str(FILE)]) == 0
    assert '"runs"' in capsys.readouterr().out and out.read_text().count('"test_accuracy"') == 2
