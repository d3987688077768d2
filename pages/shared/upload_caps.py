"""Refuses uploads that would be too much for the server's memory, before they are read, and tells the page why."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ReceivedMessage
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.messages import Message, translate
from core.service.access import requester_of
from core.service.uploads import Holder, UploadCaps
from pages.shared import controls, permissions, service_routes

UPLOAD: Final = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
MAX_REFUSALS: Final = 256
STALLED_S: Final = 30.0
"""Seconds without a byte after which an upload is given up."""

_refusals: OrderedDict[str, Message] = OrderedDict()


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
        refusal = self.caps.begin(by, size, held_uploads())
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
    """Bytes that Streamlit keeps of each visitor's uploads; of one whose tab is closed no address is known."""
    if not Runtime.exists():
        return {}
    storage: dict[str, dict[str, Any]] = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {})
    sizes = {visitor: sum(len(one.data) for one in list(files.values())) for visitor, files in list(storage.items())}
    return {(visitor, _address(visitor)): size for visitor, size in sizes.items()}


def _address(visitor: str) -> str:
    client = Runtime.instance().get_client(visitor)
    known = client.client_context if client is not None else None
    if known is None:
        return ""
    headers = {name.lower(): value for name, value in known.headers}
    return requester_of(permissions.connection(headers, known.remote_ip or "")).limited_by


def tell(visitor: str, refusal: Message) -> None:
    """Have the visitor's page run again and show why."""
    _refusals[visitor] = refusal
    while len(_refusals) > MAX_REFUSALS:
        _refusals.popitem(last=False)
    if Runtime.exists():
        info = Runtime.instance()._session_mgr.get_active_session_info(visitor)
        if info is not None:
            info.session.request_rerun(info.session._client_state)  # of the page it is on, as Streamlit does after a change


def show_refusal() -> None:
    """Says once why this visitor's last upload was refused."""
    context = get_script_run_ctx()
    refusal = _refusals.pop(context.session_id, None) if context else None
    if refusal is not None:
        controls.notice("closed", translate(refusal))
