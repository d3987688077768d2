"""A page's choices and the URL, by Streamlit's own test runner."""

import pytest

from pages.shared.url_state import real_number, whole_number
from tests.pages.open_page import open_page, ran


def page() -> None:
    import streamlit as st

    from pages.shared import url_state

    labels = st.session_state.get("labels", {"replay": "Recording", "live": "Live"})
    if not st.session_state.get("away"):
        source = url_state.choice(st.selectbox, "Source", labels, key="source")
        speed = url_state.choice(st.segmented_control, "Speed", {"1": "1x", "2": "2x"}, key="speed", default="2", required=True)
        st.text(f"{source} {speed}")


@pytest.mark.parametrize(("link", "chosen", "kept"), [
    ({}, "replay 2", {}),
    ({"source": "live", "speed": "1"}, "live 1", {"source": "live", "speed": "1"}),
    ({"source": "<script>", "speed": "9"}, "replay 2", {}),
])  # fmt: skip
def test_a_link_sets_the_choices_and_defaults_stay_out_of_it(link: dict[str, str], chosen: str, kept: dict[str, str]) -> None:
    app = open_page(page, **link)
    assert app.text[0].value == chosen and app.query_params == kept


def test_a_choice_goes_into_the_url_as_a_code_and_back_out() -> None:
    app = open_page(page)
    app.selectbox[0].set_value("live").run()
    assert app.text[0].value == "live 2" and app.query_params == {"source": "live"}
    app.selectbox[0].set_value("replay").run()
    assert app.text[0].value == "replay 2" and app.query_params == {}


@pytest.mark.parametrize(("labels", "chosen"), [
    ({"replay": "Grabación", "live": "En vivo"}, "live 2"), ({"replay": "Recording"}, "replay 2"),
])  # fmt: skip
def test_the_choice_outlives_a_change_of_language_and_not_that_of_its_option(labels: dict[str, str], chosen: str) -> None:
    app = open_page(page, source="live")
    app.session_state["labels"] = labels
    assert ran(app).text[0].value == chosen and app.selectbox[0].options == [*labels.values()]


def test_another_link_in_the_same_visit_wins() -> None:
    app = open_page(page, source="live")
    app.query_params["source"] = "replay"
    assert ran(app).text[0].value == "replay 2"


def test_back_to_a_link_without_a_choice_is_back_to_the_default() -> None:
    app = open_page(page)
    app.selectbox[0].set_value("live").run()
    del app.query_params["source"]  # the browser's Back: the address as it was before
    assert ran(app).text[0].value == "replay 2" and app.query_params == {}
    app.query_params["source"] = "live"  # and Forward
    assert ran(app).text[0].value == "live 2"


def test_the_choice_is_kept_while_another_page_is_shown() -> None:
    app = open_page(page, source="live")
    app.session_state["away"] = True
    app.query_params.clear()
    app.run()
    assert not app.text
    app.session_state["away"] = False
    app.run()
    assert app.text[0].value == "live 2" and app.query_params == {"source": "live"}


def test_no_options_is_an_error() -> None:
    import streamlit as st

    from pages.shared import url_state

    with pytest.raises(ValueError, match="give it one or more"):
        url_state.choice(st.selectbox, "Source", {}, key="source")


def patches() -> None:
    import streamlit as st

    from pages.shared import url_state

    st.button("Two", on_click=lambda: st.session_state.update(hide=["9", "2"]))
    if not st.session_state.get("away"):
        st.text(" ".join(map(str, url_state.numbers("hide", 10))))


@pytest.mark.parametrize(("link", "read", "kept"), [
    ("3.7", "3 7", "3.7"),
    ("7.3.3", "3 7", "3.7"),
    ("x.3..99.-1.10.\u0663", "3", "3"),
    ("nonsense", "", None),
    ("", "", None),
])  # fmt: skip
def test_numbers_of_a_link_are_read_and_nothing_else(link: str, read: str, kept: str | None) -> None:
    app = open_page(patches, hide=link)
    assert app.text[0].value == read
    assert app.query_params.get("hide") == kept


def test_numbers_follow_code_and_another_page() -> None:
    app = open_page(patches)
    app.button[0].click().run()
    assert app.text[0].value == "2 9" and app.query_params == {"hide": "2.9"}
    app.session_state["away"] = True
    app.run()
    app.session_state["away"] = False
    assert ran(app).text[0].value == "2 9"


@pytest.mark.parametrize(("text", "number"), [
    ("0", 0), ("7", 7), ("-3", -3), ("007", 7), ("10", 10),
    ("11", 5), ("-4", 5), ("9" * 4400, 5), ("1" + "0" * 4400, 5), ("inf", 5), ("nan", 5), ("", 5), (None, 5),
    ("\u0663", 5), ("\u00b2", 5), ("1_0", 5), (" 3", 5), ("3\n", 5), ("+3", 5), ("3.0", 5), ("0x3", 5), ("--3", 5),
])  # fmt: skip
def test_a_whole_number_is_read_within_its_bounds_and_anything_else_gives_the_default(text: str | None, number: int) -> None:
    assert whole_number(text, -3, 10, 5) == number


def test_a_whole_number_may_have_no_default() -> None:
    assert whole_number("x", 0, 1, None) is None


@pytest.mark.parametrize(("text", "number"), [
    ("3", 3.0), ("-0.25", -0.25), ("1e-3", 0.001), ("5.", 5.0),
    ("inf", None), ("-inf", None), ("nan", None), ("1e999", None), ("9" * 4400, None), ("", None), (None, None),
    ("\u0663", None), ("1_0", None), (" 3", None), (".", None),
])  # fmt: skip
def test_a_real_number_is_finite_and_anything_else_gives_the_default(text: str | None, number: float | None) -> None:
    assert real_number(text, None) == number


def one_slider() -> None:
    import streamlit as st

    from pages.shared import url_state

    st.text(str(url_state.slider("Seed", 0, 20, key="seed", default=3)))


@pytest.mark.parametrize(("link", "value"), [
    ("7", "7"), ("99", "20"), ("-5", "0"), ("inf", "3"), ("9" * 4400, "3"), ("\u0667", "3"), ("", "3"),
])  # fmt: skip
def test_a_slider_follows_a_link_within_its_bounds(link: str, value: str) -> None:
    assert open_page(one_slider, seed=link).text[0].value == value


def one_field() -> None:
    from pages.shared import controls, url_state

    url_state.text("Sentence", key="text", default="a b", max_chars=6)
    controls.cut_link("text")


def test_a_links_text_that_is_too_long_is_said_until_another_is_typed() -> None:
    app = open_page(one_field, text="one two three")
    for _run in range(2):
        assert app.text_input[0].value == "one tw"
        assert [one.value for one in app.warning] == ["The link's text has 13 characters: the first 6 are read."]
        app.run()
    app.text_input[0].set_value("four").run()
    assert not app.warning


def sliders() -> None:
    import streamlit as st

    from pages.shared import url_state

    def jump() -> None:
        st.session_state["place"] = 30.25

    st.button("Jump", on_click=jump)
    place = url_state.slider("Place", 0.0, 99.75, key="place", default=10.0, step=0.25)
    count = url_state.slider("Count", 1, 40, key="count", default=1)
    st.text(f"{place!r} {count!r}")


def test_the_reader_and_code_both_move_it_and_the_url_follows() -> None:
    app = open_page(sliders, place="42.75")
    app.slider(key="place").set_value(50.0).run()
    assert app.text[0].value == "50.0 1" and app.query_params == {"place": "50"}
    app.button[0].click().run()
    assert app.text[0].value == "30.25 1" and app.query_params == {"place": "30.25"}
