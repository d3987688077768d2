"""Reasons of a forecast: beside a model whose answer is known in closed form, and beside plain loops about the shipped one."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from core.device import Placement
from core.explain.faithfulness import FOLDER, FindingError
from core.market.calibration import CallRule
from core.market.features import TransformKind, input_names
from core.market.predictor import MarketCard, Predictor, load_predictor
from core.market.reasons import (
    FEWEST,
    GROUPS,
    UsualInputs,
    cut_to_neighbours,
    group_parts,
    measured_test,
    window_reasons,
    without_order,
)
from core.market.store.index import recordings
from core.market.store.rows import read_market
from tests.core.market.helpers import EXCERPTS, random_book, real_rows, with_hole


def group_of(name: str, age: int, kind: TransformKind) -> str:
    """Group of an input, from its name: the rule in words."""
    if age >= 32:
        return "older"
    moves = ("ASK_P1", "BID_P1", "ASK_P2", "BID_P2", *(f"{side}_P{level}" for side in ("ASK", "BID") for level in range(3, 7)))
    if "DRIFT" in name or "MOVE2" in name or (kind == "drift" and name in moves):
        return "drift"
    if name.endswith(("ADDED", "REMOVED")) or name[5:] == "1":
        return "touch"
    return "far" if int(name[5:]) > 5 else f"near_{name[:3].lower()}"


@pytest.mark.parametrize("kind", ["flow", "drift", "relative"])
def test_every_input_is_in_the_group_that_its_name_says(kind: TransformKind) -> None:
    names, parts = input_names(kind), group_parts(kind, 40)
    for row in range(40):
        for column, name in enumerate(names):
            assert GROUPS[int(parts[row, column])] == group_of(name, 39 - row, kind)


def softmax_lean(up: float) -> float:
    """P(up) - P(down) of the logits (-up, 0, up)."""
    return (math.exp(up) - math.exp(-up)) / (1 + math.exp(up) + math.exp(-up))


def test_a_model_of_weighted_sums_gives_what_its_weights_say() -> None:
    """Logits -s, 0, s with s = sum of w x: without a group, s loses what the group's inputs are beyond their mean."""
    random = np.random.default_rng(3)
    weights, inputs, mean = random.normal(0, 0.02, (40, 52)), random.normal(size=(40, 52)), random.normal(size=(40, 52))

    def logits(x: torch.Tensor) -> Any:
        s = (x.double().numpy() * weights).sum(axis=(1, 2))
        return np.stack([-s, 0 * s, s], axis=1)[:, None]

    model = SimpleNamespace(transform="flow", logits=logits, placement=Placement(torch.nn.Identity()))
    model.inputs = lambda levels, entry: torch.from_numpy(inputs)[None]
    entry = SimpleNamespace(rules=[CallRule()])
    asked = cast(Predictor, model), cast(MarketCard, entry), np.zeros((40, 40)), torch.from_numpy(mean)
    reasons = window_reasons(*asked, head=0, recalibrate=lambda p: p)
    whole = float((weights * inputs).sum())
    assert reasons.lean == pytest.approx(softmax_lean(whole))
    assert reasons.usual == pytest.approx(softmax_lean(float((weights * mean).sum())))
    beyond, names = weights * (inputs - mean), input_names("flow")
    for group, name in enumerate(GROUPS):
        lost = sum(beyond[row, i] for row in range(40) for i, of in enumerate(names) if group_of(of, 39 - row, "flow") == name)
        assert reasons.gives[group] == pytest.approx(softmax_lean(whole) - softmax_lean(whole - lost)), name


def test_the_shipped_model_says_what_a_plain_loop_finds() -> None:
    predictor, rows, head = load_predictor("tlob"), read_market([recordings()[0].path])[:900], 5
    entry = predictor.market(recordings()[0].name)
    usual = UsualInputs(predictor, entry)
    usual.follow(rows.timestamps, rows.levels)
    mean, window = usual.mean(), rows.levels[-128:]
    assert mean is not None

    def lean(inputs: torch.Tensor) -> float:
        logits = predictor.logits(inputs[None])[0, head].astype(float) / entry.rules[head].temperature
        logits[[0, 2]] += entry.rules[head].bias
        p = np.exp(logits) / np.exp(logits).sum()
        return float(p[2] - p[0]) / 2

    reasons = window_reasons(predictor, entry, window, mean, head=head, recalibrate=lambda p: [one / 2 for one in p])
    inputs = predictor.inputs(window[None], entry)[0]
    names = input_names(predictor.transform)
    for group, name in enumerate(GROUPS):
        put_back = inputs.clone()
        for row in range(128):
            for column, of in enumerate(names):
                if group_of(of, 127 - row, predictor.transform) == name:
                    put_back[row, column] = mean[row, column]
        assert reasons.gives[group] == pytest.approx(lean(inputs) - lean(put_back), abs=2e-6)
    assert reasons.lean == pytest.approx(lean(inputs), abs=2e-6)
    sizes = (inputs - mean)[-32:, [names.index(f"ASK_V{level}") for level in range(2, 6)]].mean()
    assert reasons.states[1] == (0 if abs(sizes) < 0.1 else math.copysign(1, sizes))
    drift = (inputs - mean)[-32:, [i for i, of in enumerate(names) if group_of(of, 0, "flow") == "drift"]].mean()
    assert reasons.states[4] == (0 if abs(drift) < 0.1 else math.copysign(1, drift))


