"""The search finds what readers call things."""

from __future__ import annotations

import pytest

from pages.shared.navigation import ENTRIES
from pages.shared.search import WORDS, Hit, _hits, matching_hits

FILES = {entry.url: entry.file for entry in ENTRIES}


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("tlob", "attention"),
        ("binance", "live"),
        ("gpu", "system"),
        ("shoe", "classify"),
        ("shoes", "classify"),
        ("webcam", "recognise"),
        ("export", "recordings"),
        ("garmnets", "classify"),
        ("recrodings", "recordings"),
        ("backprop", "backprop"),
    ],
)
def test_a_readers_word_leads_to_its_page(typed: str, url: str) -> None:
    hits = matching_hits(typed, _hits("en", "en"))
    assert FILES[url] in [hit.page for hit in hits[:4]]


def test_hits_say_what_they_are_and_the_nearest_stands_first() -> None:
    hits = _hits("en", "en")
    assert {hit.kind for hit in hits} == {"Page", "Lesson", "Equation", "Term"}
    assert matching_hits("softmax", hits)[0].name.startswith("Softmax")
    assert matching_hits("spread", hits)[0].kind == "Term"
    assert not matching_hits("", hits) and not matching_hits("  ", hits) and not matching_hits("zzzzzz", hits)
    assert matching_hits("café", (Hit(name="Cafe", kind="Page", icon=""),))


def test_words_are_of_pages_that_there_are() -> None:
    assert WORDS.keys() <= FILES.keys()
