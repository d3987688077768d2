"""Every page of the navigation runs, in every language, without an exception; in English a browser opens them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from core.market.hub import hub, shutdown
from pages.shared import language
from pages.shared.navigation import ENTRIES, ROOT, SECTIONS, PageEntry


@pytest.fixture(autouse=True)
def no_feed_left() -> Iterator[None]:
    yield
    shutdown()


def labels(block: Block) -> Iterator[str]:
    """Labels of all popovers under a block of the page."""
    for child in block.children.values():
        if child.type == "popover":
            yield child.proto.popover.label
        if isinstance(child, Block):
            yield from labels(child)


def title_in(code: str, entry: PageEntry) -> str:
    """Run the page as a browser in that language asks for it."""
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=90)
    app.context = {"locale": code, "timezone": "Europe/Madrid"}
    app.run()
    if entry is not ENTRIES[0]:
        app.switch_page(entry.file).run()
    assert not app.exception, app.exception[0].value
    assert app.title, f"{entry.file} shows no title"
    shown = list(labels(app._tree))
    links = shown.count(language.catalogue(code).gettext("Link to this view"))
    assert links == (entry is not ENTRIES[0]), f"{entry.file} has no link to its view"  # the front page has no choices to link to
    return str(app.title[0].value)


@pytest.fixture
def tab_titles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Titles that the browser's tab was given, one after another."""
    given: list[str] = []
    configure = st.set_page_config
    monkeypatch.setattr(
        st, "set_page_config", lambda **options: (given.append(options.get("page_title", "")), configure(**options))[1]
    )
    return given


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.url)
def test_page_runs_in_every_language(entry: PageEntry, tab_titles: list[str]) -> None:
    for code in language.LANGUAGES.keys() - {"en"}:
        title = language.catalogue(code).gettext(entry.title)
        assert title_in(code, entry) == title
        assert tab_titles[-1] == (title if entry is ENTRIES[0] else f"{title} · {ENTRIES[0].title}")


def test_the_live_page_opens_where_others_hold_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub(), "_max_feeds", 1)
    apps = [AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=90).run() for _ in range(2)]
    assert not hub().watched(), "the front page starts no feed"
    own, second = (app.switch_page("pages/markets/live.py").run() for app in apps)
    keys = {one.key.partition("~")[1] for one in hub().watched()}
    assert not own.exception and not second.exception and not second.error
    assert keys == {"~", ""} and len(hub().watched()) == 2
    controls = [{one.key for one in app.button} & {"feed:pause", "step"} for app in (own, second)]
    assert controls == [{"feed:pause", "step"}, set()]  # and nobody may stop it for the others


def test_the_navigation_is_sound() -> None:
    assert len({entry.url for entry in ENTRIES}) == len(ENTRIES)
    assert all((ROOT / entry.file).is_file() for entry in ENTRIES)
    assert {entry.section for entry in ENTRIES} <= set(SECTIONS)
    shown = [SECTIONS.index(entry.section) for entry in ENTRIES]
    assert shown == sorted(shown), "list pages in the order of their sections"
