"""Role of this visitor for `core.service`, and notices of what is closed to them."""

from collections.abc import Mapping

import streamlit as st

from core.messages import translate
from core.service.access import OPEN_VARIABLE, RIGHTS, Action, RequestAddress, Visitor, visitor_of
from pages.shared import controls, streamlit_private
from pages.shared.language import _


def has_sign_in() -> bool:
    """Tells whether the server has a sign-in (a section `[auth]` in its secrets)."""
    return hasattr(st.user, "is_logged_in")


def visitor() -> Visitor:
    """Visitor whose page this run draws. Of a run without a connection nothing is known, and so it is a stranger's."""
    tab = streamlit_private.tab()
    came = streamlit_private.came_by(tab) or ({}, "")
    sign_in = has_sign_in()
    user: Mapping[str, object] | None = dict(st.user) if sign_in and st.user.is_logged_in else None
    return visitor_of(connection(*came), tab=tab, sign_in=sign_in, user=user)


def connection(headers: Mapping[str, str], peer: str) -> RequestAddress:
    """Facts of a request to this server."""
    return RequestAddress(
        bind=st.get_option("server.address"), public_name=st.get_option("browser.serverAddress") or "", peer=peer, headers=headers
    )


def guard(*actions: Action) -> bool:
    """Tells whether this visitor may do these; where not, a notice says why and how they are opened."""
    who = visitor()
    if all(who.may(action) for action in actions):
        return True
    if not has_sign_in():
        why = _("A network reaches this server and it knows no sign-in; whoever runs it may set up one, or {variable}=yes.")
        why = why.format(variable=OPEN_VARIABLE)
    elif st.user.is_logged_in:
        why = _("Your account is not on the list of those who may.")
    else:
        why = _("Sign in first, at the top.")
    closed = "; ".join(translate(RIGHTS[action].what) for action in actions if not who.may(action))
    controls.notice("closed", _("Closed here: {actions}.").format(actions=closed) + f" {why}")
    return False


def sign_in_button() -> None:
    """Sign in or out, where the server has a sign-in."""
    if not has_sign_in():
        return
    if st.user.is_logged_in:
        st.caption(str(st.user.get("email") or st.user.get("name") or ""))
        st.button(_("Sign out"), icon=":material/logout:", on_click=st.logout, key="sign_out")
    else:
        st.button(_("Sign in"), icon=":material/login:", on_click=st.login, key="sign_in")
