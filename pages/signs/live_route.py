"""The websocket of the live camera page: `/stream/hands?lang=en`, small JPEGs in, what is read of them out.

The browser sends a frame only after the answer to the one before, so that a slow machine gets fewer frames rather than late ones.
A frame lives as long as it is read: none is stored or sent further.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from core.messages import compose
from core.signs.hands.finder import HandFinder
from core.signs.hands.model_files import MissingModels
from core.signs.live_reading import LiveReader, LiveReading, decoded
from core.signs.recogniser import HANDS, Recogniser, load_recogniser
from pages.shared.language import translate_to
from pages.shared.navigation import HANDS_STREAM

PATH: Final = HANDS_STREAM
MAX_VIEWERS: Final = 4
"""Cameras read at once: each takes about a third of a core at ten frames a second."""
IDLE_S: Final = 30.0
"""Seconds without a frame after which a camera gives its place to another."""
BUSY, REFUSED, NOT_SET_UP, IDLE = 4429, 4403, 4404, 4408
"""Codes with which the socket is closed."""
_viewers: set[WebSocket] = set()


@cache
def _recogniser() -> Recogniser:
    return load_recogniser(HANDS)


def _reader() -> LiveReader:
    return LiveReader(_recogniser(), HandFinder())


async def hands_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    language = websocket.query_params.get("lang", "en")
    if not _is_origin_allowed(websocket.headers.get("origin"), websocket.headers.get("host")):
        await websocket.close(code=REFUSED)
        return
    await websocket.accept()
    if len(_viewers) >= MAX_VIEWERS:
        await _refuse(
            websocket, language, BUSY, compose("{most} cameras are being read already: try again later", most=MAX_VIEWERS)
        )
        return
    _viewers.add(websocket)  # before the next await, in which others may come
    try:
        reader = await asyncio.to_thread(_reader)
        while True:
            async with asyncio.timeout(IDLE_S):
                data = await websocket.receive_bytes()
            try:
                answer = await asyncio.to_thread(_read, reader, data)
            except ValueError as error:
                answer = {"error": translate_to(language, str(error))}
            await websocket.send_text(json.dumps(answer))
    except MissingModels as error:
        await _refuse(websocket, language, NOT_SET_UP, str(error))
    except TimeoutError:
        await _refuse(websocket, language, IDLE, compose("no frame came for {count} s: start again", count=int(IDLE_S)))
    except (WebSocketDisconnect, KeyError):
        return
    finally:
        _viewers.discard(websocket)


async def _refuse(websocket: WebSocket, language: str, code: int, sentence: str) -> None:
    await websocket.send_text(json.dumps({"error": translate_to(language, sentence)}))
    await websocket.close(code=code)


def _read(reader: LiveReader, data: bytes) -> dict[str, Any]:
    return summary(reader.step(decoded(data)))


def summary(reading: LiveReading) -> dict[str, Any]:
    """Numbers of a reading that the browser draws: numbers rounded, landmarks in shares of the picture."""
    return {
        "frame": reading.frame,
        "hands": [[[round(float(value), 4) for value in point] for point in hand] for hand in reading.hands],
        "said": [[one.gloss, one.first, one.last, round(one.probability, 3)] for one in reading.said[-40:]],
        "now": reading.now,
        "probability": round(reading.probability, 3),
        "attention": [round(float(weight), 4) for weight in reading.attention],
        "ms": round(1000 * reading.took_s, 1),
    }
