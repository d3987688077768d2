"""docs/sources.md names, for each section of the documents, views and words to be found there: each view has them."""

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.market.hub import shutdown
from pages.shared.navigation import ENTRIES, ROOT
from tests.pages.open_page import open_page

FILES = {entry.url: ROOT / entry.file for entry in ENTRIES}


@pytest.fixture(autouse=True)
def no_feed_left() -> Iterator[None]:
    yield
    shutdown()


def named() -> dict[str, dict[str, str]]:
    """View -> section -> the words that it shows of it."""
    words_by_view: dict[str, dict[str, str]] = defaultdict(dict)
    text = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    for section, cell in re.findall(r'^\| <a id="([^"]+)">.*\| ([^|]*) \|$', text, flags=re.MULTILINE):
        views = re.findall(r"`([^`]+)` “([^”]+)”", cell)
        assert views and len(views) == cell.count("`") / 2, f"{section}: a view without words"
        for view, words in views:
            words_by_view[view][section] = words
    return words_by_view


def shown(app: AppTest) -> str:
    """Everything on a page that is text, of plots and tables too."""
    tables = [frame.value for frame in app.dataframe]
    parts = [table.to_string() + " ".join(map(str, table.columns)) for table in tables]
    for element in app:
        proto = getattr(element, "proto", None)
        if element.type not in ("arrow_data_frame", "imgs") and proto is not None:
            escaped = str(proto).encode().decode("unicode_escape")  # of a protocol buffer's text, whose bytes are UTF-8
            parts.append(escaped.encode("latin-1").decode("utf-8", errors="replace"))
    return re.sub(r"\s+", " ", " ".join(parts))


@pytest.mark.parametrize("view", sorted(named()))
def test_a_view_shows_what_the_sources_say_it_shows(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "page_link", lambda page, **told: None)  # a page that runs alone knows of no other one
    url, _, query = view.partition("?")
    text = shown(open_page(FILES[url], lang="en", **dict(one.split("=") for one in filter(None, query.split("&")))))
    assert not {section: words for section, words in named()[view].items() if words not in text}
