"""The recurrent-cells page by Streamlit's own test runner: links, and what cannot be used."""

from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran

PAGE = ROOT / "pages" / "learn" / "recurrent.py"


def text(app: AppTest) -> str:
    return " ".join(element.value for element in (*app.latex, *app.caption, *app.code))


def test_a_link_opens_the_exact_state() -> None:
    app = open_page(PAGE, part="lstm", seq="letters", text="hola", step="3", unit="2", fb="2")
    assert "Step 3 (l), unit 2." in text(app)
    assert "Sentence: hola" in text(app) and app.slider(key="fb").value == 2


def test_an_unusable_sentence_is_told() -> None:
    app = open_page(PAGE, seq="letters")
    app.text_input(key="text").set_value("a")
    assert "Type 2 to 60" in ran(app).error[0].value
    assert "seq=letters" in app.code[0].value, "the link to this view stays under an error"
