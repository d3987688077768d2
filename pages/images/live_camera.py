"""The live cameras of the pages of pictures: their component, and the other ends of their websockets.

`/stream/garments?lang=en` reads garments, `/stream/sight?lang=en` what stands out in anything.
"""

from collections.abc import Callable
from typing import Any

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import MAX_BYTES, Picture
from core.vision.live_garments import LiveGarments
from core.vision.live_sight import Head, live_seen
from core.vision.sight import sight_reader
from pages.images import cached_results
from pages.shared import camera_route
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _, current, regional
from pages.shared.navigation import GARMENTS_STREAM, SIGHT_STREAM


class GarmentReader:
    """Reads the frames of one camera as garments."""

    def __init__(self, _parameters: QueryParams) -> None:
        self._reader = LiveGarments(cached_results.photograph_classifier())

    def wish(self, wanted: dict[str, Any]) -> None:
        """Nothing: these pages have no wishes."""

    def read(self, picture: Picture) -> dict[str, Any]:
        """Values that the browser draws of a frame: every class's probability, and each patch's relevance, row by row."""
        answer = self._reader.step(picture)
        return {
            "probabilities": [round(float(share), 3) for share in answer.probabilities],
            "familiar": answer.familiar,
            "light": answer.relevance.round(2).tolist(),
            "ms": round(1000 * answer.took_s, 1),
        }


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


async def garments_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, GarmentReader)


async def sight_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, AnythingReader)


def garment_camera(*, key: str, on_still: Callable[[], None] = lambda: None, start: bool = False) -> bytes | None:
    """The camera, which says what it sees; a still just taken, as a JPEG, None without one.

    Args:
        on_still: called before the page is run again because of a still.
        start: whether it was just asked for, and starts by itself.
    """
    words = {
        "unsure": _("Nothing that I know"),
        "light": _("Light: the patches that spoke for this answer, three times a second."),
    }
    names = [_(name) for name in cached_results.photograph_classifier().class_names]
    return _camera(GARMENTS_STREAM, words, key=key, on_still=on_still, names=names, start=start)


def sight_camera(head: Head | None, *, key: str, start: bool) -> bytes | None:
    """The camera, lit by what stands out or by one head; a still just taken, as a JPEG, None without one.

    Args:
        head: layer and head, from 1. start: whether it was just asked for, and starts by itself.
    """
    words = {
        "salience": _("{share} stands out"),
        "row": _("{share} on the brightest patch"),
        "light": _("Light: what the network says stands out.")
        if head is None
        else _("Light: what the class token looks at by head {head} of layer {layer}.").format(layer=head[0], head=head[1]),
    }
    wish = {} if head is None else {"layer": head[0], "head": head[1]}
    return _camera(SIGHT_STREAM, words, key=key, on_still=lambda: None, start=start, wish={"layer": None, "head": None} | wish)


def _camera(address: str, words: dict[str, str], *, key: str, on_still: Callable[[], None], **more: object) -> bytes | None:
    data = {
        "address": f"{address}?lang={current()}",
        "language": regional(),
        "words": camera_route.words() | {"still": _("Take this picture")} | words,
    }
    result = browser_component("live_picture")(key=key, data=data | more, on_still_change=on_still)
    return sent_picture(result.get("still"), max_bytes=MAX_BYTES)
