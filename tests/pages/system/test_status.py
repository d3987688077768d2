"""The System page: an epoch is timed when asked for, on the devices there are."""

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from core.market.hub import RunningFeed
from core.service import system
from core.service.access import Role
from pages.shared.navigation import ROOT


def test_everything_on_it_is_translated() -> None:
    """What stays the same in Spanish is a name, a number or a text of its own language."""

    def texts(locale: str) -> set[str]:
        app = AppTest.from_file(str(ROOT / "pages" / "system" / "status.py"), default_timeout=90)
        app.context = {"locale": locale, "timezone": "America/Lima"}
        app.run()
        assert not app.exception
        found = [element.value for element in [*app.title, *app.header, *app.markdown, *app.caption, *app.info, *app.error]]
        found += [element.label for element in [*app.button, *app.selectbox, *app.metric, *app.expander]]
        found += [str(column) for table in app.table for column in table.value.columns]
        return {text for text in found if any(character.isalpha() for character in text)}

    notices = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    same = {text for text in texts("en") & texts("es") if text[:200] not in notices.replace("\n## ", "\n##### ")}
    assert same <= {"Feed"}, same


@pytest.mark.parametrize("role", [Role.STRANGER])
def test_a_stranger_reads_no_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = RunningFeed(key="recording/x~code", viewers=1, steps=1, seconds=1.0)
    monkeypatch.setattr(system, "hub", lambda: SimpleNamespace(watched=lambda: [watched]))
    app = AppTest.from_file(str(ROOT / "pages" / "system" / "status.py"), default_timeout=90).run()
    assert not app.exception
    assert not any("recording/x~code" in table.value.to_string() for table in app.table)
    assert [one.value for one in app.info] == ["Closed here: reading which markets others watch."]
