"""The navigation, and who gets a feed of his own; a browser opens every page (`tests/browser/test_shell.py`)."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.market.hub import hub, shutdown
from core.market.store.index import recordings
from pages.shared.navigation import ENTRIES, MOVED, ROOT, SECTIONS
from tests.pages.open_page import open_page


@pytest.fixture(autouse=True)
def no_feed_left() -> Iterator[None]:
    yield
    shutdown()


def test_the_live_page_opens_where_others_hold_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.hub.MAX_FEEDS", 1)
    apps = [AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=90).run() for _ in range(2)]
    assert not hub().watched(), "the front page starts no feed"
    own, second = (app.switch_page("pages/markets/live.py").run() for app in apps)
    keys = {key.partition("~")[1] for key in hub().watched()}
    assert not own.exception and not second.exception and not second.error
    assert keys == {"~", ""} and len(hub().watched()) == 2
    controls = [{one.key for one in app.button} & {"feed:pause", "step"} for app in (own, second)]
    assert controls == [{"feed:pause", "step"}, set()]  # and nobody may stop it for the others


def test_a_link_opens_a_recording_at_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.page_link", lambda *_arguments, **_options: None)  # a page that runs alone knows of no other
    one = recordings()[1]
    open_page(ROOT / "pages" / "markets" / "live.py", rec=one.name, speed="0.25", at="200")
    (session,) = hub().sessions()
    assert session.feed.market == one.market and 200_000 <= session.feed.now_ms - one.start_ms < 230_000  # type: ignore[attr-defined]


def test_the_navigation_is_sound() -> None:
    assert len({entry.url for entry in ENTRIES}) == len(ENTRIES)
    assert all((ROOT / entry.file).is_file() for entry in ENTRIES)
    assert {entry.section for entry in ENTRIES} <= set(SECTIONS)
    shown = [SECTIONS.index(entry.section) for entry in ENTRIES]
    assert shown == sorted(shown), "list pages in the order of their sections"
    assert sum(not entry.under for entry in ENTRIES) <= 15  # that the menu shows


def test_the_course_leads_to_the_lessons_that_the_menu_leaves_out() -> None:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=90).run().switch_page("pages/learn/course.py").run()
    leads = {link.proto.page.partition("?")[0] for link in app.get("page_link")}
    assert {entry.url for entry in ENTRIES if entry.under == "learn"} <= leads


ADDRESSES = """
home live wall panes attention recordings score train classify garment-attention tokens garment-training train-here own-classes
recognise sign-attention sign-live spell learn recurrent attention-steps trained-attention permutation positions norms
transformer backprop optimisers cost ctc metrics matrices uses pairs leakage paper-errors equations system
class class/{code} words
"""
"""Those of the largest app; a page that is new adds its own."""


def test_every_address_is_a_page_or_leads_to_one() -> None:
    pages = {entry.url for entry in ENTRIES}
    assert set(ADDRESSES.split()) <= pages | MOVED.keys()
    assert {near.partition("?")[0] for near in MOVED.values()} <= pages and not pages & MOVED.keys()
    # Streamlit takes "attention" off ".../garment-attention" where both are pages, and leaves ".../garment-" before the address
    assert not {one for one in pages for other in pages - {one} if one.endswith(other)}
