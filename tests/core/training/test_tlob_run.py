"""From files to a checkpoint and back to its numbers: the command line as a user runs it."""

import io
import json
import math
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core import checkpoints
from core.checkpoints import sha256
from core.cli import main
from core.market.answers.naive import NAIVE
from core.market.answers.predictions import predict_rows
from core.market.book import BookRows
from core.market.features import Constants
from core.market.predictor import POOLED, Predictor
from core.market.store.rows import read_market
from core.training.tlob import MarketFiles, prepare_market
from tests.core.market.helpers import EXCERPTS, frame_from_rows, random_book, with_hole

NAMES = ("testville_spot_abcusd_250ms_2024-01-01.parquet", "elsewhere_xyz_250ms_2024-01-02.csv")
BOOKS = {NAMES[0]: random_book(2_400, 40), NAMES[1]: with_hole(random_book(2_200, 41, tick=0.01, start=5.0), 700, 8)}
SMALL = [
    *("--horizon", "10", "20", "--pairs", "1", "--epochs", "2", "--windows", "96", "--batch", "16"),
    *("--seed", "3", "--name", "small", "--patience", "9", "--ema", "0.5"),
]
HEADS = [("smoothed", 10), ("smoothed", 20), ("forward", 10), ("forward", 20)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, rows in BOOKS.items():
        frame = frame_from_rows(rows)
        frame.to_parquet(folder / name) if name.endswith("parquet") else frame.to_csv(folder / name, index=False)
    return folder


def train_words(data: Path) -> list[str]:
    """The command of a small training on both markets."""
    return ["train", "tlob", *(word for name in NAMES for word in ("--data", str(data / name))), *SMALL]


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint trained by the command line on two markets."""
    folder = tmp_path_factory.mktemp("trained")
    words = [*train_words(data), "--folder", str(folder), "--state", str(folder / "state" / "run")]
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(io.StringIO()) as said:
        patched.setattr("sys.argv", ["core", *words])  # the card keeps the command
        assert main(words) == 0
    lines = said.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["epoch=0", "epoch=1", "wrote"]
    assert lines[-1] == f"wrote {folder / 'small.json'} and its weights"
    return folder


@pytest.fixture(scope="module")
def card(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "small.json").read_text())


def test_the_checkpoint_loads_and_says_what_it_is(folder: Path, card: dict[str, Any], data: Path) -> None:
    predictor = Predictor(checkpoints.load("small", folder=folder))
    assert predictor.heads == tuple(HEADS)
    assert card["classes"] == ["DOWN", "STATIONARY", "UP"]
    assert card["parameters"] == sum(p.numel() for p in predictor.model.parameters())
    assert card["config"] == predictor.config.to_dict()
    asked = {"pairs": 1, "steps": 128, "outputs": 4, "qkv": "single", "pooling": "last"}
    assert {key: card["config"][key] for key in asked} == asked
    assert card["data"] == [{"file": name, "sha256": sha256(data / name)} for name in NAMES]
    assert card["seed"] == card["training"]["seed"] == 3
    assert [row["epoch"] for row in card["history"]] == [0, 1]
    assert set(card["versions"]) >= {"python", "torch", "numpy"}
    assert card["command"].startswith("python -m core train tlob --data testville_spot")
    assert str(folder) not in json.dumps(card)
    assert str(data) not in json.dumps(card)


def test_constants_and_thresholds_are_those_of_the_training_part(card: dict[str, Any]) -> None:
    expected = {}
    for name in NAMES:
        market = prepare_market(name, BOOKS[name], HEADS, 128)  # type: ignore[arg-type]
        expected[name.split("_250ms")[0]] = market
    assert set(card["markets"]) == {*expected, POOLED}
    for name, market in expected.items():
        assert card["markets"][name]["alphas"] == pytest.approx(market.alphas)
        found = Constants.from_dict(card["markets"][name]["constants"])
        assert found.price_scale_bps == pytest.approx(market.constants.price_scale_bps)
        assert found.mean == pytest.approx(market.constants.mean)
        assert len(card["markets"][name]["rules"]) == 4
    assert card["markets"]["testville_spot_abcusd"]["known_by"] == ["testville", "abcusd"]
    pooled = card["markets"][POOLED]
    a, b = expected.values()
    assert pooled["alphas"] == pytest.approx([(x * y) ** 0.5 for x, y in zip(a.alphas, b.alphas, strict=True)])
    scales = [m.constants.price_scale_bps for m in (a, b)]
    assert pooled["constants"]["price_scale_bps"] == pytest.approx((scales[0] * scales[1]) ** 0.5)
    assert pooled["known_by"] == []


@pytest.mark.parametrize("name", NAMES)
def test_evaluate_gives_the_cards_numbers(
    folder: Path, card: dict[str, Any], data: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    market = name.split("_250ms")[0]
    words = ["evaluate", "tlob", "--data", str(data / name), "--checkpoint", "small", "--folder", str(folder), "--json"]
    for head, (label, horizon) in enumerate(HEADS):
        assert main([*words, "--horizon", str(horizon), "--label", label]) == 0
        answer = json.loads(capsys.readouterr().out)
        (one,) = answer["recordings"]
        assert (answer["model"], one["market"], one["part"]) == ("tlob", market, "test")
        assert one["alpha"] == card["markets"][market]["alphas"][head]
        expected = card["metrics"]["test"][market][head]
        assert {key: one[key] for key in ("call", "call_gap", "confusion")} == {
            key: expected[key] for key in ("call", "call_gap", "confusion")
        }
        measures = ("samples", "accuracy", "macro_f1", "matthews", "log_loss", "ece")
        assert [answer[key] for key in measures] == pytest.approx([expected[key] for key in measures], abs=5.1e-5)
        for rule, naive in expected["baselines"].items():
            assert {key: answer["baselines"][rule][key] for key in naive} == pytest.approx(naive, abs=5.1e-5)
        assert (expected["label"], expected["horizon"]) == (label, horizon)
        assert expected["samples"] > 200


def test_a_file_never_seen_is_scored_whole_by_the_pooled_entry(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "tlob", "--data", str(EXCERPTS[0]), "--checkpoint", "small", "--folder", str(folder)]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (one,) = answer["recordings"]
    assert (one["market"], one["part"], answer["samples"]) == ("pooled", "all", 400 - 127 - 10)
    assert main(words) == 0
    table = capsys.readouterr().out
    assert table.startswith("1 recording, 263 rows, forward label, 10 steps; with 95 % intervals\n")
    assert [line.split()[0] for line in table.splitlines()[1:] if "macro-F1" in line] == ["small", *NAIVE]
    assert ("worse than saying a third each" in table) == (answer["log_loss"] > math.log(3))


def documented(heading: str) -> set[str]:
    """The keys of one table of docs/evaluate_json.md."""
    text = (Path(__file__).parents[3] / "docs" / "evaluate_json.md").read_text(encoding="utf-8")
    lines = text.partition(f"## {heading}")[2].partition("## ")[0].splitlines()
    return {key for line in lines if line.startswith("| `") for key in re.findall(r"`(\w+)`", line.split("|")[1])}


def test_what_is_printed_is_what_is_documented(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "tlob", "--checkpoint", "small", "--folder", str(folder), "--json", "--data"]
    keys, of_recording = documented("Keys"), documented("Of each recording")
    assert main([*words, str(EXCERPTS[0])]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main([*words, str(EXCERPTS[0]), str(EXCERPTS[1])]) == 0
    both = json.loads(capsys.readouterr().out)
    assert set(one) == set(both) == keys
    assert {key for each in both["recordings"] for key in each} == of_recording
    first, second = both["recordings"]
    assert (first["rows"], first["first_ms"]) == (one["samples"], one["recordings"][0]["first_ms"])
    assert both["samples"] == first["rows"] + second["rows"]
    assert main([*words, str(EXCERPTS[1])]) == 0
    other = json.loads(capsys.readouterr().out)
    for name in ("accuracy", "macro_f1", "matthews", "log_loss", "ece"):
        assert both[name] == pytest.approx((one[name] + other[name]) / 2, abs=1e-4), name
        if name != "ece":
            low, high = one["interval"][name]
            assert low <= one[name] <= high
            low, high = both["interval"][name]
            assert (low + high) / 2 == pytest.approx(both[name], abs=1e-5)
    for rule, naive in both["baselines"].items():
        assert naive["matthews"] == pytest.approx(
            (one["baselines"][rule]["matthews"] + other["baselines"][rule]["matthews"]) / 2, abs=1e-4
        )


@pytest.mark.parametrize(("rows", "samples"), [(128, 0), (160, 7 * (159 - 127 - 10))])
def test_nothing_is_scored_between_windows_that_are_not_connected(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int, samples: int
) -> None:
    """Seven, with seconds to an hour between them: there is no outcome but within a window, whose last book lies off the grid."""
    books = random_book(7 * rows, 31)
    jumps = np.array([7, 5_013, 20_001, 59_987, 61_111, 600_123, 3_600_001]).cumsum()
    apart = BookRows(timestamps=books.timestamps + np.repeat(jumps, rows), levels=books.levels)
    frame_from_rows(apart).to_parquet(tmp_path / "apart.parquet")
    words = ["evaluate", "tlob", "--data", str(tmp_path / "apart.parquet"), "--checkpoint", "small", "--folder", str(folder)]
    assert main([*words, "--horizon", "10", "--json"]) == (0 if samples else 2)
    said = capsys.readouterr()
    if samples:
        assert json.loads(said.out)["samples"] == samples
    else:
        assert "no stretch of 138 rows without a gap" in said.err
        with pytest.raises(ValueError, match="has no window for train"):
            prepare_market("apart", read_market([tmp_path / "apart.parquet"]), HEADS, 128)


def test_training_again_gives_the_same_weights(data: Path, card: dict[str, Any], tmp_path: Path) -> None:
    assert main([*train_words(data), "--folder", str(tmp_path)]) == 0
    again = json.loads((tmp_path / "small.json").read_text())
    assert again["weights_sha256"] == card["weights_sha256"]
    assert again["metrics"]["test"] == card["metrics"]["test"]
    assert again["markets"] == card["markets"]


EVALUATE = "evaluate tlob --folder {folder} --checkpoint"
FAULTS = {
    f"{EVALUATE} none --data {{known}}": "there is no checkpoint named 'none': there are small",
    f"{EVALUATE} small --data {{data}}/none.parquet": "none.parquet is not there",
    f"{EVALUATE} small --data {{known}} --horizon 7": (
        "this checkpoint has no head for the forward label at 7 steps: it has smoothed 10"
    ),
    f"{EVALUATE} small --data {{known}} --market moon": (
        "the card of 'small' has no market 'moon': it has testville_spot_abcusd, elsewhere_xyz, pooled"
    ),
    "train tlob --data {known} --share 1 2": "2 shares for 1 markets: give one a market",
    "train tlob --data {known} --start-share 0.5": "0.5 is no share of a start: give 0 to 1, and with it the run to start from",
    "train tlob --data {known} --transform raw --mirrored": "raw inputs have no mirror image",
    "train tlob --data {known} --pairs 13": "13 pairs of layers: TLOB takes 1 to 12",
    "train tlob --data {short} --folder {data} --horizon 10": (
        "binance_coinm_btcusd_perp has no window for validation in its 400 rows"
    ),
    "train tlob --data {known} --windows 10": "24 epochs of 0 steps with a patience of 6 train nothing",
    "train tlob --data {known} --folder {data} --state {data}/tlob": (
        "the run's state and its checkpoint would be the same file (tlob.safetensors)"
    ),
}
"""What cannot be done -> part of the sentence that says so."""


@pytest.mark.parametrize("line", FAULTS)
def test_what_cannot_be_done_is_said_in_one_sentence(
    folder: Path, data: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"folder": folder, "data": data, "known": data / NAMES[0], "short": EXCERPTS[0]}
    assert main([word.format(**places) for word in line.split()]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert FAULTS[line] in said.err
    assert said.err.startswith("python -m core ")
    assert said.err.count("\n") == 1


def test_files_of_a_market_are_called_after_the_first() -> None:
    files = MarketFiles(paths=(Path("x/binance_spot_nexousdt_250ms_2024-07-23.parquet"), Path("y/other.parquet")))
    assert (files.name, files.known_by) == ("binance_spot_nexousdt", ["binance", "nexousdt"])
    assert MarketFiles(paths=(Path("mine.csv"),)).known_by == ["mine"]


def test_a_run_may_start_from_an_earlier_one(folder: Path, data: Path, card: dict[str, Any], tmp_path: Path) -> None:
    """At a rate of nothing the weights stay those of the earlier run's best epoch, and the card tells of both runs."""
    still = ["--rate", "0", "--ema", "0", "--epochs", "1", "--name", "on", "--no-test", "--state", str(tmp_path / "run")]
    assert main([*train_words(data), *still, "--start", str(folder / "state" / "run"), "--folder", str(tmp_path)]) == 0
    before, after = checkpoints.load("small", folder=folder), checkpoints.load("on", folder=tmp_path)
    parameters = [name for name, _ in Predictor(before).model.named_parameters()]
    assert all(np.array_equal(before.weights[name], after.weights[name]) for name in parameters)
    assert after.card["started_from"]["command"] == card["command"]
    assert after.card["started_from"]["epochs"] == 2
    assert "test" not in after.card["metrics"]
    assert str(tmp_path) not in json.dumps(after.card)


def test_the_final_weights_may_be_averaged_with_those_of_the_start(folder: Path, data: Path, tmp_path: Path) -> None:
    start = ["--start", str(folder / "small.json"), "--epochs", "1", "--no-test"]
    for name, share in (("end", "0"), ("mean", "0.25")):
        assert main([*train_words(data), *start, "--start-share", share, "--name", name, "--folder", str(tmp_path)]) == 0
    weights = [
        checkpoints.load(name, folder=path).weights for name, path in (("small", folder), ("end", tmp_path), ("mean", tmp_path))
    ]
    for name, first in weights[0].items():
        if first.is_floating_point():
            np.testing.assert_allclose(weights[2][name], 0.25 * first + 0.75 * weights[1][name], atol=1e-5)
    assert any(not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_test_part_may_be_scored_at_every_third_row(folder: Path, card: dict[str, Any], data: Path) -> None:
    predictor = Predictor(checkpoints.load("small", folder=folder))
    rows, entry = BOOKS[NAMES[0]], predictor.markets["testville_spot_abcusd"]
    whole, third = (predict_rows(predictor, rows, entry, first=1_950, every=every) for every in (1, 3))
    np.testing.assert_array_equal(third.rows, whole.rows[::3])
    np.testing.assert_array_equal(third.truth, whole.truth[::3])
    np.testing.assert_allclose(third.probabilities, whole.probabilities[::3], atol=1e-5)
    assert third.of_head(0).score()["tlob"].samples == np.count_nonzero(third.truth[:, 0] >= 0)


def test_a_model_of_named_columns_sees_a_mirrored_book_mirrored(data: Path, tmp_path: Path) -> None:
    """Sides swapped about the window's last mid: P(UP) and P(DOWN) change places."""
    words = ["--data", str(data / NAMES[0]), *SMALL, "--epochs", "1", "--no-test", "--folder", str(tmp_path)]
    assert main(["train", "tlob", *words, "--transform", "flow", "--mirrored"]) == 0
    predictor = Predictor(checkpoints.load("small", folder=tmp_path))
    assert (predictor.config.features, predictor.config.directed) == (52, 4)
    window = BOOKS[NAMES[0]].levels[600:728]
    twice = window[-1, 0] + window[-1, 2]
    other = window[:, np.arange(40).reshape(10, 2, 2)[:, ::-1].ravel()].copy()
    other[:, ::2] = twice - other[:, ::2]
    market = predictor.markets["testville_spot_abcusd"]
    one, two = predictor.predict(np.stack([window, other]), market).probabilities
    np.testing.assert_allclose(one, two[:, ::-1], atol=1e-5)
    assert np.abs(one[:, 0] - one[:, 2]).max() > 1e-4


def test_a_network_that_does_not_fit_its_transform_is_refused(folder: Path, card: dict[str, Any]) -> None:
    checkpoint = checkpoints.load("small", folder=folder)
    with pytest.raises(checkpoints.CheckpointError, match="reads 52 columns, and its transform makes 40"):
        Predictor(checkpoints.Checkpoint(card=card | {"transform": "raw"}, weights=checkpoint.weights))
