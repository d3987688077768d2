"""A tournament over two days: its table by scikit-learn from the rows it wrote, its rounds, and its chain."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, matthews_corrcoef

from core.cli import main
from core.market.store.rows import read_market
from tests.core.market.helpers import EXCERPTS, HEADS, real_rows, save_tiny

KIND, HORIZON = HEADS[3]
CLASSES = ("down", "stationary", "up")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a tournament of a checkpoint, a file of probabilities and the naive rules, and what was printed."""
    folder = tmp_path_factory.mktemp("tournament")
    save_tiny(folder, real_rows(1))
    times = []
    for index in (1, 2):
        path = folder / "recordings" / f"venue_pair{index}_2024-01-0{index}.parquet"
        path.parent.mkdir(exist_ok=True)
        shutil.copy(EXCERPTS[index], path)
        times.append(read_market([path]).timestamps)
    stamps = np.unique(np.concatenate(times))
    p = np.random.default_rng(0).dirichlet([2, 3, 2], len(stamps))
    columns = {f"{KIND}_{HORIZON}_p_{name}": p[:, i] for i, name in enumerate(CLASSES)}
    pd.DataFrame({"timestamp": stamps, **columns}).to_csv(folder / "mine.csv", index=False)
    words = ["tournament", str(folder / "recordings"), "--entries", "tiny", str(folder / "mine.csv"), "momentum"]
    words += ["--folder", str(folder), "--label", KIND, "--horizon", str(HORIZON), "--out", str(folder / "out"), "--json"]
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *text, **_options: printed.extend(map(str, text)))
        assert main(words) == 0
    return folder / "out", json.loads(printed[-1])


def test_scikit_learn_recomputes_the_table(played: tuple[Path, dict[str, Any]]) -> None:
    out, answer = played
    rows = pd.read_parquet(out / "rows.parquet")
    lines = {line["forecaster"]: line for line in answer["standings"]}
    assert {"tiny", "mine.csv", "momentum", "stationary", "uniform", "frequencies", "decayed"} == set(lines)
    for name, line in lines.items():
        each = [part for _, part in rows.groupby("recording", observed=True)]
        calls = [part[f"{name}_call"] for part in each]
        matthews = np.mean([matthews_corrcoef(part["truth"], call) for part, call in zip(each, calls, strict=True)])
        accuracy = np.mean([accuracy_score(part["truth"], call) for part, call in zip(each, calls, strict=True)])
        assert line["matthews"] == pytest.approx(matthews, abs=1e-6)
        assert line["accuracy"] == pytest.approx(accuracy, abs=1e-6)
        if f"{name}_down" in rows:
            p = [part[[f"{name}_{c}" for c in CLASSES]].to_numpy(np.float64) for part in each]
            p = [one / one.sum(axis=1, keepdims=True) for one in p]
            loss = np.mean([log_loss(part["truth"], one, labels=[0, 1, 2]) for part, one in zip(each, p, strict=True)])
            assert line["log_loss"] == pytest.approx(loss, abs=2e-6)
    losses = [line["log_loss"] for line in answer["standings"] if line["log_loss"] is not None]
    assert losses == sorted(losses)
    assert lines["uniform"]["log_loss"] == pytest.approx(np.log(3), abs=1e-6)
    assert lines["mine.csv"]["ahead_low"] < lines["mine.csv"]["ahead"] < lines["mine.csv"]["ahead_high"]


def test_each_day_is_a_round_that_its_lowest_log_loss_wins(played: tuple[Path, dict[str, Any]]) -> None:
    _, answer = played
    rounds = pd.DataFrame(answer["rounds"])
    for _, day in rounds.groupby("day"):
        assert day[day["won"]]["log_loss"].tolist() == [day["log_loss"].min()]
    won = {line["forecaster"]: line["won"] for line in answer["standings"]}
    assert sum(won.values()) == rounds["day"].nunique()


def test_the_report_stands_alone_and_the_chain_names_its_answers(played: tuple[Path, dict[str, Any]]) -> None:
    out, answer = played
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "plotly" in page.lower()
    assert 'src="http' not in page
    lines = [json.loads(line) for line in (out / "tournament.jsonl").read_text().splitlines()]
    before = "0" * 64
    for line in lines:
        record = {key: value for key, value in line.items() if key not in ("previous", "hash")}
        assert line["previous"] == before
        assert line["hash"] == (before := hashlib.sha256((before + json.dumps(record, sort_keys=True)).encode()).hexdigest())
    assert before == answer["head"]
    assert [line["round"] for line in lines[1:-1]] == sorted({one["day"] for one in answer["rounds"]})
    assert lines[0]["rules"]["weights"].keys() == {"tiny"}


def test_a_tournament_without_a_checkpoint_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tournament", str(tmp_path), "--entries", "momentum"]) == 2
    assert "no checkpoint is entered" in capsys.readouterr().err
