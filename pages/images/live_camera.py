"""The live camera of the pages of pictures: its component, and the other end of its websocket, `/stream/sight?lang=en`."""

from collections.abc import Callable
from typing import Any

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import MAX_BYTES, Picture
from core.messages import translate
from core.vision.sight import Head, live_seen, sight_reader
from core.vision.sight_files import SIGHT_FILES
from pages.shared import camera_route, controls
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _, current, regional
from pages.shared.navigation import SIGHT_STREAM


class AnythingReader:
    """Reads the frames of one camera as the network sees them that sees anything."""

    def __init__(self, _parameters: QueryParams) -> None:
        self._reader = sight_reader()
        self._head: Head | None = None

    def wish(self, wanted: dict[str, Any]) -> None:
        """`layer` and `head`, from 1, whose light is wanted; what stands out without them."""
        layer, head = wanted.get("layer"), wanted.get("head")
        self._head = (layer, head) if isinstance(layer, int) and isinstance(head, int) else None

    def read(self, picture: Picture) -> dict[str, Any]:
        """Values that the browser draws of a frame: the light of each cell, row by row, and the share that is said."""
        seen = live_seen(self._reader, picture, self._head)
        return {
            "light": seen.light.round(2).tolist(),
            "what": "salience" if self._head is None else "row",
            "share": round(seen.share, 4),
            "ms": round(1000 * seen.took_s, 1),
        }


async def sight_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, AnythingReader)


def sight_camera(
    head: Head | None = None, *, key: str, start: bool = False, on_still: Callable[[], None] = lambda: None
) -> bytes | None:
    """The camera, lit by what stands out or by one head; a still just taken, as a JPEG, None without one.

    Where the network is not set up, a notice says so in its place.

    Args:
        head: layer and head, from 1. start: whether it was just asked for, and starts by itself.
        on_still: called before the page is run again because of a still.
    """
    if not SIGHT_FILES.available():
        controls.notice("empty", controls.as_sentence(translate(SIGHT_FILES.missing)))
        return None
    words = {
        "still": _("Take this picture"),
        "salience": _("{share} stands out"),
        "row": _("{share} on the brightest patch"),
        "light": _("Light: what the network says stands out.")
        if head is None
        else _("Light: what the class token looks at by head {head} of layer {layer}.").format(layer=head[0], head=head[1]),
    }
    data = {
        "address": f"{SIGHT_STREAM}?lang={current()}",
        "language": regional(),
        "words": camera_route.words() | words,
        "start": start,
        "wish": dict(zip(("layer", "head"), head or (None, None), strict=True)),
    }
    result = browser_component("live_picture")(key=key, data=data, on_still_change=on_still)
    return sent_picture(result.get("still"), max_bytes=MAX_BYTES)
