"""What this visitor may do to the machine that serves: recording, deleting, training, forecasters, its folders."""

from __future__ import annotations

import streamlit as st

from core.service.access import OPEN_VARIABLE, Action, is_open
from pages.shared import controls
from pages.shared.language import _


def has_sign_in() -> bool:
    """Whether the server has a sign-in (a section `[auth]` in its secrets)."""
    return hasattr(st.user, "is_logged_in")


def allowed() -> bool:
    """Whether the actions of `Action` are open to this visitor."""
    sign_in = has_sign_in()
    email = str(st.user.get("email") or "") if sign_in and st.user.is_logged_in else None
    return is_open(address=st.get_option("server.address"), sign_in=sign_in, email=email)


def guard(*actions: Action) -> bool:
    """Whether this visitor may do these; where not, a notice says why and how they are opened."""
    if allowed():
        return True
    if not has_sign_in():
        why = _("A network reaches this server and it knows no sign-in; whoever runs it may set up one, or {variable}=yes.")
        why = why.format(variable=OPEN_VARIABLE)
    elif st.user.is_logged_in:
        why = _("Your account is not on the list of those who may.")
    else:
        why = _("Sign in first, in the sidebar.")
    controls.notice("closed", f"{_closed(actions)} {why}")
    return False


def _closed(actions: tuple[Action, ...]) -> str:
    if len(actions) > 1:
        names = {
            Action.RECORD: _("recording and converting"),
            Action.DELETE: _("renaming, merging and deleting"),
            Action.TRAIN: _("training"),
            Action.ADD_FORECASTER: _("adding forecasters"),
            Action.SERVER_FOLDER: _("folders of this server"),
        }
        return _("Closed here: {actions}.").format(actions="; ".join(names[action] for action in actions))
    return {
        Action.RECORD: _("Recording is closed here."),
        Action.DELETE: _("Deleting is closed here."),
        Action.TRAIN: _("Training is closed here."),
        Action.ADD_FORECASTER: _("Adding forecasters is closed here."),
        Action.SERVER_FOLDER: _("Folders of this server are closed here."),
    }[actions[0]]


def sign_in_button() -> None:
    """Sign in or out, where the server has a sign-in."""
    if not has_sign_in():
        return
    if st.user.is_logged_in:
        st.caption(str(st.user.get("email") or st.user.get("name") or ""))
        st.button(_("Sign out"), icon=":material/logout:", on_click=st.logout, key="sign_out")
    else:
        st.button(_("Sign in"), icon=":material/login:", on_click=st.login, key="sign_in")
