"""The leakage lab against scikit-learn's pipelines, done right and wrong; the honest way reads nothing of the test part."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from core.lecture import leakage as lab
from core.lecture.leakage import Mistake, TrainedLab
from core.market.book import BookRows, read_rows
from core.market.labels import classify, future_move
from core.market.store.index import FOLDER
from tests.core.market.helpers import random_book, with_hole

H = 20
ROWS = random_book(2_400, 5, pace=0.2)


def test_inputs_are_what_pandas_says() -> None:
    inputs, mid = lab.book_inputs(ROWS), pd.Series(ROWS.mid)
    prices, sizes = ROWS.levels[:, [0, -2]], ROWS.levels[:, [1, -1]]
    np.testing.assert_allclose(inputs[:, [0, 38]], (prices / ROWS.mid[:, None] - 1) * 1e4, atol=1e-8)
    np.testing.assert_allclose(np.exp(inputs[:, [1, 39]]), sizes)
    for column, back in enumerate((1, 2, 5, 10, 20, 50), start=40):
        np.testing.assert_allclose(inputs[:, column], mid.pct_change(back).fillna(0) * 1e4, atol=1e-8)
    assert lab.LEANS[[0, 1, -1]] == pytest.approx([-1.0, -0.9, 3.0])


@cache
def trained(*mistakes: Mistake) -> TrainedLab:
    return lab.run(ROWS, H, mistakes, epochs=4)


def other_future(rows: BookRows, first: int) -> BookRows:
    """The same rows, but from `first` on another market, on another level."""
    other = random_book(len(rows), 99, start=1_500.0, pace=0.9)
    levels = np.concatenate([rows.levels[:first], other.levels[first:]])
    return BookRows(timestamps=rows.timestamps, levels=levels)


def test_the_honest_way_reads_nothing_of_the_test_part() -> None:
    """With another test part, whose moves no label of training or validation sees, every earlier number stays as it is."""
    honest = trained()
    first = int(honest.data.rows["test"][0])
    changed = lab.run(other_future(ROWS, first), H, (), epochs=4)
    assert honest.data.alpha == changed.data.alpha
    for part in ("train", "validation"):
        assert np.array_equal(honest.data.inputs[part], changed.data.inputs[part])
        assert np.array_equal(honest.data.labels[part], changed.data.labels[part])
    np.testing.assert_array_equal(honest.network.validation, changed.network.validation)
    np.testing.assert_array_equal(honest.peer.validation, changed.peer.validation)
    assert lab.measure(honest).epochs.tolist() == lab.measure(changed).epochs.tolist()


def test_parts_are_apart_by_a_look_back_and_a_horizon() -> None:
    rows = trained().data.rows
    gap = lab.LOOK_BACK[-1] + H
    assert rows["validation"][0] - rows["train"][-1] > gap and rows["test"][0] - rows["validation"][-1] > gap
    assert len(rows["train"]) == pytest.approx(0.6 * len(ROWS), rel=0.05)


def test_nothing_is_read_or_labelled_across_a_gap() -> None:
    data = lab.prepare(with_hole(ROWS, 700, 40), H)
    rows = np.concatenate([data.rows[part] for part in ("train", "validation", "test")])
    assert not ((rows > 700 - H - 1) & (rows < 700 + lab.LOOK_BACK[-1])).any()


def test_shuffling_draws_each_part_from_everywhere_as_sklearn_does() -> None:
    """scikit-learn's default split has the same fault: most test rows have both neighbours in training or validation."""
    mixed = lab.prepare(ROWS, H, ["shuffle"]).rows
    everything = np.sort(np.concatenate(list(mixed.values())))
    theirs, _ = train_test_split(everything, test_size=0.2, random_state=0)
    for learned, test in ((mixed["train"], mixed["test"]), (theirs, np.setdiff1d(everything, theirs))):
        near = np.isin(test - 1, learned) | np.isin(test + 1, learned)
        assert near.mean() > 0.8
    honest = trained().data.rows
    assert not np.isin(honest["test"] - 1, honest["train"]).any()


@pytest.mark.parametrize("mistakes", [(), ("scaling",)])
def test_scaling_is_sklearns_fitted_right_or_wrong(mistakes: tuple[Mistake, ...]) -> None:
    data = lab.prepare(ROWS, H, mistakes)
    x = lab.book_inputs(ROWS)
    everything = np.arange(lab.LOOK_BACK[-1], len(ROWS) - H)
    scaler = StandardScaler().fit(x[everything] if mistakes else x[data.rows["train"]])
    for part, rows in data.rows.items():
        assert data.inputs[part] == pytest.approx(scaler.transform(x[rows]), rel=1e-5, abs=1e-4)


