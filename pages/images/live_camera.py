"""The live camera of the garment pages: its component, and the other end of its websocket, `/stream/garments?lang=en`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import MAX_BYTES, Picture
from core.vision.live_garments import LiveGarments
from pages.images import cached_results
from pages.shared import camera_route
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _, current, regional
from pages.shared.navigation import GARMENTS_STREAM


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
            "relevance": answer.relevance.round(2).tolist(),
            "ms": round(1000 * answer.took_s, 1),
        }


async def garments_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, GarmentReader)


def garment_camera(*, key: str, on_still: Callable[[], None] = lambda: None, start: bool = False) -> bytes | None:
    """The camera, which says what it sees; a still just taken, as a JPEG, None without one.

    Args:
        on_still: called before the page is run again because of a still.
        start: whether it was just asked for, and starts by itself.
    """
    data = {
        "address": f"{GARMENTS_STREAM}?lang={current()}",
        "language": regional(),
        "words": camera_route.words() | _words(),
        "names": [_(name) for name in cached_results.photograph_classifier().class_names],
        "start": start,
    }
    result = browser_component("live_garments")(key=key, data=data, on_still_change=on_still)
    return sent_picture(result.get("still"), max_bytes=MAX_BYTES)


def _words() -> dict[str, str]:
    return {
        "still": _("Take this picture"),
        "unsure": _("Nothing that I know"),
        "told": _("Light: the patches that spoke for this answer, three times a second."),
    }
