"""The live camera: what its socket accepts, what it answers, and what the page says where hands cannot be found."""

import asyncio
import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image
from starlette.websockets import WebSocket

from core import checkpoints
from core.service.limits import Limit, Places
from core.signs import examples
from core.signs.hands.model_files import HAND_FILES
from core.signs.live_reading import LiveReading, SaidGloss
from pages.shared import camera_route
from pages.shared.navigation import ROOT
from pages.signs import live_camera
from tests.pages.open_page import open_page

opened = partial(open_page, ROOT / "pages" / "signs" / "recognise.py", input="camera")


def jpeg(width: int, height: int, kind: str = "JPEG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (200, 10, 10)).save(buffer, kind)
    return buffer.getvalue()


class Socket:
    """A browser's end: what it sends, and what it got."""

    def __init__(self, *sent: bytes | str, lang: str = "en") -> None:
        self.sent, self.got, self.closed = list(sent), list[dict[str, Any]](), 0
        self.query_params = {"lang": lang}
        self.headers: dict[str, str] = {}
        self.scope = {"type": "websocket", "headers": [], "client": ("127.0.0.1", 1)}

    async def accept(self) -> None:
        return

    async def close(self, code: int) -> None:
        self.closed = code

    async def receive(self) -> dict[str, Any]:
        if not self.sent:
            return {"type": "websocket.disconnect"}
        one = self.sent.pop(0)
        return {"type": "websocket.receive", "text" if isinstance(one, str) else "bytes": one}

    async def send_text(self, text: str) -> None:
        self.got.append(json.loads(text))


class Reader:
    """Answers each frame with its number."""

    def __init__(self) -> None:
        self.count = 0

    def step(self, picture: np.ndarray) -> LiveReading:
        self.count += 1
        said = (SaidGloss(gloss="7", first=0, last=self.count, probability=0.91234),)
        hand = np.full((21, 2), 0.123456, np.float32)
        weights = np.array([0.25, 0.75], np.float32)
        return LiveReading(
            frame=self.count - 1,
            hands=(hand,),
            glosses=said,
            now="7",
            probability=0.9,
            log_probabilities=np.zeros((1, 15), np.float32),
            attention=weights,
            took_s=0.0321,
        )


def serve(socket: Socket) -> Socket:
    asyncio.run(live_camera.hands_stream(cast(WebSocket, socket)))
    return socket


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_camera, "LiveReader", lambda *_given: Reader())
    monkeypatch.setattr(live_camera, "HandFinder", lambda: None)


def test_each_frame_gets_an_answer_and_a_bad_one_a_sentence(reader: None) -> None:
    socket = serve(Socket(jpeg(64, 48), b"no picture", jpeg(64, 48, "PNG"), jpeg(2000, 8), b"x" * 500_000, jpeg(64, 48)))
    first, *bad, last = socket.got
    assert first["hands"] == [[[0.1235, 0.1235]] * 21]
    assert (first["glosses"], first["now"], first["attention"], first["ms"]) == ([["7", 0, 1, 0.912]], "7", [0.25, 0.75], 32.1)
    assert [one["error"] for one in bad] == [
        "a frame is no JPEG picture",
        "a frame is no JPEG picture",
        "a frame has more than 1280 pixels a side",
        "a frame has 500000 bytes: 400000 at most",
    ]
    assert last["frame"] == 1
    assert camera_route._places.held == 0


def test_the_fingers_that_differ_from_the_sign_asked_for_are_told(reader: None) -> None:
    hand = examples.examples()["5"].stills[0] * 3 + 200
    socket = Socket(json.dumps({"asked": "5"}), jpeg(640, 480), json.dumps({"asked": "0"}), jpeg(640, 480), "[1]", "x" * 100_001)
    reading = Reader().step(np.zeros(0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Reader, "step", lambda *_given: replace(reading, hands=(hand / np.array([640, 480]),)))
        alike, other, *bad = serve(socket).got
    assert alike["differs"] == [] and len(other["differs"]) >= 3
    assert [one["error"] for one in bad] == ["a wish is a JSON object of at most 100000 characters"] * 2


def test_a_camera_that_sends_nothing_gives_its_place_to_another(reader: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wishing(Socket):
        """Sends a frame, and then wishes without end, as one does that holds its place for nothing."""

        async def receive(self) -> dict[str, Any]:
            await asyncio.sleep(0.005)
            return await super().receive() if self.sent else {"type": "websocket.receive", "text": "{}"}

    monkeypatch.setattr(camera_route, "IDLE_S", 0.5)
    socket = serve(Wishing(jpeg(8, 8)))
    assert socket.closed == camera_route.IDLE and camera_route._places.held == 0
    assert "hands" in socket.got[0] and "no frame came for" in socket.got[-1]["error"]


def test_too_many_cameras_are_told_so_in_their_language(reader: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, sentence in (
        (Limit(total=0), "ya se están leyendo 4 cámaras: inténtalo más tarde"),
        (Limit(total=1, address=0), "ya se están leyendo 3 cámaras de tu dirección: detén una de ellas"),
    ):
        monkeypatch.setattr(camera_route, "_places", Places(limit))
        socket = serve(Socket(jpeg(8, 8), lang="es"))
        assert socket.closed == camera_route.BUSY and socket.got == [{"error": sentence}]


def test_without_the_models_the_socket_and_the_page_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_camera, "HandFinder", lambda: HAND_FILES.checked(tmp_path))
    socket = serve(Socket(jpeg(8, 8)))
    assert socket.closed == camera_route.NOT_SET_UP and "run `make hands` once" in socket.got[0]["error"]
    monkeypatch.setattr(HAND_FILES, "available", lambda: False)
    monkeypatch.setattr(checkpoints, "names", lambda *_args, **_told: ["iiga_hands"])
    app = opened()
    assert not app.exception
    assert "are not set up here" in app.info[0].value
