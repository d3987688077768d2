"""What a visitor may do, by the server's address and its sign-in."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.service.access import OPEN_VARIABLE, PROXY_SEEN, USERS_VARIABLE, Action, Role, Visitor
from pages.shared import permissions, streamlit_private
from tests.core.service.test_access import AT_HOME, CLOSED_TO_STRANGERS
from tests.pages.open_page import open_page

REAL = permissions.visitor


@pytest.fixture(autouse=True)
def visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one, of a connection from this machine, instead of that of the other tests of pages."""
    monkeypatch.setattr(permissions, "visitor", REAL)
    connect(monkeypatch, AT_HOME)


def connect(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str] | None) -> None:
    """Have the run's browser connect with these headers; None: be away."""
    came = None if headers is None else ({name.lower(): value for name, value in headers.items()}, "127.0.0.1")
    monkeypatch.setattr(streamlit_private, "came_by", lambda _tab: came)
    PROXY_SEEN.clear()


def page() -> None:
    """A page with something to guard."""
    import streamlit as st

    from core.service.access import Action
    from pages.shared import permissions

    permissions.sign_in_button()
    for action in Action:
        st.text(f"{action}: {permissions.guard(action)}")


def opened() -> tuple[set[Action], AppTest]:
    """Actions that the page has open."""
    app = open_page(page)
    return {action for action in Action if f"{action}: True" in [one.value for one in app.text]}, app


STRANGERS = set(Action) - CLOSED_TO_STRANGERS
OPERATORS = set(Action)


@pytest.mark.parametrize(
    ("address", "variable", "open_"),
    [("localhost", "", OPERATORS), ("0.0.0.0", "", STRANGERS), ("0.0.0.0", "yes", OPERATORS - {Action.READ_METRICS})],
)
def test_a_server_on_a_network_without_sign_in_is_closed(
    address: str, variable: str, open_: set[Action], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"server.address": address}
    plain = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: options.get(name) or plain(name))
    monkeypatch.setenv(OPEN_VARIABLE, variable)
    found, app = opened()
    assert found == open_ and not app.button
    assert len(app.info) == len(set(Action) - open_)
    for notice in app.info:
        assert f"{OPEN_VARIABLE}=yes" in notice.value


@pytest.mark.parametrize("headers", [AT_HOME | {"x-forwarded-for": "203.0.113.9"}, AT_HOME | {"host": "desk.example"}, {}, None])
def test_behind_a_proxy_and_without_a_connection_it_is_closed(
    headers: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, headers)
    assert opened()[0] == STRANGERS


@pytest.mark.parametrize(
    ("email", "why"),
    [
        (None, "Sign in first, at the top."),
        ("pupil@class.example", "Your account is not on the list of those who may."),
        ("Teacher@class.example", None),
    ],
)
def test_with_a_sign_in_the_list_decides(email: str | None, why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class User(dict[str, str]):
        is_logged_in = email is not None

    monkeypatch.setattr(st, "user", User({"email": email} if email else {}))
    monkeypatch.setenv(USERS_VARIABLE, "teacher@class.example")
    found, app = opened()
    assert found == (OPERATORS - {Action.READ_METRICS} if why is None else STRANGERS)
    assert why is None or all(one.value.endswith(why) for one in app.info)


def test_whose_tab_it_is_comes_from_the_run() -> None:
    def whose() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        from pages.shared import permissions

        st.text(str(permissions.visitor().id == get_script_run_ctx().session_id))

    assert open_page(whose).text[0].value == "True"
    assert REAL() == Visitor(id="nobody", role=Role.OPERATOR, address="127.0.0.1")
