"""Role of this visitor for `core.service`, and notices of what is closed to them."""

from collections.abc import Mapping

import streamlit as st

from core.messages import translate
from core.service.access import OPEN_VARIABLE, RIGHTS, Action, RequestAddress, Visitor, visitor_of
from pages.shared import controls, streamlit_private
from pages.shared.language import _


def visitor() -> Visitor:
    """Visitor whose page this run draws. Of a run without a connection nothing is known, and so it is a stranger's."""
    tab = streamlit_private.tab()
    came = streamlit_private.came_by(tab) or ({}, "")
    return visitor_of(connection(*came), tab=tab)


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
    why = _("A network reaches this server; whoever runs it may open this to all who reach it, by {variable}=yes.")
    closed = "; ".join(translate(RIGHTS[action].what) for action in actions if not who.may(action))
    controls.notice("closed", _("Closed here: {actions}.").format(actions=closed) + f" {why.format(variable=OPEN_VARIABLE)}")
    return False
