"""States in which a page once said something that its figure did not show."""

import re

import pytest

from core.lecture import permutation
from pages.shared.language import translate_to
from pages.shared.navigation import ROOT
from tests.pages.learn.drawn_part import parts
from tests.pages.open_page import open_page, ran, words

LEARN = ROOT / "pages" / "learn"


@pytest.mark.parametrize("code", ["en", "es"])
def test_lesson_fours_answer_is_the_pages_number(code: str) -> None:
    """The words that the page opens with differ by language, and so does the deviation."""
    page = open_page(LEARN / "permutation.py", lang=code, causal="fixed", order="5,4,3,2,1")
    deviation = next(one.value.rpartition(" ")[2] for one in page.warning).rstrip(".")
    assert re.search(rf"\b{re.escape(deviation)}:", words(page)), deviation
    assert translate_to(code, permutation.SENTENCE) in words(page)


def test_a_rotation_starts_where_its_dial_stands() -> None:
    app = open_page(LEARN / "positions.py", part="rotation", n="93", pos="80", k="29")
    assert app.slider(key="pos").value == app.slider(key="pos").max == 63
    assert "position 63, shifted by 29" in words(app)


@pytest.mark.parametrize(("page", "part"), [("norms", "depth"), ("optimisers", "schedules")])
def test_no_symbol_has_two_values(page: str, part: str) -> None:
    last = open_page(LEARN / f"{page}.py", part=part).latex[-1].value
    symbols = [line.partition("&=")[0].strip() for line in last.replace(r"\begin{aligned}", "").split(r"\\")]
    assert len(symbols) > 1 and len(set(symbols)) == len(symbols), symbols


@pytest.mark.parametrize("code", ["en", "es"])
def test_no_passage_points_at_a_place_of_the_screen(code: str) -> None:
    """A telephone and a projector have other places, and a part may have another figure at another state."""
    places = r"on the (left|right)|beside (it|them)|bars? shows?|[Pp]oint at|under the figure|"
    places += r"a la (derecha|izquierda)|, al lado,|barras? muestran?|Señala|bajo la figura"
    for name in {url.replace("-", "_") for url, _part in parts()}:
        file = ROOT / "assets" / "text" / code / f"learn_{name}.md"
        assert not (found := re.search(places, file.read_text("utf-8"))), (file.name, found)


def test_z_is_av_on_every_page_and_w_o_comes_after() -> None:
    lines = " ".join(one.value for one in open_page(LEARN / "permutation.py", order="1,2,3,4,5", heads="2").latex)
    z = re.search(r"Z'_1 &= (\\begin\{bmatrix\}.*?\\end\{bmatrix\})", lines)
    heads = open_page(LEARN / "attention_steps.py", part="heads", heads="2", words=str(permutation.SENTENCE), q="0")
    assert z and any(z[1] in one.value and "O_{1}" in one.value for one in heads.latex)


def test_after_two_dials_the_sentence_is_about_the_last() -> None:
    app = open_page(LEARN / "attention_steps.py", part="softmax")
    app.select_slider(key="t").set_value("0.5")
    assert "**Temperature τ** · Most moved" in " ".join(one.value for one in ran(app).markdown)
    next(one for one in app.button_group if one.key == "q").set_value("3")  # another row is read, nothing moves
    assert "**Temperature τ** · Most moved" in " ".join(one.value for one in ran(app).markdown)
    app.segmented_control(key="mask").set_value("causal")
    told = " ".join(one.value for one in ran(app).markdown)
    assert "**Mask** · Most moved" in told and "Did not move: [SEP]." in told  # a causal mask leaves the last row alone


def test_reversing_moves_rows_and_says_that_no_output_changed() -> None:
    app = open_page(LEARN / "permutation.py")
    next(button for button in app.button if button.label == "Reverse").click()
    shown = words(ran(app))
    assert "No word's output changed; its row stands where the word now stands." in shown and "Nothing moved" not in shown


@pytest.mark.parametrize(
    ("page", "query", "shown"),
    [
        ("attention_steps", {"part": "softmax"}, "Temperature τ** · Most moved"),
        ("positions", {"part": "matrix", "dial": "base"}, "Base** · Most moved"),
        ("permutation", {"causal": "fixed"}, "Order** · Most moved"),
    ],
)
def test_a_revealed_question_stays_while_the_dial_goes_where_it_asked(page: str, query: dict[str, str], shown: str) -> None:
    app = open_page(LEARN / f"{page}.py", ask="true", **query)
    (asked,) = (one.value for one in app.markdown if one.value.endswith("?**"))
    app.button(key="predict_hand_0").click()
    ran(app)
    app.button(key="predict_reveal").click()
    told = [one.value for one in (*ran(app).success, *app.warning) if one.value.startswith(("Right", "**It"))]
    app.button(key="predict_walk").click()
    after = words(ran(app))
    assert asked in [one.value for one in app.markdown] and told[0] in after.replace("  ", " ") and shown in after
    app.button(key="predict_next").click()
    assert not [one for one in ran(app).button if one.key == "predict_next"]
