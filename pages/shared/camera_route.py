"""The websocket of a live camera: small JPEGs in, what a reader makes of each out; `live_camera.js` is its other end.

The browser sends a frame only after the answer to the one before, so that a slow machine gets fewer frames rather than late ones.
A frame lives as long as it is read: none is stored or sent further. A text message is the page's wish, told to the reader.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Protocol

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket, WebSocketDisconnect

from core.camera import Picture
from core.messages import BadValue, compose
from core.service import decoding
from core.service.access import Visitor
from core.service.limits import CAMERAS, Places
from pages.shared import service_routes
from pages.shared.language import _, translate_to

MAX_TEXT: Final = 100_000
"""Characters of a wish."""
IDLE_S: Final = 10.0
"""Seconds without a frame that can be read after which a camera gives its place to another; wishes hold none."""
BUSY, NOT_SET_UP, IDLE = 4429, 4404, 4408
"""Codes with which the socket is closed."""
_places: Final = Places(CAMERAS)


class CameraReader(Protocol):
    """Reads one camera's frames in order."""

    def read(self, picture: Picture) -> dict[str, Any]:
        """Marks that the browser draws on a frame (H, W, 3), ready for JSON."""
        ...

    def wish(self, wanted: dict[str, Any]) -> None:
        """Take a wish of the page. ValueError for one that it cannot have."""
        ...


def words() -> dict[str, str]:
    """Words that every page's camera says; `live_camera.js` shows them."""
    return {
        "start": _("Start the camera"),
        "stop": _("Stop"),
        "turn": _("Other camera"),
        "idle": _("The camera is off."),
        "connecting": _("Connecting"),
        "lost": _("The server is lost: the page goes on by itself when it is back."),
        "denied": _("The browser may not use the camera: allow it in the address bar and start again, or upload a file."),
        "noCamera": _("No camera was found: connect one and start again, or upload a file."),
        "inUse": _("Another program uses the camera: close it and start again, or upload a file."),
        "insecure": _("The browser gives the camera only to pages opened by https or on this computer (localhost)."),
        "pace": _("{rate} pictures a second, {ms} ms each"),
    }


async def camera_stream(websocket: WebSocket, make: Callable[[QueryParams], CameraReader]) -> None:
    """Read one camera until it stops.

    Args:
        make: the reader, by the address's parameters; ValueError says why there can be none. It runs in a thread.
    """
    language = websocket.query_params.get("lang", "en")
    await websocket.accept()
    visitor = service_routes.requester(websocket.scope)
    if full := _places.acquire(visitor.limited_by):
        refusal = {
            "all": compose("{most} cameras are being read already: try again later", most=CAMERAS.total),
            "address": compose("{most} cameras of your address are being read already: stop one of them", most=CAMERAS.address),
        }
        await _refuse(websocket, language, BUSY, refusal[full])
        return
    try:
        try:
            reader = await asyncio.to_thread(make, websocket.query_params)
        except ValueError as error:
            await _refuse(websocket, language, NOT_SET_UP, str(error))
            return
        due = asyncio.get_running_loop().time() + IDLE_S
        while True:
            async with asyncio.timeout_at(due):
                message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                if message.get("bytes") is None:
                    reader.wish(_wish(message.get("text") or ""))
                    continue
                answer = await asyncio.to_thread(_read, reader, visitor, message["bytes"])
                due = asyncio.get_running_loop().time() + IDLE_S
            except ValueError as error:
                answer = {"error": translate_to(language, str(error))}
            await websocket.send_text(json.dumps(answer))
    except TimeoutError:
        await _refuse(websocket, language, IDLE, compose("no frame came for {count} s: start again", count=int(IDLE_S)))
    except WebSocketDisconnect:
        return
    finally:
        _places.give_back(visitor.limited_by)


async def _refuse(websocket: WebSocket, language: str, code: int, sentence: str) -> None:
    await websocket.send_text(json.dumps({"error": translate_to(language, sentence)}))
    await websocket.close(code=code)


def _read(reader: CameraReader, by: Visitor, data: bytes) -> dict[str, Any]:
    return reader.read(decoding.frame(by, data))


def _wish(text: str) -> dict[str, Any]:
    """ValueError for what is too long, or no JSON object."""
    wanted = json.loads(text) if len(text) <= MAX_TEXT else None
    if not isinstance(wanted, dict):
        raise BadValue("a wish is a JSON object of at most {most} characters", most=MAX_TEXT)
    return wanted
