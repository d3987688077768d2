"""Soft targets: out-of-fold parts without contact, files that fit their windows, and the loss with a teacher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.training.tlob import MarketData, TLOBTask, TLOBTraining, gather, prepare_market
from core.training.tlob_teacher import read_targets, time_folds, write_targets
from tests.core.market.helpers import HEADS, random_book, tiny_config, tiny_model

WINDOW = 24


@pytest.fixture(scope="module")
def market() -> MarketData:
    return prepare_market("testville", random_book(1_500, 21), HEADS, WINDOW)


@pytest.fixture(scope="module")
def targets(market: MarketData) -> np.ndarray:
    rng = np.random.default_rng(7)
    return rng.dirichlet(np.ones(3), size=(len(market.ends["train"]), len(HEADS))).astype(np.float16)


def test_parts_cover_every_row_once_and_learn_from_no_row_near_them() -> None:
    ends = np.concatenate([np.arange(100, 700), np.arange(900, 1_300)])  # with a hole
    folds = time_folds(ends, 4, gap=50)
    assert np.concatenate([predicted for _, predicted in folds]).tolist() == ends.tolist()
    for learnt, predicted in folds:
        near = {row for row in ends.tolist() if predicted[0] - 50 <= row <= predicted[-1] + 50}
        assert set(learnt.tolist()) == set(ends.tolist()) - near


def test_a_file_gives_back_what_was_written(market: MarketData, targets: np.ndarray, tmp_path: Path) -> None:
    write_targets(tmp_path / "t.npz", {"testville": targets, "elsewhere": targets[:5]})
    read = read_targets(tmp_path / "t.npz", {"testville": targets.shape[:2]})
    assert list(read) == ["testville"]
    assert np.array_equal(read["testville"], targets)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("nowhere", lambda p: p, "no targets for testville"),
        ("testville", lambda p: p[:-1], "need"),
        ("testville", lambda p: p[:, 1:], "need"),
        ("testville", lambda p: p * 2, "no probabilities"),
        ("testville", lambda p: np.where(np.arange(3) == 0, np.nan, p), "no probabilities"),
    ],
)
def test_targets_of_other_windows_are_refused(
    name: str, change: object, message: str, targets: np.ndarray, tmp_path: Path
) -> None:
    assert callable(change)
    write_targets(tmp_path / "t.npz", {name: change(targets)})
    with pytest.raises(ValueError, match=message):
        read_targets(tmp_path / "t.npz", {"testville": targets.shape[:2]})


@pytest.mark.parametrize("flip", [0.0, 1.0])
def test_each_window_has_its_own_targets_weighted_by_class(market: MarketData, targets: np.ndarray, flip: float) -> None:
    settings = TLOBTraining(batch=16, windows_per_epoch=64, flip=flip, teacher_share=0.5)
    taught = list(TLOBTask([market], settings, {"testville": targets}).batches(0))
    plain = TLOBTask([market], TLOBTraining(batch=16, windows_per_epoch=64, flip=0.0)).batches(0)
    everything = gather(market, market.ends["train"], "ladder")
    row_of = {window.tobytes(): row for row, window in enumerate(everything)}
    weights = TLOBTask([market], settings).weights[0]
    for (x, y, _w, soft), (kept, labels, _) in zip(taught, plain, strict=True):
        rows = [row_of[window.tobytes()] for window in kept.numpy()]
        expected = targets[rows].astype(np.float32) * weights
        assert x.shape == kept.shape
        np.testing.assert_allclose(soft.numpy(), expected[..., ::-1] if flip else expected, rtol=1e-6)
        assert torch.equal(y, 2 - labels if flip else labels)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_loss_is_the_weighted_mean_of_both_cross_entropies(market: MarketData, targets: np.ndarray, share: float) -> None:
    settings = TLOBTraining(batch=8, windows_per_epoch=8, teacher_share=share)
    task, model = TLOBTask([market], settings, {"testville": targets}), tiny_model(tiny_config())
    x, y, w, soft = next(iter(task.batches(0)))
    log_p = F.log_softmax(model(x).double(), dim=-1)
    hard = -(log_p.gather(-1, y[..., None])[..., 0] * w).mean()
    with_teacher = -(log_p * soft).sum(dim=-1).mean()
    expected = (1 - share) * hard + share * with_teacher
    assert task.loss(model, (x, y, w, soft)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_teacher_who_knows_the_labels_gives_the_loss_of_the_labels(market: MarketData) -> None:
    sure = np.eye(3, dtype=np.float16)[market.labels[market.ends["train"]]]
    settings = TLOBTraining(batch=8, windows_per_epoch=8, teacher_share=0.7)
    task, model = TLOBTask([market], settings, {"testville": sure}), tiny_model(tiny_config())
    batch = next(iter(task.batches(0)))
    assert task.loss(model, batch).item() == pytest.approx(task.loss(model, batch[:3]).item(), rel=1e-5)
