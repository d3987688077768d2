"""The System page in both languages."""

import os

import psutil
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page


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
    assert not same, same


def test_it_tells_the_truth_about_the_process() -> None:
    (memory,) = [one for one in open_page(ROOT / "pages" / "system" / "status.py").metric if one.label == "Memory"]
    amount, unit = memory.value.split()
    mebibytes = float(amount.replace(",", "")) * {"MiB": 1, "GiB": 1024}[unit]
    assert mebibytes == pytest.approx(psutil.Process(os.getpid()).memory_info().rss / 1024**2, rel=0.25)
