"""The parts all lecture pages share."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.learn import frame
from pages.shared import language
from pages.shared.language import ASSETS

LECTURES = sorted(path.stem.removeprefix("learn_") for path in (ASSETS / "text" / "en").glob("learn_*.md"))


def page() -> None:
    import streamlit as st

    from pages.learn import frame

    chosen = frame.dials(
        "dial",
        {
            "n": frame.slider("Length", 1, 9, key="n", default=4),
            "on": frame.switch("Switch", key="on"),
        },
    )
    frame.equation("a = b", frame.tex_row([1.5, -0.0001]), note="note")
    frame.check("it holds", holds=chosen["n"] == 4)
    st.text(str(chosen))


def run(locale: str = "en-US", **query: str) -> AppTest:
    app = AppTest.from_function(page)
    app.context = {"locale": locale}
    app.query_params.update(query)
    app.run()
    assert not app.exception, app.exception[0].value
    return app


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


def test_a_snippet_takes_the_values_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "_source", lambda _page: "LENGTH = 64  # positions\nLENGTH_2 = 1\nprint(LENGTH)\n")
    assert frame.snippet("any", {"LENGTH": 7}) == "LENGTH = 7  # positions\nLENGTH_2 = 1\nprint(LENGTH)\n"
    with pytest.raises(KeyError, match="sets no WIDTH"):
        frame.snippet("any", {"WIDTH": 1})


def test_the_notebook_holds_the_snippet() -> None:
    cells = json.loads(frame.notebook("a = 1\nprint(a)\n"))["cells"]
    assert "".join(cells[0]["source"]) == "a = 1\nprint(a)\n"


@pytest.mark.parametrize("name", LECTURES)
def test_both_languages_have_the_same_sections(name: str) -> None:
    found = [list(frame._sections((ASSETS / "text" / code / f"learn_{name}.md").read_text())) for code in language.LANGUAGES]
    assert found[0] and all(one == found[0] for one in found)
