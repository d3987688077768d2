"""Glosses and their indices."""

import pytest

from core.signs.vocabulary import BLANK, BLANK_NAME, Vocabulary


def test_the_blank_is_first_and_words_go_both_ways() -> None:
    words = Vocabulary(("JOHN", "LOVE", "MARY"))
    assert len(words) == 4
    assert words.names[BLANK] == BLANK_NAME
    assert words.encode(["MARY", "JOHN"]) == [3, 1] and words.decode([3, 1]) == ["MARY", "JOHN"]


def test_what_it_does_not_hold_is_named() -> None:
    with pytest.raises(ValueError, match="vocabulary of 1 glosses does not hold BOOK"):
        Vocabulary(("JOHN",)).encode(["JOHN", "BOOK"])
    for wrong in ((), ("A", "A")):
        with pytest.raises(ValueError, match="one or more glosses"):
            Vocabulary(wrong)
