"""What a page opens with is what was computed for it when its HTML was asked for: its first run computes none of it again."""

from pathlib import Path

import pytest
import streamlit as st

from core.vision.sight_files import SIGHT_FILES
from pages.images import cached_results as garments
from pages.images import cached_sight
from pages.markets import cached_results as windows
from pages.openings import OPENINGS
from pages.shared import kept_results
from pages.shared.navigation import ENTRIES
from pages.signs import cached_results as films
from tests.pages.open_page import open_page

KEPT = {
    "attention": (windows.answer, windows.attribute),
    "classify": (garments.relevance, garments.losses),
    "see": (cached_sight.seen, cached_sight.scene),
    "recognise": (films.read, films.thumbnail, films.footage),
}
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("url", OPENINGS)
def test_a_page_finds_all_that_it_opens_with(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if url == "see" and not SIGHT_FILES.available():
        pytest.skip("the network is not set up here: `make sight`")
    monkeypatch.setattr(st, "page_link", lambda *_args, **_more: None)  # of pages, which this one run has not
    kept_results.forget_all()
    OPENINGS[url]()

    def refused(*_args: object, **_more: object) -> None:
        raise AssertionError("the page computes what it opens with again")

    for one in KEPT[url]:
        assert one._results
        monkeypatch.setattr(one, "_compute", refused)
    open_page(ROOT / next(entry.file for entry in ENTRIES if entry.url == url))