def test_the_mean_is_that_of_an_hours_windows_and_begins_anew_where_time_runs_back() -> None:
    predictor = load_predictor("tlob")
    rows = with_hole(random_book(16_000, 5), 6_000, 40)
    entry, usual = predictor.markets["pooled"], UsualInputs(predictor, predictor.markets["pooled"])
    ends = []
    for end in range(127, len(rows)):
        whole = rows.timestamps[end] - rows.timestamps[end - 127] == 127 * 250
        if whole and rows.timestamps[end] % 5_000 == 0:
            ends.append(end)
    for end in range(100, len(rows) + 1, 3_000):  # as it is watched: the newest twenty minutes, now and then
        usual.follow(rows.timestamps[max(0, end - 4_800) : end], rows.levels[max(0, end - 4_800) : end])
        past = [one for one in ends if one < end]
        last = rows.timestamps[past[-1]] // 60_000 if past else 0
        hour = [one for one in past if rows.timestamps[one] // 60_000 > last - 60]
        assert usual.count == len(hour)
        mean = usual.mean()
        if len(hour) < FEWEST:
            assert mean is None
    inputs = [predictor.inputs(rows.levels[None, one - 127 : one + 1], entry)[0].double() for one in hour]
    assert mean is not None
    np.testing.assert_allclose(mean.numpy(), torch.stack(inputs).mean(dim=0).numpy(), atol=1e-5)
    usual.follow(rows.timestamps[:400], rows.levels[:400])
    assert usual.count == sum(one < 400 for one in ends)


def test_an_order_is_cut_to_the_mean_of_what_stands_beside_it() -> None:
    for index in range(len(EXCERPTS)):
        levels = real_rows(index).levels[:128]
        step = float(np.diff(np.unique(levels[:, 0::2])).min())
        for price in (levels[-1, 8], levels[-1, 2], levels[-1, 38], levels[-1, 0] + 5):
            expected = levels.copy()
            for row in expected:
                for side, sign in ((0, -1), (2, 1)):
                    here = [k for k in range(10) if -1e-6 < sign * (row[4 * k + side] - price) / step < 1 - 1e-6]
                    beside = [k for k in range(10) if k not in here and any(abs(k - one) == 1 for one in here)]
                    most = np.mean([row[4 * k + side + 1] for k in beside]) if beside else np.inf
                    for k in here:
                        row[4 * k + side + 1] = min(row[4 * k + side + 1], most)
            np.testing.assert_allclose(cut_to_neighbours(levels, float(price), step), expected, rtol=1e-12)


def test_the_answer_without_an_order_is_that_of_the_window_without_it() -> None:
    predictor, rows, head = load_predictor("tlob"), read_market([recordings()[0].path])[:400], 6
    entry, window = predictor.market(recordings()[0].name), rows.levels[-128:]
    price = float(window[-1, 4 * int(np.argmax(window[-1, 1:40:4]))])
    one = without_order(predictor, entry, window, (price, 0.0001), head=head, recalibrate=lambda p: p)
    cut = cut_to_neighbours(window, price, 0.0001)
    assert one.before == pytest.approx(predictor.predict(window[None], entry).probabilities[0, head], abs=2e-6)
    assert one.after == pytest.approx(predictor.predict(cut[None], entry).probabilities[0, head], abs=2e-6)
    assert 0 < one.left < one.size == window[-1, 1:40:4].max() and one.rows == (cut != window).any(axis=1).sum() > 0
    away = without_order(predictor, entry, window, (2 * price, 0.0001), head=head, recalibrate=lambda p: p)
    assert (away.size, away.left, away.rows) == (0, 0, 0) and away.after.tolist() == away.before.tolist()


SPELLINGS = {
    "live/binance/BTC/USDT BTC/USDT": "Binance BTC/USDT",
    "live/binance/BTC/USDT:USDT BTC/USDT:USDT": "Binance BTC/USDT:USDT",
    "recording/binance_spot_nexousdt_2024-07-24 NEXO/USDT": "Binance NEXO/USDT",
    "live/kraken/BTC/USDT BTC/USDT": None,
}


def test_the_shipped_test_is_of_the_shipped_weights_and_known_by_market(tmp_path: Path) -> None:
    card = load_predictor("tlob").card
    stored = json.loads((FOLDER / "reasons_tlob.json").read_text(encoding="utf-8"))
    markets = {one["name"]: one for one in stored["markets"]}
    assert stored["heads"] == card["heads"]
    assert all(len(one["areas"]) == len(card["heads"]) and len(one["gives"][0]) == len(GROUPS) for one in stored["markets"])
    for spelling, name in SPELLINGS.items():
        one = measured_test(spelling, "tlob", card["weights_sha256"])
        assert (one and one.name) == name
        if one is not None:
            assert (one.windows, [list(area) for area in one.areas]) == (markets[one.name]["windows"], markets[one.name]["areas"])
    known = next(iter(SPELLINGS))
    (tmp_path / "reasons_tlob.json").write_text(json.dumps(stored | {"weights_sha256": "other"}))
    assert measured_test(known, "tlob", card["weights_sha256"], folder=tmp_path) is None
    assert measured_test(known, "tlob", "other", folder=tmp_path) == measured_test(known, "tlob", card["weights_sha256"])
    (tmp_path / "reasons_tlob.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        FindingError,
        match=r"^reasons_tlob.json does not hold findings: run `git checkout assets/explain/reasons_tlob.json` again \(",
    ):
        measured_test(known, "tlob", "other", folder=tmp_path)
