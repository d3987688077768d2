"""Refuses uploads that no widget asks for or that would be too much for the server's memory, and tells the page why.

Streamlit's address of an upload names the tab alone, and its server knows the limit of `server.maxUploadSize` alone: that of a
widget is the browser's. So the largest one of the tab's page counts here, and `file_uploader` leaves out what is above its own.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ReceivedMessage

from core.messages import Message, compose, translate
from core.service.access import requester_of
from core.service.limits import MIB, SOCKETS, UploadCaps
from core.store import Holder
from pages.shared import controls, permissions, service_routes, streamlit_private

UPLOAD: Final = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
MAX_REFUSALS: Final = 256
STALLED_S: Final = 30.0
"""Seconds without a byte after which an upload is given up."""

MAX_TABS: Final = 2 * SOCKETS.total
FRAMING: Final = MIB // 16
"""Bytes of an upload besides the file's."""

_refusals: OrderedDict[str, Message] = OrderedDict()
_asked: OrderedDict[str, tuple[str, int]] = OrderedDict()
"""By tab: its page, and MiB of the largest file that a widget of it takes."""


def file_uploader(label: str, *, max_upload_size: int, **options: Any) -> Any:
    """As `st.file_uploader`, with a limit that the server keeps too."""
    tab, page = streamlit_private.tab(), streamlit_private.page()
    before, most = _asked.pop(tab, ("", 0))
    _asked[tab] = page, max(max_upload_size, most if before == page else 0)
    while len(_asked) > MAX_TABS:
        _asked.popitem(last=False)
    given = st.file_uploader(label, max_upload_size=max_upload_size, **options)
    fitting = [
        one for one in (given if isinstance(given, list) else [given]) if one is not None and one.size <= max_upload_size * MIB
    ]
    return fitting if isinstance(given, list) else next(iter(fitting), None)


def upload_button(
    label: str, *, key: str, max_upload_size: int, on_change: Callable[[], None] | None = None, **options: Any
) -> Any:
    """A button to choose a file, the same after each: a widget of its own asks for each, so that none lists its file.

    Returns:
        The file chosen last; None before.
    """
    state = st.session_state
    chosen, last = f"{key}:chosen", f"{key}:last"
    widget = f"{key}:{state.setdefault(chosen, 0)}"

    def on_upload() -> None:
        file = state[widget]
        if file is not None and file.size <= max_upload_size * MIB:
            if last in state:  # its widget is gone: Streamlit would keep and count the file until the tab is closed
                streamlit_private.forget_upload(state[last].file_id)
            state[last] = file
            state[chosen] += 1
            if on_change is not None:
                on_change()

    file_uploader(label, key=widget, max_upload_size=max_upload_size, on_change=on_upload, **options)
    return state.get(last)


class UploadCheck:
    """Passes an upload on where there is room for it."""

    def __init__(self, app: ASGIApp, caps: UploadCaps | None = None) -> None:
        self.app, self.caps = app, caps or UploadCaps()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at uploads alone."""
        upload = UPLOAD.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if upload is None:
            await self.app(scope, receive, send)
            return
        visitor, length = upload[1], Headers(scope=scope).get("content-length", "")
        if not length.isdigit():
            await PlainTextResponse("An upload says its size first (Content-Length).\n", status_code=411)(scope, receive, send)
            return
        size, by = int(length), (visitor, service_routes.requester(scope).limited_by)
        most = _asked.get(visitor, ("", 0))[1]  # of the widgets of the visitor's page
        refusal = compose("This page takes files of up to {most} MiB.", most=most) if size > most * MIB + FRAMING else None
        refusal = refusal or self.caps.begin(by, size, held_uploads())
        if refusal is not None:
            tell(visitor, refusal)
            await PlainTextResponse(f"{refusal}\n", status_code=413)(scope, receive, send)
            return

        async def arriving() -> ReceivedMessage:
            try:
                async with asyncio.timeout(STALLED_S):
                    return await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}  # one that stands still holds its place for nobody

        try:
            await self.app(scope, arriving, send)
        finally:
            self.caps.end(by, size)


def held_uploads() -> dict[Holder, int]:
    """Bytes that are kept of each visitor's uploads; of one whose tab is closed no address is known."""
    return {(visitor, _address(visitor)): size for visitor, size in streamlit_private.held_uploads().items()}


def _address(visitor: str) -> str:
    came = streamlit_private.came_by(visitor)
    return requester_of(permissions.connection(*came)).limited_by if came is not None else ""


def tell(visitor: str, refusal: Message) -> None:
    """Have the visitor's page run again and show why."""
    _refusals[visitor] = refusal
    while len(_refusals) > MAX_REFUSALS:
        _refusals.popitem(last=False)
    streamlit_private.run_again(visitor)


def show_refusal() -> None:
    """Says once why this visitor's last upload was refused."""
    refusal = _refusals.pop(streamlit_private.tab(), None)
    if refusal is not None:
        controls.notice("closed", translate(refusal))
