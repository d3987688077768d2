"""The live camera of the garment pages: its component, and the other end of its websocket, `/stream/garments?lang=en`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import MAX_BYTES, Picture
from core.vision.live_garments import LiveGarments
from core.vision.own_classes import OwnClasses
from pages.images import cached_results
from pages.shared import camera_route
from pages.shared.browser_component import browser_component, sent_picture
from pages.shared.language import _, current, regional
from pages.shared.navigation import GARMENTS_STREAM

MAX_SHOTS: Final = 40
"""Shots of one press."""


class GarmentReader:
    """Reads the frames of one camera as garments, or as own classes."""

    def __init__(self, _parameters: QueryParams) -> None:
        self._reader = LiveGarments(cached_results.photograph_classifier())

    def wish(self, wanted: dict[str, Any]) -> None:
        """`head`: own classes to answer in, the base64 of their file; null for the model's again."""
        if "head" in wanted:
            self._reader.take_head(wanted["head"])

    def read(self, picture: Picture) -> dict[str, Any]:
        """Values that the browser draws of a frame: every class's probability, and each patch's relevance, row by row."""
        answer = self._reader.step(picture)
        relevance = answer.relevance
        return {
            "probabilities": [round(float(share), 3) for share in answer.probabilities],
            "familiar": answer.familiar,
            "relevance": None if relevance is None else relevance.round(2).tolist(),
            "ms": round(1000 * answer.took_s, 1),
        }


async def garments_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, GarmentReader)


def garment_camera(
    *,
    key: str,
    on_still: Callable[[], None] = lambda: None,
    head: OwnClasses | None = None,
    record: Sequence[str] = (),
    start: bool = False,
) -> tuple[bytes | None, tuple[int, list[bytes]] | None]:
    """The camera, which says what it sees.

    Args:
        on_still: called before the page is run again because of a still. head: own classes to answer in.
        start: whether it was just asked for, and starts by itself.
        record: names of classes; each gets a button that takes shots while it is held, in the place of the still's.

    Returns:
        A still just taken, as a JPEG, and shots just taken with their class's number; None without any.
    """
    names = head.names if head else map(_, cached_results.photograph_classifier().class_names)
    data = {
        "address": f"{GARMENTS_STREAM}?lang={current()}",
        "language": regional(),
        "words": camera_route.words() | _words(),
        "names": list(names),
        "record": list(record),
        "start": start,
        "wish": {"head": base64.b64encode(head.to_npz()).decode() if head else None},
    }
    component = browser_component("live_garments")
    result = component(key=key, data=data, on_still_change=on_still, on_shots_change=lambda: None)
    still = sent_picture(result.get("still"), max_bytes=MAX_BYTES)
    return still, shots_of(result.get("shots"), len(record))


def shots_of(sent: object, classes: int) -> tuple[int, list[bytes]] | None:
    """The class's number and the pictures of what a component sent; None for anything else."""
    if not isinstance(sent, dict) or not isinstance(sent.get("shots"), list):
        return None
    row, shots = sent.get("row"), sent["shots"][:MAX_SHOTS]
    pictures = [data for one in shots if (data := sent_picture(one, max_bytes=MAX_BYTES))]
    return (row, pictures) if isinstance(row, int) and 0 <= row < classes and pictures else None


def _words() -> dict[str, str]:
    return {
        "still": _("Take this picture"),
        "unsure": _("Nothing that I know"),
        "none": _("None of these"),
        "told": _("Light: the patches that spoke for this answer, three times a second."),
        "teach": _("Hold a button to take pictures of its class; once each class has five, the answer comes live."),
        "hold": _("Hold: {name}"),
        "taken": _("{count} taken"),
    }
