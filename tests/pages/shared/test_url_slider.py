"""A slider that code moves too, and the URL."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from pages.shared import url_state

    def jump() -> None:
        st.session_state["place"] = 30.25

    st.button("Jump", on_click=jump)
    if not st.session_state.get("away"):
        linked = not st.session_state.get("playing")
        place = url_state.slider("Place", 0.0, 99.75, key="place", default=10.0, linked=linked, step=0.25)
        count = url_state.slider("Count", 1, 40, key="count", default=1)
        st.text(f"{place!r} {count!r}")


def run(query: dict[str, Any] | None = None) -> AppTest:
    app = AppTest.from_function(page)
    app.query_params.update(query or {})
    return app.run()


def shown(app: AppTest) -> str:
    assert not app.exception
    return str(app.text[0].value)


def test_the_default_stays_out_of_the_url() -> None:
    app = run()
    assert shown(app) == "10.0 1" and app.query_params == {}


def test_a_link_sets_both_kinds_of_number() -> None:
    app = run({"place": "42.75", "count": "7"})
    assert shown(app) == "42.75 7" and app.query_params == {"place": "42.75", "count": "7"}


def test_what_lies_outside_is_brought_inside_and_nonsense_is_ignored() -> None:
    assert shown(run({"place": "1e9", "count": "-3"})) == "99.75 1"
    assert shown(run({"place": "nan", "count": "many"})) == "10.0 1"
    assert shown(run({"count": "inf"})) == "10.0 1"


def test_the_reader_and_code_both_move_it_and_the_url_follows() -> None:
    app = run({"place": "42.75"})
    app.slider(key="place").set_value(50.0).run()
    assert shown(app) == "50.0 1" and app.query_params == {"place": "50"}
    app.button[0].click().run()
    assert shown(app) == "30.25 1" and app.query_params == {"place": "30.25"}


def test_another_link_in_the_same_visit_wins() -> None:
    app = run({"place": "42.75"})
    app.query_params["place"] = "5"
    assert shown(app.run()) == "5.0 1"


def test_while_something_plays_the_url_is_left_alone() -> None:
    app = run({"place": "42.75"})
    app.session_state["playing"] = True
    app.session_state["place"] = 60.0
    app.run()
    assert shown(app) == "60.0 1" and app.query_params == {"place": "42.75"}
    app.session_state["playing"] = False
    app.run()
    assert shown(app) == "60.0 1" and app.query_params == {"place": "60"}


def test_the_place_is_kept_while_another_page_is_shown() -> None:
    app = run({"place": "42.75"})
    app.session_state["away"] = True
    app.query_params.clear()
    app.run()
    app.session_state["away"] = False
    app.run()
    assert shown(app) == "42.75 1"
