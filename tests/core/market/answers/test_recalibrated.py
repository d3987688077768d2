"""`evaluate tlob --adaptive` over a file, and its summary against scores taken here."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss, matthews_corrcoef

from core.cli import main
from core.market.answers.predictions import RowPredictions, predict_rows
from core.market.answers.recalibration import SCORED_AFTER, AdaptiveHead, recalibrate_file, recalibrate_rows
from core.market.book import BookError
from core.market.labels import moves_after
from core.market.predictor import Predictor, load_predictor
from tests.core.market.helpers import HEADS, frame_from_rows, random_book, save_tiny, with_hole

HEAD = 3
ROWS = with_hole(random_book(1_500, 3), 700, 9)


@pytest.fixture(scope="module")
def found(predictor: Predictor) -> RowPredictions:
    return predict_rows(predictor, ROWS, predictor.markets["pooled"])


def test_scores_count_after_the_first_thousand_outcomes(predictor: Predictor, found: RowPredictions) -> None:
    market = predictor.markets["pooled"]
    kind, horizon = HEADS[HEAD]
    answer, scored, about = recalibrate_file(found, ROWS, market, HEAD)
    assert scored.tolist() == np.flatnonzero(found.truth[:, HEAD] >= 0)[SCORED_AFTER:].tolist() and len(scored) > 300
    p = found.probabilities[:, HEAD].astype(np.float64)
    moves = moves_after(ROWS, (kind, horizon))[found.rows]
    adapted = recalibrate_rows(found.rows, p, moves, AdaptiveHead(horizon, market.alphas[HEAD])).adapted
    assert (answer.adapted == adapted).all() and answer.alpha == market.alphas[HEAD]
    assert answer.truth[scored].tolist() == found.truth[scored, HEAD].tolist()
    assert sum(about["weights"].values()) == pytest.approx(1, abs=2e-4)


def test_too_few_outcomes_are_refused(predictor: Predictor, found: RowPredictions) -> None:
    few = replace(found, **{k: getattr(found, k)[:500] for k in vars(found) if k != "heads"})
    with pytest.raises(BookError, match=r"outcomes of forward 5 are known: more than 1000 are needed|more than 1,000"):
        recalibrate_file(few, ROWS, predictor.markets["pooled"], HEAD)
    with pytest.raises(BookError, match="0 outcomes"):  # the quarter hour that thresholds need is not over
        recalibrate_file(found, ROWS, predictor.markets["pooled"], HEAD, thresholds="past")


def test_the_command_prints_before_after_coverage_and_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_tiny(tmp_path, ROWS)
    file = tmp_path / "unknown_market.csv"
    frame_from_rows(ROWS).to_csv(file, index=False)
    command = ["evaluate", "tlob", "--data", str(file), "--checkpoint", "tiny", "--folder", str(tmp_path)]
    assert main([*command, "--label", "forward", "--horizon", "5", "--adaptive", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (one,) = answer["recordings"]
    assert (one["market"], one["thresholds"], one["scored_after"]) == ("pooled", "card", 1_000)
    assert one["value"].keys() == {"tlob", "momentum", "stationary"}
    assert one["value"]["stationary"]["taker"]["trades"] == 0
    predictor = load_predictor("tiny", folder=tmp_path)
    market, head = predictor.markets["pooled"], predictor.head("forward", 5)
    found = predict_rows(predictor, ROWS, market)
    again, scored, _about = recalibrate_file(found, ROWS, market, head)
    truth, p = found.truth[scored, head], found.probabilities[scored, head].astype(np.float64)
    assert answer["samples"] == len(scored)
    assert answer["matthews"] == pytest.approx(matthews_corrcoef(truth, found.calls[scored, head]), abs=1e-6)
    assert not any("move_bps" in one["value"][rule] for rule in one["value"])  # said once, of the scored rows:
    mids, calls = dict(zip(found.timestamps[scored], found.mid[scored], strict=True)), found.calls[scored, head]
    moves = [
        (int(call) - 1) * (mids[t + 1_250] / mids[t] - 1) * 1e4
        for t, call in zip(found.timestamps[scored], calls, strict=True)
        if call != 1 and t + 1_250 in mids
    ]
    assert answer["move_bps"] == pytest.approx(np.mean(moves), abs=1e-6)
    written = log_loss(truth, p / p.sum(axis=1, keepdims=True), labels=[0, 1, 2])
    assert answer["forecasters"]["written"]["log_loss"] == pytest.approx(written, abs=2e-6)
    assert answer["log_loss"] == pytest.approx(log_loss(truth, again.adapted[scored], labels=[0, 1, 2]), abs=2e-6)
    assert answer["log_loss"] < answer["forecasters"]["written"]["log_loss"]  # an untrained model: the past helps much
    assert main([*command, "--label", "forward", "--horizon", "5", "--adaptive"]) == 0
    assert "recalibrated" in capsys.readouterr().out


def test_files_of_one_market_are_one_recording_and_other_markets_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tiny(tmp_path, ROWS)
    parts = {"one_2024-01-01": slice(0, 700), "one_2024-01-02": slice(700, None), "two_2024-01-01": slice(None)}
    for name, part in parts.items():
        frame_from_rows(ROWS[part]).to_csv(tmp_path / f"{name}.csv", index=False)
    command = ["evaluate", "tlob", "--checkpoint", "tiny", "--folder", str(tmp_path), "--label", "forward", "--horizon", "5"]
    assert main([*command, "--adaptive", "--json", "--data", *map(str, sorted(tmp_path.glob("*.csv")))]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["recording"] for one in answer["recordings"]] == ["one_2024-01-01", "two_2024-01-01"]
    one, two = [row for row in answer["groups"] if row["by"] == "recording" and row["forecaster"] == "tiny"]
    assert one["samples"] == two["samples"] > 300 and answer["samples"] == 2 * one["samples"]
    assert one["log_loss"] == two["log_loss"] == pytest.approx(answer["log_loss"], abs=1e-6)
