"""The parts all lecture pages share."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.lecture import course
from pages.learn import frame
from pages.shared import language
from pages.shared.language import ASSETS, sections
from pages.shared.navigation import ROOT
from tests.pages.learn.drawn_part import parts
from tests.pages.open_page import open_page

LECTURES = sorted(path.stem for kind in ("learn", "course") for path in (ASSETS / "text" / "en").glob(f"{kind}_*.md"))


def page() -> None:
    import streamlit as st

    from pages.learn import frame, lesson_page

    turned = frame.draw_dials(
        "dial", {"n": frame.slider("Length", 1, 9, key="n", default=4), "on": frame.switch("Switch", key="on")}
    )
    with turned.place:
        frame.show_equation(frame.Worked("a = b", frame.tex_row([1.5, -0.0001]), "note"))
    lesson_page.check("it holds", turned.values["n"] == 4)()
    st.text(str(turned.values))


def run(locale: str = "en-US", **query: str) -> AppTest:
    return open_page(page, {"locale": locale}, **query)


def test_every_dial_keeps_its_value_while_another_is_shown() -> None:
    app = run(n="7", dial="on")
    assert "'n': 7" in app.text[0].value and app.warning
    app.toggle[0].set_value(True).run()
    app.pills[0].set_value("n").run()
    assert app.text[0].value == "{'n': 7, 'on': True}"
    assert "Switch: on" in app.caption[0].value
    app.slider[0].set_value(4).run()
    assert app.success and "n" not in app.query_params


def test_numbers_for_latex_follow_the_language() -> None:
    assert frame.tex(0.125) == "0.125" and frame.tex(-0.00001) == "0.000" and frame.tex(1234.5, 1) == "1{,}234.5"
    assert frame.tex(float("-inf")) == r"-\infty"
    assert r"1{,}50 & 0{,}00" in run("es-ES").latex[1].value
    assert frame.tex_row(range(9), 0, most=3) == r"\begin{bmatrix}0 & 1 & \cdots & 8\end{bmatrix}"
    assert frame.tex_matrix([[0], [1], [2], [3]], 0, most=3) == r"\begin{bmatrix}0 \\ 1 \\ \vdots \\ 3\end{bmatrix}"


@pytest.mark.parametrize("name", LECTURES)
def test_both_languages_have_the_same_sections(name: str) -> None:
    found = [list(language.sections((ASSETS / "text" / code / f"{name}.md").read_text())) for code in language.LANGUAGES]
    assert found[0] and all(one == found[0] for one in found)


def test_every_part_of_a_lesson_has_its_story_in_both_languages() -> None:
    for url, part in parts():
        lesson = course.lesson_of(url, part.code)
        for code in ("en", "es"):
            told = sections((ASSETS / "text" / code / f"course_{lesson.code}.md").read_text(encoding="utf-8"))
            assert f"story_{part.code}" in told, (lesson.code, code)


def test_the_course_may_have_an_odd_number_of_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "LESSONS", course.LESSONS[:3])
    monkeypatch.setattr(st, "page_link", lambda *_args, **_more: None)  # a page opened alone knows no other
    cards = [one.value for one in open_page(ROOT / "pages" / "learn" / "course.py").caption if " min · " in one.value]
    assert len(cards) == 3
