"""Patches until the answer changes: against an answer asked for one count after the other."""

from __future__ import annotations

import numpy as np
import pytest

from core.vision.analysis import PictureAnalysis, analyse
from core.vision.classifier import load_classifier
from core.vision.evidence import hidden_answer, losses_without, mask_of
from core.vision.fooling import RANDOM_ORDERS, needed, until_it_changes
from core.vision.gallery import gallery
from tests.core.vision.tiny_vit import FOLDER


@pytest.fixture(scope="module")
def reading() -> PictureAnalysis:
    return analyse(load_classifier(folder=FOLDER), gallery()[0][5].copy())


def one_after_the_other(reading: PictureAnalysis, order: list[int]) -> int | None:
    for count in range(1, len(order) + 1):
        if int(hidden_answer(reading, mask_of((one + 1 for one in order[:count]), len(order))).argmax()) != reading.likeliest:
            return count
    return None


def test_it_is_the_first_count_with_another_answer(reading: PictureAnalysis) -> None:
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(49)
        assert until_it_changes(reading, order) == one_after_the_other(reading, order.tolist())


def test_each_way_goes_in_its_own_order(reading: PictureAnalysis) -> None:
    found = needed(reading)
    losses = losses_without(reading, reading.likeliest)
    order = np.argsort(-losses, kind="stable").tolist()
    count = one_after_the_other(reading, order)
    assert count is not None and found.occlusion == tuple(one + 1 for one in order[:count])
    attention = reading.attention(list(reading.maps)[-1], None).patches.reshape(-1)
    assert found.attention is not None and found.attention[0] == int(attention.argmax()) + 1
    assert len(found.random) == RANDOM_ORDERS and found == needed(reading) != needed(reading, seed=1)


def test_a_picture_that_never_changes_says_so(reading: PictureAnalysis, monkeypatch: pytest.MonkeyPatch) -> None:
    always = np.tile(reading.probabilities, (8, 1))
    monkeypatch.setattr("core.vision.fooling.hidden_answers", lambda _analysis, hidden: always[: len(hidden)])
    found = needed(reading)
    assert found.occlusion is None and found.attention is None and found.random_median == float("inf")
