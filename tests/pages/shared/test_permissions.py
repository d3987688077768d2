"""What a visitor may do, by the server's address and its sign-in."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.service.access import OPEN_VARIABLE, USERS_VARIABLE, Action


def page() -> None:
    """A page with something to guard."""
    import streamlit as st

    from core.service.access import Action
    from pages.shared import permissions

    permissions.sign_in_button()
    for action in Action:
        st.text(f"{action}: {permissions.guard(action)}")


@pytest.mark.parametrize(
    ("address", "variable", "open_"), [("localhost", "", True), ("0.0.0.0", "", False), ("0.0.0.0", "yes", True)]
)
def test_a_server_on_a_network_without_sign_in_is_closed(
    address: str, variable: str, open_: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"server.address": address}
    plain = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: options.get(name) or plain(name))
    monkeypatch.setenv(OPEN_VARIABLE, variable)
    app = AppTest.from_function(page).run()
    assert not app.exception
    assert [one.value for one in app.text] == [f"{action}: {open_}" for action in Action]
    assert len(app.info) == (0 if open_ else len(Action)) and not app.button
    for notice in app.info:
        assert f"{OPEN_VARIABLE}=yes" in notice.value


@pytest.mark.parametrize(
    ("email", "why"),
    [
        (None, "Sign in first, in the sidebar."),
        ("pupil@class.example", "Your account is not on the list of those who may."),
        ("Teacher@class.example", None),
    ],
)
def test_with_a_sign_in_the_list_decides(email: str | None, why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class User(dict[str, str]):
        is_logged_in = email is not None

    monkeypatch.setattr(st, "user", User({"email": email} if email else {}))
    monkeypatch.setenv(USERS_VARIABLE, "teacher@class.example")
    app = AppTest.from_function(page).run()
    assert not app.exception
    assert [one.value for one in app.text] == [f"{action}: {why is None}" for action in Action]
    assert [one.value.endswith(why or "") for one in app.info] == [True] * (len(Action) if why else 0)
