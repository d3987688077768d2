"""The recurrent-cells page by Streamlit's own test runner: a link, one of before among its choices."""

from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page

PAGE = ROOT / "pages" / "learn" / "recurrent.py"


def text(app: AppTest) -> str:
    return " ".join(element.value for element in (*app.latex, *app.caption, *app.code))


def test_a_link_opens_the_exact_state() -> None:
    app = open_page(PAGE, part="lstm", len="20", step="3", unit="2", fb="2", seq="letters")
    assert "Step 3, unit 2." in text(app)
    assert "Length: 20" in text(app) and app.slider(key="fb").value == 2
