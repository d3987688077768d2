"""A predictor from disk: what it answers, whom it recognises, what it refuses."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax

from core import checkpoints
from core.checkpoints import CheckpointError
from core.market.features import transform
from core.market.predictor import Predictor, load_predictor, windows_of
from tests.core.market.helpers import HEADS, market_entry, real_rows, save_tiny, tiny_config, tiny_model, tiny_predictor

ROWS = real_rows(0)
ENDS = np.arange(23, 400)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), ROWS)


def test_an_answer_is_transform_model_rule_in_turn(predictor: Predictor) -> None:
    entry = predictor.markets["testville"]
    windows = windows_of(ROWS.levels, ENDS, 24)
    found = predictor.predict(windows, entry)
    with torch.no_grad():
        logits = tiny_model(tiny_config())(torch.from_numpy(transform(windows, "flow", entry.constants))).double().numpy()
    moving = np.array([1.0, 0.0, 1.0])
    for head in range(len(HEADS)):
        temperature, bias, lean = 0.8 + 0.1 * head, 0.2 - 0.1 * head, 0.3 * head
        p = softmax(logits[:, head] / temperature + bias * moving, axis=1)
        # Logits reach 18 here: float32 alone misses those of float64 by 1.5e-5, on either way to them.
        np.testing.assert_allclose(found.probabilities[:, head], p, atol=3e-5)
        weighed = p * np.exp(lean * moving)
        best = np.sort(weighed, axis=1)
        clear = best[:, 2] > best[:, 1] * 1.0001
        assert clear.sum() > 350
        assert found.calls[clear, head].tolist() == weighed.argmax(axis=1)[clear].tolist()
        assert len(np.unique(found.calls[:, head])) > 1


def test_batches_do_not_change_answers(predictor: Predictor) -> None:
    entry, windows = predictor.markets["testville"], windows_of(ROWS.levels, ENDS, 24)
    whole = predictor.predict(windows, entry, batch=1_000)
    parts = predictor.predict(windows, entry, batch=7)
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, atol=1e-6)
    assert np.array_equal(parts.calls, whole.calls)


def test_attention_gives_the_same_probabilities_and_named_maps(predictor: Predictor) -> None:
    entry = predictor.markets["testville"]
    p, maps = predictor.attention(predictor.inputs(ROWS.levels[None, 100:124], entry), entry)
    np.testing.assert_allclose(p, predictor.predict(ROWS.levels[None, 100:124], entry).probabilities[0], atol=1e-6)
    assert {name: weights.shape for name, weights in maps.items()} == {
        "time-to-time 1": (1, 24, 24), "feature-to-feature 1": (1, 8, 8),
    }  # fmt: skip


def test_windows_end_where_they_are_asked_to() -> None:
    levels = np.arange(10)[:, None] * np.ones(40)
    assert windows_of(levels, [3, 9], 3)[:, :, 0].tolist() == [[1, 2, 3], [7, 8, 9]]


@pytest.mark.parametrize(
    ("spelling", "market"),
    [
        ("live/testville/ABC/USD", "testville"),
        ("testville_spot_abc_250ms_2024-01-01.parquet", "testville"),
        ("testville_spot_abcusdt_250ms_2024-01-01.parquet", "pooled"),
        ("testvilleusdm_abc.parquet", "pooled"),
        ("TestVille A-B-C", "testville"),
        ("live/testville/XYZ/USD", "pooled"),
        ("elsewhere_abcusdt.csv", "pooled"),
        ("", "pooled"),
    ],
)
def test_a_market_is_recognised_by_all_its_words(predictor: Predictor, spelling: str, market: str) -> None:
    assert predictor.market(spelling).name == market


def test_the_first_entry_that_fits_is_taken(tmp_path: Path) -> None:
    markets = {
        "one": market_entry(ROWS, HEADS, 24, known_by=["binance", "btcusdt"]),
        "two": market_entry(ROWS, HEADS, 24, known_by=["binance"]),
        "pooled": market_entry(ROWS, HEADS, 24),
    }
    predictor = tiny_predictor(tmp_path, ROWS, markets=markets)
    assert predictor.market("live/binance/BTC/USDT").name == "one"
    assert predictor.market("live/binance/ETH/USDT").name == "two"


def test_a_symbol_is_compared_whole() -> None:
    """BTC/USDT on Bitstamp is no market of the card, though its letters begin with those of BTC/USD, which is."""
    predictor = load_predictor()
    assert predictor.market("live/bitstamp/BTC/USD BTC/USD").name == "bitstamp_btcusd"
    assert predictor.market("bitstamp_btcusd_250ms_2015-05-01.parquet").name == "bitstamp_btcusd"
    assert predictor.market("live/bitstamp/BTC/USDT BTC/USDT").name == "pooled"
    assert predictor.market("live/bitstamp/WBTC/USD WBTC/USD").name == "pooled"
    assert predictor.market("live/binance/NEXO/USDT").name == "binance_spot_nexousdt"
    assert predictor.market("live/binanceusdm/NEXO/USDT").name == "pooled"


def test_heads_are_found_by_label_and_horizon(predictor: Predictor) -> None:
    assert predictor.head("smoothed", 20) == 2
    with pytest.raises(ValueError, match="no head for the forward label at 20 steps: it has smoothed 10, forward 10"):
        predictor.head("forward", 20)


def test_the_forward_label_is_the_one_where_none_is_named(predictor: Predictor) -> None:
    """D24: the smoothed one stands only where it is asked for, or where the checkpoint has no other."""
    assert HEADS[predictor.head_or_first(None, None)] == ("forward", 10)
    assert HEADS[predictor.head_or_first(None, 5)] == ("forward", 5)
    assert HEADS[predictor.head_or_first("smoothed", None)] == ("smoothed", 10)
    with pytest.raises(ValueError, match="no head for the forward label at 20 steps"):
        predictor.head_or_first(None, 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor, "heads", (("smoothed", 20), ("smoothed", 10)))
        assert predictor.head_or_first(None, None) == 0


def test_a_checkpoint_is_loaded_once(tmp_path: Path) -> None:
    save_tiny(tmp_path, ROWS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: load_predictor("tiny", folder=tmp_path), range(4)))
    assert len({id(one) for one in found}) == 1


def without(key: str) -> dict[str, object]:
    entry = market_entry(ROWS, HEADS, 24)
    del entry[key]
    return {"markets": {"pooled": entry}}


def replaced(**changes: object) -> dict[str, object]:
    return {**market_entry(ROWS, HEADS, 24), **changes}


WEIGHTS = "the weights of 'tiny' do not fit its card's config"
CARD = "the card tiny.json does not describe the model TLOB: "
BROKEN: dict[str, tuple[dict[str, object], str]] = {
    "another model": ({"model": "vit"}, "'tiny' holds the model vit: TLOB is needed here"),
    "another width": ({"config": {**tiny_config().to_dict(), "width": 9}}, WEIGHTS),
    "too many pairs": ({"config": {**tiny_config().to_dict(), "pairs": 13}}, CARD + "13 pairs"),
    "an unknown setting": ({"config": {**tiny_config().to_dict(), "colour": "red"}}, CARD + ".*'colour'"),
    "fewer outputs": ({"config": {**tiny_config().to_dict(), "outputs": 3}}, CARD + "it names 4 heads for 3 outputs"),
    "fewer heads": ({"heads": [["smoothed", 10]]}, CARD + "it names 1 heads for 4 outputs"),
    "an unknown transform": ({"transform": "wavelet"}, CARD + "unknown transform 'wavelet'"),
    "no pooled market": ({"markets": {}}, CARD + "no market 'pooled'"),
    "too few alphas": (
        {"markets": {"pooled": {**market_entry(ROWS, HEADS, 24), "alphas": [1e-4]}}},
        CARD + "market 'pooled' has 1 alphas and 4 rules for 4 heads",
    ),
    "markets in a list": ({"markets": ["pooled"]}, CARD + "an entry is of another type"),
    "a market that is a word": ({"markets": {"pooled": "testville"}}, CARD + "an entry is of another type"),
    "rules that are words": ({"markets": {"pooled": replaced(rules=["lean"] * 4)}}, CARD + "an entry is of another type"),
    "an alpha of NaN": ({"markets": {"pooled": replaced(alphas=[float("nan")] * 4)}}, CARD + ".*an alpha that is not a number"),
    "too few means": (
        {"markets": {"pooled": replaced(constants={**market_entry(ROWS, HEADS, 24)["constants"], "mean": [1.0]})}},
        CARD + "its constants have 1 means, 40 deviations and 4 thresholds: 40, 40 and 4 are right",
    ),
    "an unknown label": ({"heads": [["sideways", 10]] * 4}, CARD + "no head can be of the label 'sideways' at 10 steps"),
    "an endless horizon": ({"heads": [["smoothed", float("inf")]] * 4}, CARD + "an entry is of another type"),
    **{f"no {key}": (without(key), CARD + f"it lacks '{key}'") for key in ("alphas", "rules", "constants")},
}


@pytest.mark.parametrize("fault", list(BROKEN))
def test_a_card_that_does_not_hold_together_is_refused(tmp_path: Path, fault: str) -> None:
    changes, sentence = BROKEN[fault]
    path = save_tiny(tmp_path, ROWS)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(CheckpointError, match=sentence) as caught:
        Predictor(checkpoints.load("tiny", folder=tmp_path))
    assert "\n" not in str(caught.value)
