"""What is said of the numbers of pairs holds of the numbers that are shown."""

from __future__ import annotations

from core.lecture.pairs import CLAIMED, MEASURED, MOMENTUM


def test_the_naive_rule_is_right_more_often_and_the_document_has_four_pairs_best() -> None:
    assert max(one for seeds in MEASURED.values() for one in seeds) < MOMENTUM
    assert max(CLAIMED, key=lambda count: CLAIMED[count]) == 4 and MEASURED.keys() <= CLAIMED.keys()