@pytest.mark.parametrize(("mistakes", "kind"), [((), "forward"), (("label",), "smoothed")])
def test_labels_are_of_the_future_alone_or_of_past_and_future(mistakes: tuple[Mistake, ...], kind: Any) -> None:
    data = lab.prepare(ROWS, H, mistakes)
    moves = future_move(ROWS.mid, H, kind)
    assert data.alpha == pytest.approx(np.abs(moves[data.rows["train"]]).mean() / 2)
    for part, rows in data.rows.items():
        assert data.labels[part].tolist() == classify(moves, data.alpha)[rows].tolist()


def test_the_labels_threshold_comes_from_the_test_part() -> None:
    data = lab.prepare(ROWS, H, ["threshold"])
    assert data.alpha == pytest.approx(np.abs(future_move(ROWS.mid, H, "forward")[data.rows["test"]]).mean() / 2)


def scored(p: np.ndarray, truth: np.ndarray, lean: float) -> float:
    """scikit-learn's score of calls with a lean, row by row."""
    called = [int(np.argmax(np.log(np.maximum(row, 1e-12)) + lean * np.array([1, 0, 1]))) for row in p.astype(np.float64)]
    return float(matthews_corrcoef(truth, called))


def test_choices_by_validation_and_by_test_are_those_of_a_search() -> None:
    """Epoch and lean by a plain search with scikit-learn's score; by the test part they can only raise its score."""
    leans = np.array([-0.5, 0.0, 0.75])
    one = trained()
    truth = one.data.labels
    found = {part: getattr(one.network, part)[:, 1] for part in ("validation", "test")}
    tables = {part: [[scored(p, truth[part], lean) for lean in leans] for p in found[part]] for part in found}
    for part, table in tables.items():
        assert lab.lean_scores(found[part], truth[part], leans) == pytest.approx(np.array(table), abs=1e-9)
    honest = lab.measure(one).network
    for mistake in ("epoch", "threshold"):
        assert (lab.measure(one, [mistake]).network >= honest - 1e-12).all()  # the type checker knows the names


def test_a_peer_without_a_rule_calls_its_likeliest_class() -> None:
    one = trained()
    for seed in range(lab.SEEDS):
        epoch, called = lab.choose(one.peer, one.data, seed, leaning=False)
        assert called.tolist() == one.peer.test[epoch, seed].argmax(axis=-1).tolist()
    with_rule, without = lab.measure(one), lab.measure(one, ["peers"])
    assert with_rule.network.tolist() == without.network.tolist()
    assert without.lead.tolist() == (without.network - without.peer).tolist()


def test_networks_begin_as_kaiming_has_them_and_with_small_answers() -> None:
    """Eight rows are fewer than a batch: nothing is learnt, and the answers are those of the first weights."""
    data, features = trained().data, trained().data.inputs["train"].shape[1]
    parts = {name: {part: one[:8] for part, one in getattr(data, name).items()} for name in ("inputs", "labels")}
    begun = lab.train(replace(data, **parts), hidden=5, epochs=1)
    generator, x = torch.Generator().manual_seed(0), torch.from_numpy(parts["inputs"]["test"])
    weights = [torch.randn(lab.SEEDS, a, b, generator=generator) for a, b in ((features, 5), (5, 5), (5, 3))]
    for seed in range(lab.SEEDS):
        network = torch.nn.Sequential(
            torch.nn.Linear(features, 5), torch.nn.ReLU(), torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
        )
        with torch.no_grad():
            for layer, drawn, size in zip(list(network)[::2], weights, (1, 1, 0.1), strict=True):
                fan = layer.in_features  # type: ignore[union-attr]
                layer.weight.copy_(drawn[seed].T * torch.nn.init.calculate_gain("relu") / fan**0.5 * size)  # type: ignore[operator, union-attr]
                torch.nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
            expected = network(x).softmax(dim=-1).numpy()
        np.testing.assert_allclose(begun.test[0, seed], expected, atol=1e-6)


def test_shuffling_fools_a_nearest_neighbour_of_sklearns_too() -> None:
    """On real rows: what looks like skill is the memory of a row 250 ms away."""
    rows = read_rows(FOLDER / "binance_spot_btcusdt_2024-08-08.parquet")
    found = []
    for mistakes in (set[Mistake](), {"shuffle"}):
        data = lab.prepare(rows, H, mistakes)  # type: ignore[arg-type]
        neighbour = KNeighborsClassifier(1).fit(data.inputs["train"], data.labels["train"])
        found.append(matthews_corrcoef(data.labels["test"], neighbour.predict(data.inputs["test"])))
    assert found[0] < 0.2 and found[1] > found[0] + 0.3


def test_a_recording_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="the recording has 430 rows to learn from: the lab needs 1000"):
        lab.prepare(ROWS[:500], H)


def test_progress_counts_both_models_and_can_end_the_work() -> None:
    told: list[tuple[int, int]] = []
    lab.run(ROWS, H, (), epochs=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        lab.run(ROWS, H, (), epochs=2, progress=stop)
