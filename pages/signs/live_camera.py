"""The live camera of the sign pages: its component, and the other end of its websocket, `/stream/hands?lang=en`."""

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import Picture
from core.messages import translate
from core.signs.examples import fingers_that_differ
from core.signs.hands.finder import HandFinder
from core.signs.hands.model_files import HAND_FILES
from core.signs.live_reading import LiveReader, LiveReading
from core.signs.recogniser import HANDS
from core.signs.recognition import TWO_HANDS
from pages.shared import camera_route, controls
from pages.shared.browser_component import browser_component
from pages.shared.language import _, current, regional
from pages.shared.navigation import HANDS_STREAM
from pages.signs import cached_results


class SignReader:
    """Reads the frames of one camera as signs."""

    def __init__(self, parameters: QueryParams) -> None:
        self._reader = LiveReader(cached_results.shipped(HANDS), HandFinder())
        self._asked: str | None = None

    def wish(self, wanted: dict[str, Any]) -> None:
        """`asked`: the sign that the hand is compared with."""
        asked = wanted.get("asked")
        self._asked = asked if isinstance(asked, str) else self._asked

    def read(self, picture: Picture) -> dict[str, Any]:
        """Marks that the browser draws on a frame."""
        reading = self._reader.step(picture)
        answer = summary(reading)
        if self._asked is not None and reading.hands:
            answer["differs"] = fingers_that_differ(reading.hands[0] * picture.shape[1::-1], self._asked)
        return answer


async def hands_stream(websocket: WebSocket) -> None:
    """Read one camera until it stops."""
    await camera_route.camera_stream(websocket, SignReader)


def summary(reading: LiveReading) -> dict[str, Any]:
    """Numbers of a reading that the browser draws: numbers rounded, landmarks in shares of the picture."""
    return {
        "frame": reading.frame,
        "hands": [[[round(float(value), 4) for value in point] for point in hand] for hand in reading.hands],
        "glosses": [[one.gloss, one.first, one.last, round(one.probability, 3)] for one in reading.glosses[-40:]],
        "now": reading.now,
        "probability": round(reading.probability, 3),
        "attention": [round(float(weight), 4) for weight in reading.attention],
        "ms": round(1000 * reading.took_s, 1),
    }


def missing() -> bool:
    """Tells whether the models that find hands are not there, after saying so."""
    if not HAND_FILES.available():
        controls.notice(
            "empty",
            _(
                "The two models that find hands are not set up here: whoever runs this server may fetch them (see the README). "
                "Everything else works without them."
            ),
        )
    return not HAND_FILES.available()


def sign_camera(*, key: str, start: bool = False, asked: Sequence[str] = ()) -> None:
    """The camera.

    Args:
        start: whether it was just asked for, and starts by itself.
        asked: signs that are asked for, one after another without end.
    """
    data = {
        "address": f"{HANDS_STREAM}?lang={current()}",
        "language": regional(),
        "words": camera_route.words() | _words(),
        "asked": [*asked],
        "start": start,
    }
    browser_component("live_signs")(key=key, data=data)


def _words() -> dict[str, Any]:
    return {
        "answer": _("I read: {glosses}"),
        "nothing": _("Nothing read yet: hold a sign for about half a second."),
        "noHand": _("No hand is seen, so nothing is read: come closer."),
        "now": _("Now: {gloss} ({share})"),
        "between": _("A hand is seen, and no sign that I know."),
        "two": translate(TWO_HANDS),
        "attention": _("What the newest picture attends to: the last seconds, the newest at the right."),
        "show": _("Show me: {sign}"),
        "right": _("Right: {answer}"),
        "streak": _("{streak} in a row"),
        "differs": _("Another shape: {fingers}"),
        "alike": _("The hand is as in the example: hold it."),
        "moves": _("This sign moves: do as in the example."),
        "fingers": [_("thumb"), _("index finger"), _("middle finger"), _("ring finger"), _("little finger")],
    }
