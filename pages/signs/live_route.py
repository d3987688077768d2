"""The websocket of the live sign pages: `/stream/hands?lang=en&model=hands`, or `model=letters&words=en` for spelled words."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from core.camera import Picture
from core.signs import lexicon
from core.signs.examples import fingers_that_differ
from core.signs.hands.finder import HandFinder
from core.signs.live_reading import LiveReader, LiveReading
from core.signs.live_spelling import LiveSpeller
from core.signs.recogniser import HANDS, LETTERS, Recogniser, load_recogniser
from pages.shared import camera_route
from pages.shared.navigation import HANDS_STREAM

PATH: Final = HANDS_STREAM


@cache
def _recogniser(name: str) -> Recogniser:
    return load_recogniser(name)


@cache
def _lexicon(language: str) -> lexicon.Lexicon:
    return lexicon.Lexicon(lexicon.bundled(language))


class SignReader:
    """Reads the frames of one camera as signs, or as letters of words."""

    def __init__(self, parameters: QueryParams) -> None:
        spells = parameters.get("model") == "letters"
        self._reader = LiveReader(_recogniser(LETTERS if spells else HANDS), HandFinder())
        language = parameters.get("words", "en")
        self._speller = LiveSpeller(_lexicon(language if language in lexicon.LANGUAGES else "en")) if spells else None
        self._asked: str | None = None

    def wish(self, wanted: dict[str, Any]) -> None:
        """`asked`: the sign that the hand is compared with; `words`: a list of the reader's own; `clear`: begin a new word."""
        asked = wanted.get("asked")
        self._asked = asked if isinstance(asked, str) else self._asked
        if self._speller is not None:
            if isinstance(wanted.get("words"), str) and (own := lexicon.words_of(wanted["words"].split())):
                self._speller.lexicon = lexicon.Lexicon(own)
            if wanted.get("clear"):
                self._speller.clear()

    def read(self, picture: Picture) -> dict[str, Any]:
        """Marks that the browser draws on a frame."""
        reading = self._reader.step(picture)
        answer = summary(reading)
        if self._speller is not None:
            spelled = self._speller.add(reading)
            answer["spelled"] = {
                "letters": spelled.letters,
                "done": list(spelled.done),
                "words": [[guess.word, round(guess.probability, 3)] for guess in spelled.guesses],
            }
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
        "said": [[one.gloss, one.first, one.last, round(one.probability, 3)] for one in reading.said[-40:]],
        "now": reading.now,
        "probability": round(reading.probability, 3),
        "attention": [round(float(weight), 4) for weight in reading.attention],
        "ms": round(1000 * reading.took_s, 1),
    }
