"""Parts until the answer changes: against an answer asked for one count after the other, and in closed form."""

import numpy as np
import pytest

from core.explain.erasing import RANDOM_ORDERS, mask, needed, until_it_changes
from core.vision.analysis import PictureAnalysis, analyse
from core.vision.classifier import load_classifier
from core.vision.evidence import hidden_answers, losses_without, patches_needed
from core.vision.gallery import gallery
from tests.core.vision.tiny_vit import FOLDER


@pytest.fixture(scope="module")
def reading() -> PictureAnalysis:
    return analyse(load_classifier(folder=FOLDER), gallery()[0][5].copy())


def one_after_the_other(reading: PictureAnalysis, order: list[int]) -> int | None:
    for count in range(1, len(order) + 1):
        if int(hidden_answers(reading, mask(order[:count], len(order))).argmax()) != reading.likeliest:
            return count
    return None


def test_it_is_the_first_count_with_another_answer(reading: PictureAnalysis) -> None:
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(49)
        found = until_it_changes(lambda hidden: hidden_answers(reading, hidden).argmax(axis=1).tolist(), order)
        assert found == one_after_the_other(reading, order.tolist())


def test_each_way_goes_in_its_own_order(reading: PictureAnalysis) -> None:
    found = patches_needed(reading)
    losses = losses_without(reading, reading.likeliest)
    order = np.argsort(-losses, kind="stable").tolist()
    count = one_after_the_other(reading, order)
    assert count is not None and found.ranked["occlusion"] == tuple(order[:count])
    attention = reading.attention()[1:]
    assert (found.ranked["attention"] or ())[0] == int(attention.argmax())
    assert len(found.random) == RANDOM_ORDERS and found == patches_needed(reading)


def test_an_answer_that_hangs_on_three_parts_alone() -> None:
    """It changes once all three are gone: the right order needs 3 of 20, the opposite one all 20."""
    cause = np.isin(np.arange(20), [4, 9, 17])
    found = needed(lambda hidden: hidden[:, cause].all(axis=1).tolist(), {"right": cause * 1.0, "wrong": -1.0 * cause})
    assert found.ranked["right"] == (4, 9, 17) and len(found.ranked["wrong"] or ()) == 20
    draw = np.random.default_rng(0).permutation(20).tolist()
    assert found.random[0] == max(draw.index(one) for one in (4, 9, 17)) + 1


def test_an_answer_that_never_changes_says_so() -> None:
    found = needed(lambda hidden: [0] * len(hidden), {"any": np.arange(5.0)})
    assert found.ranked["any"] is None and found.random_median == float("inf")
    assert mask([1, 3], 5).tolist() == [[False, True, False, True, False]]
